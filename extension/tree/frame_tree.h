/*
 * frame_tree.h
 *		The tree that is shown: nodes merged by name, inlined calls as frames of their own.
 *
 * It is built from sums per stack, from the root (flame graph) or from the leaf (inverted), and
 * grows on demand: a node's total is known when the node appears, its children and self value when
 * it is expanded. So a view that shows some thousand nodes only pays for these, and is still exact.
 */
#ifndef PFS_FRAME_TREE_H
#define PFS_FRAME_TREE_H

#include "profstore.h"

#include "merge/stack_stream.h"
#include "tree/frame_file.h"
#include "tree/frames/symbols.h"
#include "tree/stack_walk.h"

typedef struct PfsFrameNode
{
	uint32 parent; /* index, less than the node's own; the root's is 0 */
	/* symbol of the name; for the root the function at which stacks begin, or PFS_NO_SYMBOL */
	uint32 symbol;
	int32 location; /* location of the oldest stack of this node; 0 for the root */
	uint32 line;	/* index of the line at that location */
	uint64 oldest;	/* age of the node's oldest stack, which orders nodes */
	/* a list of walkers, or the number of a node in the file; PFS_NO_WALKER once expanded */
	uint32 walkers;
	uint32 first_child;
	/* number of children, which are neighbours; set once the node is expanded */
	uint32 child_count;
	PfsSides self;	/* set once the node is expanded */
	PfsSides total; /* self and all nodes below */
} PfsFrameNode;

typedef struct PfsFrameTree
{
	PfsSymbols *symbols;
	PfsStackWalk *walk;
	PfsFrameFile *file; /* NULL: nodes come from the walk */
	bool exceeds;		/* a total overflowed while its steps were added */
	bool folding;		/* frames that follow one of the same name belong to its node */
	/* for each symbol below latest_count, the node that was last made with that name, or 0 */
	uint32 *latest;
	uint32 latest_count;
	uint32 count; /* at least 1: nodes[0] is the root */
	uint32 capacity;
	PfsFrameNode *nodes; /* parents first; moves when the tree grows */
} PfsFrameTree;

/*
 * Makes a tree of the stacks that pass the filters, with an unexpanded root. If the stacks do not
 * fit in work_mem, its nodes are in a file, so close it before the transaction ends. The stream is
 * read to its end, and may be ended then. function is where stacks begin, see
 * pfs_stack_walk_create(); NULL: at their root or leaf. filters and function must outlive the tree.
 * Begins the use of the dictionary. Lives in CurrentMemoryContext. Totals that do not fit int8 are
 * clipped.
 */
PfsFrameTree *pfs_frame_tree_build(PfsStackStream *stream, const PfsFilters *filters, bool inverted,
								   const char *function);
void pfs_frame_tree_close(PfsFrameTree *tree);

/* Like pfs_frame_tree_build(), and ends the stream. */
PfsFrameTree *pfs_frame_tree_take(PfsStackStream *stream, const PfsFilters *filters, bool inverted);

/* Stacks that are shown below a node of their own, a child of the root. */
typedef struct PfsStackGroup
{
	const char *name;
	const PfsSelection *selection;
} PfsStackGroup;

/*
 * Makes a tree of selections of one kind, each below a node of its own. No two groups have equal
 * names.
 */
PfsFrameTree *pfs_frame_tree_query_groups(const PfsStackGroup *groups, int32 count,
										  const PfsFilters *filters, bool inverted);

/* Returns true if no stack passed. The root must not have been expanded. */
bool pfs_frame_tree_is_empty(const PfsFrameTree *tree);

/* Finds the node's children and its self value, unless it is expanded already. */
void pfs_frame_tree_expand(PfsFrameTree *tree, uint32 node);

/*
 * Removes the nodes of a tree in a file for which stays is false; the parent of a node that stays
 * must stay, too. places gets the new indexes, by old ones.
 */
void pfs_frame_tree_retain(PfsFrameTree *tree, const bool *stays, uint32 *places);

/*
 * State of the tree to which pfs_frame_tree_release() can return. Nodes that existed when the mark
 * was made must not be expanded again.
 */
typedef struct PfsFrameMark
{
	uint32 node_count;
	uint32 walker_count;
} PfsFrameMark;

PfsFrameMark pfs_frame_tree_mark(const PfsFrameTree *tree);
void pfs_frame_tree_release(PfsFrameTree *tree, PfsFrameMark mark);

#endif
