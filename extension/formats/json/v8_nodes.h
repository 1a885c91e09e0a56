/*
 * v8_nodes.h
 *		Profiles of V8: a tree of nodes by id, and the node of each sample. Includes no server
 *		header.
 *
 * Nodes refer to their children, or to their parent. Trace events contain parts of several
 * profiles. A sample lasts until the next one.
 */
#ifndef PFS_V8_NODES_H
#define PFS_V8_NODES_H

#include "formats/call_tree.h"
#include "formats/json/json.h"

/* A node of V8's profile. */
enum
{
	PFS_V8_SAMPLES,
	PFS_V8_TIME,
	PFS_V8_TYPES
};

typedef struct PfsV8Node
{
	bool is_read;
	bool is_root;	   /* the node "(root)", which is not a frame */
	uint32_t parent;   /* number of the parent, or PFS_NONE */
	uint32_t location; /* set when the node is read */
	uint32_t call;	   /* node of the tree of calls; PFS_NONE if it is not known yet */
	uint32_t below;	   /* next node on the stack that is being resolved */
} PfsV8Node;

typedef struct PfsV8Nodes
{
	PfsCallTree *tree;
	PfsPairIndex ids; /* (profile, id) */
	PfsV8Node *nodes;
} PfsV8Nodes;

/* The time of a profile, in nanoseconds. */
typedef struct PfsV8Clock
{
	uint32_t root;
	uint32_t call; /* node of the last sample, or PFS_NONE */
	int64_t now_ns;
	int64_t reached_ns; /* largest time so far, because deltas may be negative */
} PfsV8Clock;

void pfs_v8_init(PfsV8Nodes *nodes, PfsCallTree *tree);
void pfs_v8_fini(PfsV8Nodes *nodes);

/* Reads the next array of nodes, which belong to one profile. */
PfsReadStatus pfs_v8_read_nodes(PfsV8Nodes *nodes, PfsJson *json, uint32_t profile);

/*
 * Reads the arrays of samples (ids of nodes) and of the microseconds between them, at two positions
 * of the file. The second position is SIZE_MAX if there are no times.
 */
PfsReadStatus pfs_v8_read_samples(PfsV8Nodes *nodes, PfsJson *json, uint32_t profile,
								  size_t samples, size_t deltas, PfsV8Clock *clock);

/* Adds the time until now_ns to the last sample. */
PfsReadStatus pfs_v8_advance(PfsV8Nodes *nodes, const PfsJson *json, PfsV8Clock *clock,
							 int64_t now_ns);

/* Adds the value types of V8's profiles. Must be called before the tree is begun. */
bool pfs_v8_add_types(PfsProfile *profile);

#endif
