/*
 * profile_read.h
 *		A file of whatever format "go tool pprof" opens, or a flight recording. Knows no server
 *		header.
 */
#ifndef PFS_PROFILE_READ_H
#define PFS_PROFILE_READ_H

#include "formats/profile.h"

/*
 * As pfs_pprof_read, of any of these formats, not compressed. What begins as none of the others is
 * taken for protobuf.
 */
PfsReadStatus pfs_profile_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							   PfsReadError *error);

/* Whether the bytes begin as one of these formats does that is known by its beginning. */
bool pfs_profile_is_known(const uint8_t *bytes, size_t length);

#endif
