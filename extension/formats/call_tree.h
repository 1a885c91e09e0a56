/*
 * call_tree.h
 *		Builds stacks for formats that contain trees or calls: frames by name, file and line,
 *		nodes by caller and frame, and the samples of the nodes. Includes no server header.
 */
#ifndef PFS_CALL_TREE_H
#define PFS_CALL_TREE_H

#include "formats/pair_index.h"
#include "formats/text_index.h"

/* Limit of the labels that all samples below a root share. */
#define PFS_ROOT_LABELS 2

typedef struct PfsCallRoot
{
	uint32_t label_count;
	PfsProfileLabel labels[PFS_ROOT_LABELS];
} PfsCallRoot;

typedef struct PfsCallNode
{
	uint32_t parent; /* PFS_NONE: the node is below a root */
	uint32_t root;
	uint32_t location;
	uint32_t depth;
} PfsCallNode;

typedef struct PfsCallTree
{
	PfsProfile *profile;
	PfsTextIndex names;
	PfsTextIndex files;
	PfsPairIndex functions; /* (name, file) to index in profile->functions */
	PfsPairIndex places;	/* (function, line) to index in profile->locations */
	PfsPairIndex index;		/* (parent or root, location) to index in nodes */
	PfsCallNode *nodes;
	PfsCallRoot *roots;
	uint32_t root_count;
	int64_t *values;	   /* type_count values for each node */
	int64_t *empty_values; /* type_count values for each root, of stacks without a frame */
} PfsCallTree;

/* Initializes the tree. The profile's types must be set before the first node. */
void pfs_calls_init(PfsCallTree *tree, PfsProfile *profile);
void pfs_calls_fini(PfsCallTree *tree);

/* Adds a root without labels. This and the functions below return PFS_NONE if out of memory. */
uint32_t pfs_calls_root(PfsCallTree *tree);

/* Returns the location of a frame; texts must be clean. Line 0 means no line. */
uint32_t pfs_calls_frame(PfsCallTree *tree, PfsText name, PfsText file, int32_t line);

/* Returns the node of a frame that is called by another node, or directly below a root. */
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
 * Adds a sample for each node and root that has a value. Stacks share their frames, from the leaf
 * of the longest one on. Returns PFS_READ_OK, PFS_READ_TOO_LARGE or PFS_READ_NO_MEMORY.
 */
PfsReadStatus pfs_calls_samples(PfsCallTree *tree, PfsReadError *error);

#endif
