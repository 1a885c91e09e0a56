/*
 * tree.h
 *		One dictionary partition in memory: nodes in id order, and a hash to find children;
 *		internal to the room.
 *
 * This is memory only: tree_cache.c reads and writes chunks. Nodes are appended in any order of
 * ids, parents first, and settled afterwards: pfs_tree_settle() puts them where their ids belong.
 * That moves only nodes after the smallest new id, which are few, because ids grow with time.
 */
#ifndef PFS_TREE_H
#define PFS_TREE_H

#include "profstore.h"

#include "lib/ilist.h"

#include "dictionary/cache/dictionary.h"

/* A slot of the hash of children: open addressing, linear probing. */
typedef struct PfsChildSlot
{
	uint32 parent; /* canonical index */
	int32 location;
	uint32 index; /* 0: free */
} PfsChildSlot;

typedef struct PfsTreeCache
{
	int32 partition_id; /* key of the table of trees */
	/*
	 * true while nodes are added; if it is true when a call begins, an error has interrupted that
	 */
	bool changing;
	bool own;		/* true if the tree holds nodes of the running transaction */
	uint32 orphans; /* nodes whose parents are in no chunk: the next call reads all chunks again */
	uint64 read_by; /* number of the call that first read the tree, see pfs_trees_begin() */
	uint64 horizon; /* chunks of transactions before this one have all been read */
	/* number of nodes of the tree in shared memory, when it was last looked up */
	uint32 shared_nodes;
	bool shared_shape; /* true if the tree in shared memory includes its shape */
	/* number of the call that put the tree in shared memory, or 0; later calls may read it there */
	uint64 offered_by;

	/*
	 * The shared tree that is read (shared_trees.h), or NULL, and which parts of it are in use: the
	 * three arrays of nodes, shape_of and places, the first shape. Shared memory is never written:
	 * before a part is changed, the tree gets a copy of its own.
	 */
	void *shared;
	bool shares_nodes;
	bool shares_places;
	bool shares_shape;

	MemoryContext context;
	Size bytes;		/* allocated in context when last measured */
	dlist_node use; /* link in the list of trees, most recently used first */

	PfsTree tree; /* the tree that readers see; its arrays are the following three */
	int64 *ids;
	uint32 *parents;
	int32 *locations;
	uint32 capacity; /* elements of each array */

	/*
	 * The nodes in depth-first order, for queries, see tree_shape.h. Shapes are made when they pay.
	 */
	PfsTreeShape shapes[PFS_MAX_SHAPES];
	uint32 own_counts[PFS_MAX_SHAPES]; /* number of nodes in each shape */
	uint32 shape_count;
	/* for each index, the number of the shape that holds the node, or PFS_NO_SHAPE */
	uint8 *shape_of;
	/*
	 * for each index, the node's place; has capacity elements like shape_of; NULL until there is a
	 * shape
	 */
	uint32 *places;
	uint32 placed_count;
	/* sum of the places of all shapes made so far, which measures the work spent on shapes */
	uint64 placings;
	uint32 first_unplaced; /* all nodes before it have places */
	uint64 shape_debt;	   /* nodes that queries have visited one by one for lack of a shape */
	uint64 held_by;		   /* number of the call that uses the shapes, see pfs_trees_begin() */

	/*
	 * Children of a node by location, for interning; made on first use. If a node exists twice (two
	 * transactions added it), the smaller index is the canonical one, and the children of both are
	 * found under it.
	 */
	PfsChildSlot *slots;
	uint32 slot_count; /* 0: the hash does not exist */
	uint32 *canonical; /* for each index, the canonical index of the node; has capacity elements */
	uint32 hashed;	   /* nodes 1 .. hashed are in the hash */
	uint32 taken;	   /* slots in use */
} PfsTreeCache;

/* Sets up an empty tree whose memory comes from context. */
void pfs_tree_init(PfsTreeCache *cache, int32 partition_id, MemoryContext context);

/*
 * Appends a node; raises PROGRAM_LIMIT_EXCEEDED beyond 2^32 - 2 nodes. Its index is valid until the
 * tree is settled.
 */
uint32 pfs_tree_append(PfsTreeCache *cache, int64 id, uint32 parent, int32 location);

/*
 * Returns the index of an id among the nodes 1 .. node_count, which are settled; 0 if the id is
 * missing.
 */
uint32 pfs_tree_search(const PfsTreeCache *cache, uint32 node_count, int64 id);

/*
 * Like pfs_tree_search(), but searches all nodes after from, which has a smaller id or is 0. The
 * search is fast if the id is near.
 */
uint32 pfs_tree_search_from(const PfsTreeCache *cache, uint32 from, int64 id);

/* Removes the nodes from an index on from the hash of children, because they are about to move. */
void pfs_tree_unhash(PfsTreeCache *cache, uint32 first);

/*
 * Returns the index of a node's child at a location; 0 if there is none. parent is 0 for the root.
 */
uint32 pfs_tree_child(PfsTreeCache *cache, uint32 parent, int32 location);

#endif
