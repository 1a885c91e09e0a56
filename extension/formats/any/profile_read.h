/*
 * profile_read.h
 *		Reads a file in any format that "go tool pprof" opens, a flight recording, or a format of
 *		profile viewers. Includes no server header.
 */
#ifndef PFS_PROFILE_READ_H
#define PFS_PROFILE_READ_H

#include "formats/profile.h"

/*
 * Like pfs_pprof_read(), but for any of these formats, uncompressed. Bytes that are neither text
 * nor of a known format are taken for protobuf. For a known format that is not supported the error
 * names it.
 */
PfsReadStatus pfs_profile_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							   PfsReadError *error);

#endif
