/*
 * codec_server.h
 *		Memory and errors for the codec, which does not use the server itself.
 */
#ifndef PFS_CODEC_SERVER_H
#define PFS_CODEC_SERVER_H

#include "profstore.h"

#include "utils/relcache.h"

#include "codec/segment.h"

/* No segment has this number. As an argument of pfs_segment_error() it stands for a roll-up. */
#define PFS_NO_SEGMENT 0

/*
 * Raises DATA_CORRUPTED, FEATURE_NOT_SUPPORTED or OUT_OF_MEMORY for a status other than PFS_OK.
 * segment_no is PFS_NO_SEGMENT for a roll-up.
 */
pg_noreturn void pfs_segment_error(Relation relation, int64 segment_no, PfsStatus status,
								   const PfsError *error);

/*
 * Returns an allocator for the codec that allocates in context, and raises an error on out of
 * memory.
 */
PfsAllocator pfs_palloc_allocator(MemoryContext context);

#endif
