/*
 * store_profile.h
 *		Stores a profile: series, dictionary and samples.
 */
#ifndef PFS_STORE_PROFILE_H
#define PFS_STORE_PROFILE_H

#include "profstore.h"

#include "import/import_request.h"

/*
 * Stores everything as the caller, in the caller's transaction. Returns the number of rows in
 * samples.
 *
 * Samples of equal stack, labels and time are summed, as long as sums fit int8; beyond that they
 * are several rows. Values of 0 are left out, but a series without another row gets one of the
 * empty stack (id 0).
 *
 * Raises the errors of interning, CHARACTER_NOT_IN_REPERTOIRE for characters that the server's
 * encoding lacks, DATETIME_VALUE_OUT_OF_RANGE for times that no sample can have, and
 * PROGRAM_LIMIT_EXCEEDED for samples of more than 366 days.
 */
int64 pfs_profile_store(const PfsImport *import);

#endif
