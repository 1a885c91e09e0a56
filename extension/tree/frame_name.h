/*
 * frame_name.h
 *		What a frame is called, and so what merges with it.
 */
#ifndef PFS_FRAME_NAME_H
#define PFS_FRAME_NAME_H

#include "profstore.h"

#include "tree/filters.h"

/* A line of a location, by its index, with its name: the function's or what stands in for it. */
PfsFrameFacts pfs_frame_facts(const PfsLocation *location, uint32 line);

/*
 * The name under which the frame merges. It is one of the dictionary's, or lives in
 * CurrentMemoryContext.
 */
const char *pfs_frame_name(const PfsFilters *filters, const PfsFrameFacts *frame);

/* The id of the function or mapping that decides the name alone; 0 where there is none. */
int32 pfs_frame_naming_id(PfsGranularity granularity, const PfsFrameFacts *frame);

#endif
