/*
 * v8_nodes.h
 *		Profiles of V8: a tree of nodes by id, and which node was found when. Knows no server
 *		header.
 *
 * Nodes name their children, or their parent; in trace events they come in pieces, of several
 * profiles. A sample lasts until the next one.
 */
#ifndef PFS_V8_NODES_H
#define PFS_V8_NODES_H

#include "formats/call_tree.h"
#include "formats/json/json.h"

/* Values of a node in the tree. */
enum
{
	PFS_V8_SAMPLES,
	PFS_V8_TIME,
	PFS_V8_TYPES
};

typedef struct PfsV8Node
{
	bool is_read;
	bool is_root;	   /* "(root)", which is no frame */
	uint32_t parent;   /* number, or PFS_NONE */
	uint32_t location; /* once it is read */
	uint32_t call;	   /* node of the tree, or PFS_NONE: not known yet */
	uint32_t below;	   /* while a stack is resolved: the next one of it */
} PfsV8Node;

typedef struct PfsV8Nodes
{
	PfsCallTree *tree;
	PfsPairIndex ids; /* profile, id */
	PfsV8Node *nodes;
} PfsV8Nodes;

/* A profile's own time, in nanoseconds. */
typedef struct PfsV8Clock
{
	uint32_t root;
	uint32_t call; /* of the last sample, or PFS_NONE */
	int64_t now_ns;
	int64_t reached_ns; /* deltas may be below 0 */
} PfsV8Clock;

void pfs_v8_init(PfsV8Nodes *nodes, PfsCallTree *tree);
void pfs_v8_fini(PfsV8Nodes *nodes);

/* The array of nodes that is next, of one profile. */
PfsReadStatus pfs_v8_read_nodes(PfsV8Nodes *nodes, PfsJson *json, uint32_t profile);

/*
 * The arrays of samples, node ids, and of microseconds since the one before, which lie at two
 * places; SIZE_MAX for the second: without times.
 */
PfsReadStatus pfs_v8_read_samples(PfsV8Nodes *nodes, PfsJson *json, uint32_t profile,
								  size_t samples, size_t deltas, PfsV8Clock *clock);

/* The last sample lasts up to a time. */
PfsReadStatus pfs_v8_advance(PfsV8Nodes *nodes, const PfsJson *json, PfsV8Clock *clock,
							 int64_t now_ns);

/* Adds the types of such a profile: before the tree is begun. */
bool pfs_v8_add_types(PfsProfile *profile);

#endif
