/*
 * profile_read.c
 *		The reader of a file, by how the file begins: none of the formats begins as protobuf can.
 */
#include "formats/any/profile_read.h"
#include "formats/jfr/jfr_read.h"
#include "formats/legacy/legacy.h"

bool
pfs_profile_is_known(const uint8_t *bytes, size_t length)
{
	return pfs_is_jfr(bytes, length) || pfs_legacy_reader(bytes, length) != NULL;
}

PfsReadStatus
pfs_profile_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	PfsReadFn legacy = pfs_legacy_reader(bytes, length);

	*error = (PfsReadError){ NULL, 0 };
	if (pfs_is_jfr(bytes, length))
		return pfs_jfr_read(bytes, length, profile, error);
	return legacy != NULL ? legacy(bytes, length, profile, error)
						  : pfs_pprof_read(bytes, length, profile, error);
}
