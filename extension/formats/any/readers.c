/*
 * readers.c
 *		None of these formats begins as protobuf can.
 */
#include "formats/any/readers.h"

#include "formats/jfr/jfr_read.h"

PfsReadFn
pfs_reader_of(const uint8_t *bytes, size_t length)
{
	if (pfs_is_jfr(bytes, length))
		return pfs_jfr_read;
	return pfs_legacy_reader(bytes, length);
}
