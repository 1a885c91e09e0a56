/*
 * codec_server.h
 *		What the codec, which is free of the server, needs of it: memory and errors.
 */
#ifndef PFS_CODEC_SERVER_H
#define PFS_CODEC_SERVER_H

#include "profstore.h"

#include "utils/relcache.h"

#include "codec/segment.h"

/* No segment has this number. */
#define PFS_NO_SEGMENT 0

/*
 * Raises DATA_CORRUPTED, FEATURE_NOT_SUPPORTED or OUT_OF_MEMORY for a status other than PFS_OK.
 * Segment PFS_NO_SEGMENT: of a roll-up.
 */
pg_noreturn void pfs_segment_error(Relation relation, int64 segment_no, PfsStatus status,
								   const PfsError *error);

/* Memory of a context for the codec; an error is raised where there is none. */
PfsAllocator pfs_palloc_allocator(MemoryContext context);

#endif
