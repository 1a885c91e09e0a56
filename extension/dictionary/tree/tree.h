/*
 * tree.h
 *		One dictionary partition in memory: nodes in id order, and a hash to find children;
 *		internal to the room.
 *
 * This is memory only: tree_cache.c reads and writes chunks. Nodes are appended in any order of
 * ids, parents first, and settled afterwards: pfs_tree_settle() puts them where their ids belong.
 * That moves only nodes behind the smallest new id, which are few, because ids grow with time.
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
	bool changing;		/* set while nodes are added: still set if an error came in between */
	bool own;			/* holds nodes of the running transaction */
	uint32 orphans; /* nodes whose parents are in no chunk: the next call reads all chunks again */
	uint64 read_by; /* the call that read it first, see pfs_trees_begin() */
	uint64 horizon; /* chunks of transactions before this one have all been read */
	uint32 shared_nodes; /* nodes of the tree in shared memory at the last look; … */
	bool shared_shape;	 /* … and whether that has a shape */
	/* the call that put it in shared memory, and after which it may be read there; 0: none */
	uint64 offered_by;

	/*
	 * The shared tree that is read (shared_trees.h), or NULL, and which parts of it: the three
	 * arrays of nodes, shape_of and places, the first shape. Shared memory is never written: a part
	 * becomes the tree's own first.
	 */
	void *shared;
	bool shares_nodes;
	bool shares_places;
	bool shares_shape;

	MemoryContext context;
	Size bytes;		/* allocated in context at the last look */
	dlist_node use; /* in the list of trees, most recently used first */

	PfsTree tree; /* as readers see it; its arrays are these: */
	int64 *ids;
	uint32 *parents;
	int32 *locations;
	uint32 capacity; /* elements of each array */

	/* The nodes depth first, for queries, see tree_shape.h; made when it pays. */
	PfsTreeShape shapes[PFS_MAX_SHAPES];
	uint32 own_counts[PFS_MAX_SHAPES]; /* number of nodes in each shape */
	uint32 shape_count;
	uint8 *shape_of; /* by index: number of the shape that holds the node, or PFS_NO_SHAPE */
	uint32 *places;	 /* by index; NULL until there is a shape; capacity elements, as in shape_of */
	uint32 placed_count;
	uint64 placings;	   /* places of all shapes made so far: the work spent */
	uint32 first_unplaced; /* all nodes before it have places */
	uint64 shape_debt;	   /* nodes that queries have visited one by one for lack of a shape */
	uint64 held_by;		   /* the call that uses the shapes, see pfs_trees_begin() */

	/*
	 * Children of a node by location, for interning; made on first use. If a node exists twice (two
	 * transactions added it), the smaller index is the canonical one, and the children of both are
	 * found under it.
	 */
	PfsChildSlot *slots;
	uint32 slot_count; /* a power of two; 0: the hash does not exist */
	uint32 *canonical; /* by index; capacity elements */
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

/* Index of an id among the nodes 1 .. node_count, which are settled; 0 if it is missing. */
uint32 pfs_tree_search(const PfsTreeCache *cache, uint32 node_count, int64 id);

/*
 * Like pfs_tree_search(), among all nodes behind from, which has a smaller id or is 0. Fast if the
 * id is near.
 */
uint32 pfs_tree_search_from(const PfsTreeCache *cache, uint32 from, int64 id);

/* Removes the nodes from an index on from the hash of children, because they are about to move. */
void pfs_tree_unhash(PfsTreeCache *cache, uint32 first);

/* Index of the child of a node (0: the root) at a location; 0 if there is none. */
uint32 pfs_tree_child(PfsTreeCache *cache, uint32 parent, int32 location);

#endif
