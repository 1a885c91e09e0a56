/*
 * frame_tree.h
 *		The tree that people see: nodes merged by name, inlined calls as frames of their own.
 *
 * Built from sums per stack, root first (flame graph) or leaf first (inverted). The tree grows on
 * demand: totals are known when a node appears, its children and its self value when it is
 * expanded. So a view that shows some thousand nodes pays for these, and what it shows is exact.
 */
#ifndef PFS_FRAME_TREE_H
#define PFS_FRAME_TREE_H

#include "profstore.h"

#include "merge/stack_stream.h"
#include "tree/frame_file.h"
#include "tree/stack_walk.h"
#include "tree/symbols.h"

typedef struct PfsFrameNode
{
	uint32 parent;	/* index; less than the node's own. The root's is 0 */
	uint32 symbol;	/* the root's is the function that stacks begin at, or PFS_NO_SYMBOL */
	int32 location; /* the oldest location that became this node; 0 for the root */
	uint32 line;	/* index among its lines */
	uint64 oldest;	/* orders nodes by the age of their stacks */
	uint32 walkers; /* a list, or the number in the file; PFS_NO_WALKER once expanded */
	uint32 first_child;
	uint32 child_count; /* children are neighbours; meaningful once expanded */
	PfsSides self;		/* meaningful once expanded */
	PfsSides total;		/* self and all below */
} PfsFrameNode;

typedef struct PfsFrameTree
{
	PfsSymbols *symbols;
	PfsStackWalk *walk;
	PfsFrameFile *file;	 /* NULL: nodes come from the walk */
	bool exceeds;		 /* a total left int8 while its steps were added up */
	bool folding;		 /* frames that follow one of the same name belong to its node */
	uint32 *latest;		 /* for each symbol a node that was the latest of that name, or 0 … */
	uint32 latest_count; /* … as far as symbols have been met */
	uint32 count;		 /* at least 1: nodes[0] is the root */
	uint32 capacity;
	PfsFrameNode *nodes; /* parents first; move when the tree grows */
} PfsFrameTree;

/*
 * A tree of the stacks that the filters let pass, its root not yet expanded. Its nodes are in a
 * file where the stacks do not fit work_mem, so it has to be closed before the transaction ends.
 * The stream is read to its end, and may go then. function names where stacks begin, as for
 * pfs_stack_walk_create; NULL: at their root or leaf. filters and function must outlive the tree.
 * Begins the use of the dictionary. Lives in CurrentMemoryContext. A total that does not fit int8
 * is the nearest that does.
 */
PfsFrameTree *pfs_frame_tree_build(PfsStackStream *stream, const PfsFilters *filters, bool inverted,
								   const char *function);
void pfs_frame_tree_close(PfsFrameTree *tree);

/* The same, and the stream goes. */
PfsFrameTree *pfs_frame_tree_take(PfsStackStream *stream, const PfsFilters *filters, bool inverted);

/* Stacks that have a node of their own right below the root. */
typedef struct PfsStackGroup
{
	const char *name;
	const PfsSelection *selection;
} PfsStackGroup;

/* A tree of selections of one kind, each below a node of its own; no two have the same name. */
PfsFrameTree *pfs_frame_tree_query_groups(const PfsStackGroup *groups, int32 count,
										  const PfsFilters *filters, bool inverted);

/* True if no stack passed. The root must not have been expanded. */
bool pfs_frame_tree_is_empty(const PfsFrameTree *tree);

/* Finds the node's children and its self value, once. */
void pfs_frame_tree_expand(PfsFrameTree *tree, uint32 node);

/*
 * Forgets the nodes of a tree in a file that do not stay; parents of those that do have to stay.
 * places gets the new indexes, by the old ones.
 */
void pfs_frame_tree_retain(PfsFrameTree *tree, const bool *stays, uint32 *places);

/*
 * What the tree had at a time, and back to that. Nodes that were there must not be expanded again.
 */
typedef struct PfsFrameMark
{
	uint32 node_count;
	uint32 walker_count;
} PfsFrameMark;

PfsFrameMark pfs_frame_tree_mark(const PfsFrameTree *tree);
void pfs_frame_tree_release(PfsFrameTree *tree, PfsFrameMark mark);

#endif
