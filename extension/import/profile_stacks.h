/*
 * profile_stacks.h
 *		Stacks of a profile in the dictionary.
 */
#ifndef PFS_PROFILE_STACKS_H
#define PFS_PROFILE_STACKS_H

#include "profstore.h"

#include "import/import_request.h"

/*
 * The stack ids of all samples; NULL where there are none. SPI is connected; the ids live until it
 * is finished. Raises what interning raises, and PROGRAM_LIMIT_EXCEEDED for too many frames.
 */
const int64 *pfs_profile_stacks(const PfsImport *import);

#endif
