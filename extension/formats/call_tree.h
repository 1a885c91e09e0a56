/*
 * call_tree.h
 *		Stacks of formats that write them as a tree, or as calls: frames by name, file and line,
 *		nodes by caller and frame, and the samples that the nodes become. Knows no server header.
 */
#ifndef PFS_CALL_TREE_H
#define PFS_CALL_TREE_H

#include "formats/pair_index.h"
#include "formats/text_index.h"

/* Labels of all samples below a root. */
#define PFS_ROOT_LABELS 2

typedef struct PfsCallRoot
{
	uint32_t label_count;
	PfsProfileLabel labels[PFS_ROOT_LABELS];
} PfsCallRoot;

typedef struct PfsCallNode
{
	uint32_t parent; /* PFS_NONE: of a root */
	uint32_t root;
	uint32_t location;
	uint32_t depth;
} PfsCallNode;

typedef struct PfsCallTree
{
	PfsProfile *profile;
	PfsTextIndex names;
	PfsTextIndex files;
	PfsPairIndex functions; /* name, file: profile->functions */
	PfsPairIndex places;	/* function, line: profile->locations */
	PfsPairIndex index;		/* parent or root, location: nodes */
	PfsCallNode *nodes;
	PfsCallRoot *roots;
	uint32_t root_count;
	int64_t *values;	   /* type_count for each node */
	int64_t *empty_values; /* type_count for each root: without any frame */
} PfsCallTree;

/* The profile's types are set before the first node. */
void pfs_calls_init(PfsCallTree *tree, PfsProfile *profile);
void pfs_calls_fini(PfsCallTree *tree);

/* A new root without labels; PFS_NONE if memory runs out, as the functions below. */
uint32_t pfs_calls_root(PfsCallTree *tree);

/* The location of a frame; texts are clean. A line of 0 is none. */
uint32_t pfs_calls_frame(PfsCallTree *tree, PfsText name, PfsText file, int32_t line);

/* The node of a frame that is called by another node, or by a root's thread itself. */
uint32_t pfs_calls_child(PfsCallTree *tree, uint32_t parent, uint32_t location);
uint32_t pfs_calls_top(PfsCallTree *tree, uint32_t root, uint32_t location);

static inline int64_t *
pfs_calls_values(const PfsCallTree *tree, uint32_t node)
{
	return &tree->values[(size_t) node * tree->profile->type_count];
}

static inline int64_t *
pfs_calls_empty_values(const PfsCallTree *tree, uint32_t root)
{
	return &tree->empty_values[(size_t) root * tree->profile->type_count];
}

/*
 * Adds a sample for each node, and for each root, that has a value. Stacks share their frames, from
 * the leaf of the longest on. PFS_READ_OK, PFS_READ_TOO_LARGE or PFS_READ_NO_MEMORY.
 */
PfsReadStatus pfs_calls_samples(PfsCallTree *tree, PfsReadError *error);

#endif
