/*
 * dictionary.h
 *		Reading the stack-trace dictionary: from a stack id to frames, through caches of this
 *		backend.
 *
 * A stack id is (dictionary partition << PFS_NODE_BITS) | node number; 0 is the empty stack. Node
 * numbers come from one sequence. So within a partition a parent's id is always less than its
 * child's. A cached partition is a PfsTree: nodes in id order under dense indexes 1 .. node_count;
 * index 0 is the root, which has no frame.
 *
 * Caches hold committed rows, and rows of this transaction, which go with its (sub)abort. Nothing
 * cached changes under its id, except that a new epoch (profstore.epoch) drops it all.
 *
 * How long pointers hold: names until the calling SQL function ends, since they are only dropped at
 * the start of one, by pfs_dictionary_begin; a tree until the next one is asked for, which may take
 * its place; its shapes as long as names.
 *
 * Locks: ACCESS SHARE on the tables that are read, to the end of the transaction. Errors:
 * DATA_CORRUPTED for damaged chunks. What is not there is no error, but shown and told (doubts.h).
 */
#ifndef PFS_DICTIONARY_H
#define PFS_DICTIONARY_H

#include "profstore.h"

#define PFS_NODE_BITS 40

/*
 * What the dictionary lacks has a name all the same, and is counted (doubts.h). A stack that it
 * lacks is one frame at a location of its own, which has a function of that name.
 */
#define PFS_UNKNOWN_STACK	  "[unknown stack]"
#define PFS_UNKNOWN_LOCATION  "[unknown location]"
#define PFS_UNKNOWN_FUNCTION  "[unknown function]"
#define PFS_UNKNOWN_MAPPING	  "[unknown mapping]"
#define PFS_NO_STACK_LOCATION PG_INT32_MAX

typedef struct PfsTree
{
	int32 partition_id;
	uint32 node_count;		/* dense indexes 1 .. node_count; 0 is the root */
	const int64 *ids;		/* ids[index], ascending; ids[0] = 0 */
	const uint32 *parents;	/* parents[index] < index; 0 where the parent is the root */
	const int32 *locations; /* location id of the node's frame */
} PfsTree;

/*
 * Some nodes of a tree, and all their ancestors, in depth-first order: a node has a place, behind
 * it come all below it that are there. Place 0 is the root.
 */
typedef struct PfsTreeShape
{
	uint32 count;			/* nodes, the root included: places 0 .. count - 1 */
	const uint32 *indexes;	/* by place; so the others */
	const uint32 *parents;	/* the parent's place; the root's is 0 */
	const uint32 *ends;		/* the place behind the last node below */
	const int32 *locations; /* 0 for the root */
} PfsTreeShape;

typedef struct PfsLine
{
	int32 function_id;
	int32 line; /* 0: not known */
} PfsLine;

typedef struct PfsLocation
{
	int32 id;
	int32 mapping_id;	  /* 0: none */
	uint64 address;		  /* ELF virtual address; 0 for a frame known by name only */
	uint32 line_count;	  /* 0: not symbolized */
	const PfsLine *lines; /* innermost first, as in pprof */
} PfsLocation;

typedef struct PfsFunction
{
	int32 id;
	const char *name; /* demangled */
	const char *system_name;
	const char *filename; /* "" where not known */
	int32 start_line;
} PfsFunction;

typedef struct PfsMapping
{
	int32 id;
	const char *build_id; /* hexadecimal, "" where not known */
	const char *file;
} PfsMapping;

static inline int32
pfs_stack_partition(int64 stack_id)
{
	return (int32) (stack_id >> PFS_NODE_BITS);
}

/* Settings and transaction callbacks; called once when the module is loaded. */
void pfs_dictionary_init(void);

/*
 * Call first in every SQL function that uses the dictionary: looks at the epoch, drops what is
 * stale. Raises INSUFFICIENT_PRIVILEGE unless the current user may SELECT from the dictionary's
 * tables.
 */
void pfs_dictionary_begin(void);

/* Raises FEATURE_NOT_SUPPORTED if Citus has distributed a table of the dictionary. */
void pfs_dictionary_require_local(void);

/* The same for any role: for who shows it nothing of the caches. */
void pfs_dictionary_begin_unchecked(void);

/*
 * What the caches are of: where it is the same, ids and names mean the same in other processes.
 * False where it is that of the own transaction, or there is none.
 */
typedef struct PfsDictionaryVersion
{
	int64 ids;
	int64 names;
	int64 removals;
} PfsDictionaryVersion;

bool pfs_dictionary_version(PfsDictionaryVersion *version);

/*
 * The partition's nodes that are committed or this transaction's own; brought up to date by this
 * call. Unless something was added meanwhile, a second call for the same partition leaves the
 * arrays where they are.
 */
const PfsTree *pfs_tree_get(int32 partition_id);

/*
 * Dense index of a stack id of this tree, which is not 0; 0 where the tree does not hold it. It is
 * looked for from the index of a smaller id on, or from 0.
 */
uint32 pfs_tree_find(const PfsTree *tree, int64 stack_id, uint32 from);

/* More shapes than a tree of 2^32 nodes comes to, see tree_shape.h. */
#define PFS_MAX_SHAPES 40

/*
 * The number of shapes that the cache has of a tree; 0 where there are none, as while the cache is
 * full. Each node stands in one at most. They are made, or extended by nodes that they lack, when
 * enough of the stacks that are wanted have asked in vain: indexes are those that this call wants.
 */
uint32 pfs_tree_shapes(const PfsTree *tree, const uint32 *indexes, uint32 count);

/* One of them. */
PfsTreeShape pfs_tree_shape(const PfsTree *tree, uint32 number);

/*
 * The number of the shape in which a node stands, and its place there; PFS_NO_SHAPE where there is
 * none.
 */
#define PFS_NO_SHAPE PG_UINT8_MAX
uint8 pfs_tree_place(const PfsTree *tree, uint32 index, uint32 *place);

/* Brings these locations, and the functions and mappings that they name, into the cache. */
void pfs_locations_load(const int32 *ids, uint32 count);

/* Whether the location is in the cache. */
bool pfs_location_is_cached(int32 id);

/*
 * Cached rows; loaded one by one where pfs_locations_load has not seen them. What is absent has a
 * row that says so.
 */
const PfsLocation *pfs_location_get(int32 id);
const PfsFunction *pfs_function_get(int32 id);
const PfsMapping *pfs_mapping_get(int32 id); /* id 0: an empty mapping */

/*
 * Memory that goes when names do, and counts as theirs, and a number that is another one
 * afterwards: what others store about names lives there.
 */
MemoryContext pfs_names_context(void);
uint64 pfs_names_generation(void);

#endif
