/*
 * gunzip.h
 *		gzip, within bounds; knows no server header.
 */
#ifndef PFS_GUNZIP_H
#define PFS_GUNZIP_H

#include "formats/profile.h"

/* Whether the bytes begin as gzip does. */
bool pfs_is_gzip(const uint8_t *bytes, size_t length);

/*
 * Unpacks all members of a gzip file. The result is the caller's, who frees it through the
 * allocator; there is none without PFS_READ_OK. PFS_READ_TOO_LARGE beyond max_bytes,
 * PFS_READ_MALFORMED for what is no gzip, is cut or has a wrong checksum. Pauses after each
 * PFS_GZIP_PIECE_BYTES at the latest, but for files of up to 2 MB, which are unpacked at once.
 */
#define PFS_GZIP_PIECE_BYTES ((size_t) 256 * 1024)
PfsReadStatus pfs_gunzip(const uint8_t *bytes, size_t length, size_t max_bytes,
						 PfsAllocator allocator, PfsPauseFn pause, PfsBytes *result,
						 PfsReadError *error);

/*
 * Packs bytes as one member without name and time, so equal bytes become equal files. PFS_READ_OK,
 * or PFS_READ_NO_MEMORY. Pauses in the same way.
 */
PfsReadStatus pfs_gzip(const uint8_t *bytes, size_t length, PfsAllocator allocator,
					   PfsPauseFn pause, PfsBytes *result);

#endif
