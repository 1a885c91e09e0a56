/*
 * frame_tree.h
 *		The tree that people see: nodes merged by function name, inlined calls as frames of their own.
 *
 * Built from sums per stack, root first (flame graph) or leaf first (inverted). Exact and untruncated; every view but
 * the series graph reads it.
 */
#ifndef PFS_FRAME_TREE_H
#define PFS_FRAME_TREE_H

#include "profstore.h"

#include "query/stack_sums.h"
#include "query/symbols.h"

typedef struct PfsFrameNode
{
	uint32 parent;	/* index; less than the node's own. The root's is 0 */
	uint32 symbol;	/* meaningless for the root */
	int32 location; /* the first location that became this node; 0 for the root */
	uint32 line;	/* index among its lines */
	int64 self;
	int64 total; /* self and all below */
} PfsFrameNode;

typedef struct PfsFrameTree
{
	PfsSymbols *symbols;
	uint32 count; /* at least 1: nodes[0] is the root */
	uint32 capacity;
	PfsFrameNode *nodes; /* parents first */
} PfsFrameTree;

/*
 * Builds the tree of the stacks that the filters of symbols let pass. Lives in CurrentMemoryContext. Raises
 * NUMERIC_VALUE_OUT_OF_RANGE where a total does not fit int8.
 */
PfsFrameTree *pfs_frame_tree_build(const PfsStackSums *sums, PfsSymbols *symbols, bool inverted);

/*
 * Sums, symbols and tree in one. filters must outlive the tree. Begins the use of the dictionary.
 */
PfsFrameTree *pfs_frame_tree_query(const PfsSelection *selection, const PfsFilters *filters,
								   bool inverted);

/* Source of a node for people; NULL where not known. */
typedef struct PfsFrameSource
{
	const char *file;
	int32 line; /* 0: not known; where the function begins, else a line in it */
	const char *binary;
} PfsFrameSource;

PfsFrameSource pfs_frame_source(const PfsFrameNode *node);

#endif
