/*
 * profile_stacks.h
 *		Interns the stacks of a profile.
 */
#ifndef PFS_PROFILE_STACKS_H
#define PFS_PROFILE_STACKS_H

#include "profstore.h"

#include "import/import_request.h"

/*
 * Returns the stack ids of all samples; NULL if there are none. SPI is connected; the ids live
 * until SPI_finish(). Raises the errors of interning, and PROGRAM_LIMIT_EXCEEDED for too many
 * frames.
 */
const int64 *pfs_profile_stacks(const PfsImport *import);

#endif
