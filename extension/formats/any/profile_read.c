/*
 * profile_read.c
 *		Chooses the reader of a file by the file's first bytes.
 */
#include "formats/any/profile_read.h"

#include "formats/any/format.h"
#include "formats/any/readers.h"

PfsReadStatus
pfs_profile_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	PfsReadFn reader = pfs_reader_of(bytes, length);

	*error = (PfsReadError){ .message = NULL };
	if (reader != NULL)
		return reader(bytes, length, profile, error);
	pfs_format_explain(bytes, length, PFS_FORMAT_PROFILE, error);
	if (error->message != NULL)
		return PFS_READ_MALFORMED;
	return pfs_pprof_read(bytes, length, profile, error);
}
