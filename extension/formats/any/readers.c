/*
 * readers.c
 *		Finds the reader of a format. Protobuf cannot begin like any of these formats.
 */
#include "formats/any/readers.h"

#include "formats/callgrind/callgrind_read.h"
#include "formats/jfr/jfr_read.h"
#include "formats/json/json.h"
#include "formats/json/json_read.h"

PfsReadFn
pfs_reader_of(const uint8_t *bytes, size_t length)
{
	if (pfs_is_jfr(bytes, length))
		return pfs_jfr_read;
	if (pfs_is_json(bytes, length))
		return pfs_json_read;
	if (pfs_is_callgrind(bytes, length))
		return pfs_callgrind_read;
	return pfs_legacy_reader(bytes, length);
}
