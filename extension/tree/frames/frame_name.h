/*
 * frame_name.h
 *		Names of frames, by which they merge.
 */
#ifndef PFS_FRAME_NAME_H
#define PFS_FRAME_NAME_H

#include "profstore.h"

#include "tree/frames/filters.h"

/*
 * Returns a line of a location, given by its index, with the name to show: the function's or a
 * replacement.
 */
PfsFrameFacts pfs_frame_facts(const PfsLocation *location, uint32 line);

/*
 * Returns the name under which the frame merges. It belongs to the dictionary, or lives in
 * CurrentMemoryContext.
 */
const char *pfs_frame_name(const PfsFilters *filters, const PfsFrameFacts *frame);

/* Returns the id of the function or mapping if it alone determines the name, otherwise 0. */
int32 pfs_frame_naming_id(PfsGranularity granularity, const PfsFrameFacts *frame);

#endif
