/*
 * profile_read.h
 *		A file of whatever format "go tool pprof" opens, a flight recording, or one that viewers of
 *		profiles open. Knows no server header.
 */
#ifndef PFS_PROFILE_READ_H
#define PFS_PROFILE_READ_H

#include "formats/profile.h"

/*
 * As pfs_pprof_read, of any of these formats, not compressed. What is of none of them, and no text,
 * is taken for protobuf. The error says what a file is that is known and not read.
 */
PfsReadStatus pfs_profile_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							   PfsReadError *error);

#endif
