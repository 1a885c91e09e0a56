/*
 * gunzip.h
 *		Unpacks gzip, within a limit of the unpacked bytes. Includes no server header.
 */
#ifndef PFS_GUNZIP_H
#define PFS_GUNZIP_H

#include "formats/profile.h"

/* Returns true if the bytes begin like gzip. */
bool pfs_is_gzip(const uint8_t *bytes, size_t length);

/*
 * Unpacks all members of a gzip file. With PFS_READ_OK there is a result, which the caller frees
 * with the allocator. Returns PFS_READ_TOO_LARGE beyond max_bytes, PFS_READ_MALFORMED if the bytes
 * are not gzip, are truncated, or have a wrong checksum. Pauses at least after each
 * PFS_GZIP_PIECE_BYTES, except for files of up to 2 MB, which are unpacked at once.
 */
#define PFS_GZIP_PIECE_BYTES ((size_t) 256 * 1024)
PfsReadStatus pfs_gunzip(const uint8_t *bytes, size_t length, size_t max_bytes,
						 PfsAllocator allocator, PfsPauseFn pause, PfsBytes *result,
						 PfsReadError *error);

/*
 * Packs bytes as one member without name and time, so that equal bytes give equal files. Pauses
 * like pfs_gunzip(). Returns PFS_READ_OK or PFS_READ_NO_MEMORY.
 */
PfsReadStatus pfs_gzip(const uint8_t *bytes, size_t length, PfsAllocator allocator,
					   PfsPauseFn pause, PfsBytes *result);

#endif
