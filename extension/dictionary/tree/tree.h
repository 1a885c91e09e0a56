/*
 * tree.h
 *		One dictionary partition in memory: nodes in id order, and a hash to find children;
 *		internal to the room.
 *
 * Pure memory: reading and writing of chunks is tree_cache.c's. Nodes are appended in any order of
 * ids, parents first, and settled afterwards: pfs_tree_settle puts them where their ids belong.
 * That moves only what lies behind the smallest new id, which is little, since ids grow with time.
 */
#ifndef PFS_TREE_H
#define PFS_TREE_H

#include "profstore.h"

#include "lib/ilist.h"

#include "dictionary/cache/dictionary.h"

/* Slot of the hash of children: open addressing, linear probing. */
typedef struct PfsChildSlot
{
	uint32 parent; /* canonical index */
	int32 location;
	uint32 index; /* 0: free */
} PfsChildSlot;

typedef struct PfsTreeCache
{
	int32 partition_id;	 /* key of the table of trees */
	bool changing;		 /* set while nodes are added: an error in between leaves it set */
	bool own;			 /* holds nodes of the running transaction */
	uint32 orphans;		 /* nodes whose parents no chunk holds: the next call reads all again */
	uint64 read_by;		 /* the call that read it first: see pfs_trees_begin */
	uint64 horizon;		 /* chunks of transactions before this one are all here */
	uint32 shared_nodes; /* of the tree in shared memory when it was looked at last; … */
	bool shared_shape;	 /* … it has a shape */
	uint64 offered_by; /* the call that put it there, and after which it may be read there; or 0 */

	/*
	 * The tree in shared memory that is read (shared_trees.h), or NULL, and what of it: the three
	 * arrays of nodes, shape_of and places, the first shape. What is shared is never written:
	 * before, it becomes the tree's own.
	 */
	void *shared;
	bool shares_nodes;
	bool shares_places;
	bool shares_shape;

	MemoryContext context;
	Size bytes;		/* taken from context when it was looked at last */
	dlist_node use; /* in the list of trees, latest used first */

	PfsTree tree; /* as readers see it; its arrays are these: */
	int64 *ids;
	uint32 *parents;
	int32 *locations;
	uint32 capacity; /* elements of each array */

	/* The same depth first, for queries, see tree_shape.h; made when it pays. */
	PfsTreeShape shapes[PFS_MAX_SHAPES];
	uint32 own_counts[PFS_MAX_SHAPES]; /* nodes that stand in each */
	uint32 shape_count;
	uint8 *shape_of; /* by index: number of the shape in which a node stands, or PFS_NO_SHAPE */
	uint32
		*places; /* by index; NULL while there has been no shape; capacity elements, as shape_of */
	uint32 placed_count;
	uint64 placings;	   /* places that all shapes had that were made: the work so far */
	uint32 first_unplaced; /* all nodes before it have places */
	uint64 shape_debt;	   /* nodes that queries have looked at one by one, for want of a shape */
	uint64 held_by;		   /* the call that uses the shapes: see pfs_trees_begin */

	/*
	 * Children of a node by location, for interning; made on first use. Where a node is there
	 * twice (two transactions added it), the smaller index is the canonical one, and children of
	 * either are found under it.
	 */
	PfsChildSlot *slots;
	uint32 slot_count; /* a power of two, 0 where there is no hash */
	uint32 *canonical; /* by index; capacity elements */
	uint32 hashed;	   /* nodes 1 .. hashed are in the hash */
	uint32 taken;	   /* slots in use */
} PfsTreeCache;

/* Sets up an empty tree; memory is taken from context. */
void pfs_tree_init(PfsTreeCache *cache, int32 partition_id, MemoryContext context);

/* What of nodes and their places is shared becomes the tree's own, to be written. */
void pfs_tree_own_nodes(PfsTreeCache *cache);

/*
 * Appends a node, raising PROGRAM_LIMIT_EXCEEDED beyond 2^32 - 2 of them; its index holds until
 * the tree is settled.
 */
uint32 pfs_tree_append(PfsTreeCache *cache, int64 id, uint32 parent, int32 location);

/* Index of an id among the nodes 1 .. node_count, which are settled; 0 where it is not there. */
uint32 pfs_tree_search(const PfsTreeCache *cache, uint32 node_count, int64 id);

/* The same among all nodes behind one with a smaller id (or 0): quick where that is near. */
uint32 pfs_tree_search_from(const PfsTreeCache *cache, uint32 from, int64 id);

/* Takes the nodes from an index on out of the hash of children: they are about to move. */
void pfs_tree_unhash(PfsTreeCache *cache, uint32 first);

/* Index of the child of a node (0: of the root) at a location, 0 where it is not there. */
uint32 pfs_tree_child(PfsTreeCache *cache, uint32 parent, int32 location);

#endif
