/*
 * frame_source.h
 *		Where a frame comes from, for people.
 */
#ifndef PFS_FRAME_SOURCE_H
#define PFS_FRAME_SOURCE_H

#include "profstore.h"

/* NULL where not known. The texts hold as long as names do (dictionary.h). */
typedef struct PfsFrameSource
{
	const char *file;
	int32 line; /* 0: not known; where the function begins, else a line in it */
	const char *mapping;
} PfsFrameSource;

/* Of a location, 0: none, and the index of one of its lines. */
PfsFrameSource pfs_frame_source(int32 location_id, uint32 line_index);

#endif
