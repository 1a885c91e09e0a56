/*
 * dictionary.h
 *		Reads the stack-trace dictionary, from a stack id to frames, through caches of this
 *		backend.
 *
 * A stack id is (dictionary partition << PFS_NODE_BITS) | node number; 0 is the empty stack. Node
 * numbers come from one sequence, so within a partition a parent's id is always less than its
 * child's. A cached partition is a PfsTree: nodes in id order under dense indexes 1 .. node_count;
 * index 0 is the root, which has no frame.
 *
 * Caches hold committed rows, and rows of this transaction, which are dropped at its (sub)abort.
 * Nothing that is cached under an id changes, except that a new epoch (profstore.epoch) drops all
 * of it.
 *
 * Lifetime of pointers: names until the calling SQL function ends, because names are dropped only
 * by pfs_dictionary_begin(), at the start of a function; a tree until the next tree is requested,
 * which may replace it; the shapes of a tree as long as names.
 *
 * Locks: ACCESS SHARE on the tables that are read, to the end of the transaction. Errors:
 * DATA_CORRUPTED for damaged chunks. Missing rows are not an error: they are shown under the names
 * below, and reported by a WARNING (doubts.h).
 */
#ifndef PFS_DICTIONARY_H
#define PFS_DICTIONARY_H

#include "profstore.h"

#define PFS_NODE_BITS 40

/*
 * Names of missing rows, which are counted (doubts.h). A missing stack is shown as one frame at a
 * location of its own, with a function of that name.
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
	const uint32 *parents;	/* parents[index] < index; 0 if the parent is the root */
	const int32 *locations; /* location id of the node's frame */
} PfsTree;

/*
 * Some nodes of a tree, and all their ancestors, in depth-first order. A node's number in that
 * order is its place: the nodes below it follow directly. Place 0 is the root.
 */
typedef struct PfsTreeShape
{
	uint32 count;			/* nodes, including the root: places 0 .. count - 1 */
	const uint32 *indexes;	/* index of the node at each place, as in all arrays */
	const uint32 *parents;	/* place of the parent; the root's is 0 */
	const uint32 *ends;		/* the place after the last of its descendants */
	const int32 *locations; /* 0 for the root */
} PfsTreeShape;

/*
 * Line of a function for which there is no symbol. The collector names such a function by its
 * start: "hard+0x1540". Its system_name has the keys by which other builds recognize the function.
 */
#define PFS_LINE_UNNAMED (-1)

typedef struct PfsLine
{
	int32 function_id;
	int32 line; /* 0: unknown; PFS_LINE_UNNAMED */
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
	const char *filename; /* "" if unknown */
	int32 start_line;
} PfsFunction;

typedef struct PfsMapping
{
	int32 id;
	const char *build_id; /* hexadecimal, "" if unknown */
	const char *file;
} PfsMapping;

static inline int32
pfs_stack_partition(int64 stack_id)
{
	return (int32) (stack_id >> PFS_NODE_BITS);
}

/* Defines settings and registers transaction callbacks. Called once when the module is loaded. */
void pfs_dictionary_init(void);

/*
 * Call first in every SQL function that uses the dictionary: checks the epoch and drops stale
 * entries. Raises INSUFFICIENT_PRIVILEGE unless the current user may SELECT from the dictionary's
 * tables or reads samples of some series. If ids come from elsewhere than samples of series that
 * the user sees, call pfs_dictionary_require_whole(), too.
 */
void pfs_dictionary_begin(void);

/* Raises INSUFFICIENT_PRIVILEGE unless the current user may SELECT from the dictionary's tables. */
void pfs_dictionary_require_whole(void);

/* Raises FEATURE_NOT_SUPPORTED if Citus has distributed a table of the dictionary. */
void pfs_dictionary_require_local(void);

/*
 * Like pfs_dictionary_begin(), but without the check of privileges. The caller must not show cached
 * rows to the user.
 */
void pfs_dictionary_begin_unchecked(void);

/*
 * Identifies the contents of the caches: if two processes have equal versions, an id has the same
 * meaning in both, and so has a name. pfs_dictionary_version() returns false if the caches hold
 * rows of this transaction's own epoch, or the epoch's row is missing.
 */
typedef struct PfsDictionaryVersion
{
	int64 ids;
	int64 names;
	int64 removals;
} PfsDictionaryVersion;

bool pfs_dictionary_version(PfsDictionaryVersion *version);

/*
 * Returns the partition's nodes that are committed or this transaction's own, brought up to date by
 * this call. Unless nodes were added meanwhile, a second call for the partition leaves the arrays
 * where they are.
 */
const PfsTree *pfs_tree_get(int32 partition_id);

/*
 * Returns the dense index of a stack id, or 0 if the tree lacks it. stack_id must not be 0. from is
 * the index of any smaller id, or 0; the closer from is to the result, the faster the search.
 */
uint32 pfs_tree_find(const PfsTree *tree, int64 stack_id, uint32 from);

/* Upper bound of a tree's shapes: more than a tree of 2^32 nodes can have, see tree_shape.h. */
#define PFS_MAX_SHAPES 40

/*
 * Returns the number of shapes that the cache has of a tree; 0 if there are none, for example while
 * the cache is full. Each node is in at most one shape. indexes are the nodes that the caller will
 * visit: once enough visited stacks have lacked a shape, shapes are made, or extended by the
 * missing nodes.
 */
uint32 pfs_tree_shapes(const PfsTree *tree, const uint32 *indexes, uint32 count);

/* Returns one of the shapes of a tree. */
PfsTreeShape pfs_tree_shape(const PfsTree *tree, uint32 number);

/*
 * Returns the number of the shape that holds a node, and sets the node's place in it; PFS_NO_SHAPE
 * if no shape holds the node.
 */
#define PFS_NO_SHAPE PG_UINT8_MAX
uint8 pfs_tree_place(const PfsTree *tree, uint32 index, uint32 *place);

/* Loads these locations, and the functions and mappings that they name, into the cache. */
void pfs_locations_load(const int32 *ids, uint32 count);

/* Returns true if the location is cached. */
bool pfs_location_is_cached(int32 id);

/*
 * Return cached rows, and read a row that pfs_locations_load() has not loaded. A missing row is
 * represented by one with the names above.
 */
const PfsLocation *pfs_location_get(int32 id);
const PfsFunction *pfs_function_get(int32 id);
const PfsMapping *pfs_mapping_get(int32 id); /* id 0: an empty mapping */

/*
 * pfs_names_context() returns the context for data that other files derive from names: it is freed
 * together with the names and counts towards their size. pfs_names_generation() returns a number
 * that changes whenever names are dropped.
 */
MemoryContext pfs_names_context(void);
uint64 pfs_names_generation(void);

#endif
