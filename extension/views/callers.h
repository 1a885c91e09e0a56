/*
 * callers.h
 *		The query of callers(), callees() and sandwich(): stacks that contain a function.
 */
#ifndef PFS_CALLERS_H
#define PFS_CALLERS_H

#include "profstore.h"

#include "fmgr.h"

#include "merge/stack_stream.h"
#include "tree/frame_tree.h"
#include "tree/frames/filters.h"

typedef struct PfsFunctionQuery
{
	const PfsSelection *selection;
	const char *function;
	uint32 max_nodes;
	PfsFilters filters;
	PfsStackStream *stacks; /* stacks that contain the function; the caller ends the stream */
} PfsFunctionQuery;

/*
 * Reads the arguments selector, from_ts, to_ts, function, max_nodes, the filters and granularity,
 * and sums up the stacks. Lives in CurrentMemoryContext.
 */
PfsFunctionQuery pfs_function_query(FunctionCallInfo fcinfo);

/*
 * Raises a NOTICE if no stack of the tree contains the function. The tree must not be expanded yet.
 */
void pfs_function_tell_missing(const PfsFunctionQuery *query, const PfsFrameTree *tree);

#endif
