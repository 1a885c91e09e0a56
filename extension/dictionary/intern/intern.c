/*
 * intern.c
 *		intern_stacks, intern_stacks_by_partition: return the ids of stack traces.
 *
 * 1. Every stack is walked down the cached tree from its root. If all stacks are known, no table is
 *    read.
 * 2. Otherwise the tree is brought up to date, and unknown stacks are walked again. Nodes that are
 *    still missing are appended, with numbers greater than their parents'.
 * 3. The new nodes are stored as chunks.
 *
 * Two concurrent transactions may add the same nodes, because neither sees the other's. That costs
 * space, but never gives a wrong result.
 */
#include "profstore.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/arrays.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/cache/epoch.h"
#include "dictionary/cache/rows.h"
#include "dictionary/intern/bound_writer.h"
#include "dictionary/intern/intern.h"
#include "dictionary/intern/intern_arrays.h"
#include "dictionary/tree/tree_cache.h"

PG_FUNCTION_INFO_V1(profstore_intern_stacks);
PG_FUNCTION_INFO_V1(profstore_intern_stacks_by_partition);

/* Hash entry of a distinct location. */
typedef struct LocationEntry
{
	int32 id;
	char status;
} LocationEntry;

#define SH_PREFIX		   location_set
#define SH_ELEMENT_TYPE	   LocationEntry
#define SH_KEY_TYPE		   int32
#define SH_KEY			   id
#define SH_HASH_KEY(tb, k) murmurhash32((uint32) (k))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* The last stack that was walked: the next one often shares its outer frames. */
typedef struct Path
{
	uint32 *nodes;			/* indexes, root first */
	const int32 *locations; /* leaf first */
	uint32 depth;
	uint32 valid; /* the nodes of this many outer frames are valid */
} Path;

typedef struct Interning
{
	PfsTreeCache *cache;
	const int32 *locations; /* all stacks' frames, leaf first */
	const int32 *depths;
	uint32 stack_count;
	int64 *ids; /* results; -1: not known yet */
	Path path;
} Interning;

/* Returns the location of the frame at a distance from the root. */
static inline int32
stack_frame(const int32 *locations, uint32 depth, uint32 from_root)
{
	return locations[depth - 1 - from_root];
}

/* Walks the known nodes of a stack, and sets path->valid to their number. */
static void
stack_walk(Interning *interning, const int32 *locations, uint32 depth)
{
	Path *path = &interning->path;
	uint32 common = 0;
	uint32 limit = Min(path->valid, depth);
	uint32 parent;

	/* Stacks of one program mostly begin alike, so their outer nodes need no search. */
	while (common < limit && stack_frame(path->locations, path->depth, common) ==
								 stack_frame(locations, depth, common))
		common++;
	parent = common == 0 ? 0 : path->nodes[common - 1];
	path->locations = locations;
	path->depth = depth;
	for (path->valid = common; path->valid < depth; path->valid++)
	{
		parent =
			pfs_tree_child(interning->cache, parent, stack_frame(locations, depth, path->valid));
		if (parent == 0)
			break;
		path->nodes[path->valid] = parent;
	}
}

/* Appends nodes for the unknown frames of the path. */
static void
append_rest(Interning *interning)
{
	const PfsTreeCache *cache = interning->cache;
	int64 partition = (int64) cache->partition_id << PFS_NODE_BITS;
	Path *path = &interning->path;
	uint32 parent = path->valid == 0 ? 0 : path->nodes[path->valid - 1];

	for (; path->valid < path->depth; path->valid++)
	{
		/* A node's number must exceed its parent's. */
		int64 parent_number = parent == 0 ? 0 : cache->ids[parent] - partition;
		int32 location = stack_frame(path->locations, path->depth, path->valid);

		parent = pfs_tree_append(interning->cache, partition | pfs_node_number_next(parent_number),
								 parent, location);
		path->nodes[path->valid] = parent;
	}
}

/*
 * Walks all stacks; if add is true, appends missing nodes. Returns the number of stacks that are
 * not known.
 */
static uint32
intern_all(Interning *interning, bool add)
{
	const int32 *locations = interning->locations;
	uint32 unknown = 0;

	/*
	 * Appending may have reordered the tree since the last pass, so no node of the path is known.
	 */
	interning->path.valid = 0;
	for (uint32 i = 0; i < interning->stack_count; i++)
	{
		uint32 depth = (uint32) interning->depths[i];

		/* The empty stack is 0 in every partition. */
		if (depth == 0)
			interning->ids[i] = 0;
		else if (interning->ids[i] < 0)
		{
			stack_walk(interning, locations, depth);
			if (interning->path.valid < depth && add)
				append_rest(interning);
			if (interning->path.valid == depth)
				interning->ids[i] = interning->cache->ids[interning->path.nodes[depth - 1]];
			else
				unknown++;
		}
		locations += depth;
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return unknown;
}

/* Raises an error unless the locations of unknown stacks are stored ones. */
static void
check_locations(const Interning *interning)
{
	location_set_hash *set = location_set_create(CurrentMemoryContext, 1024, NULL);
	const int32 *locations = interning->locations;
	location_set_iterator iterator;
	LocationEntry *entry;
	uint32 count = 0;
	int32 *ids;

	for (uint32 i = 0; i < interning->stack_count; i++)
	{
		uint32 depth = (uint32) interning->depths[i];
		bool found;

		/* Known stacks refer to stored locations. */
		for (uint32 j = 0; interning->ids[i] < 0 && j < depth; j++)
			location_set_insert(set, locations[j], &found);
		locations += depth;
	}
	ids = PFS_ARRAY(int32, set->members);
	location_set_start_iterate(set, &iterator);
	while ((entry = location_set_iterate(set, &iterator)) != NULL)
		ids[count++] = entry->id;
	location_set_destroy(set);
	pfs_locations_require(ids, pfs_ids_sort(ids, count));
	pfree(ids);
}

/* Adds the nodes that the refreshed tree still lacks. */
static void
add_unknown(Interning *interning)
{
	PfsTreeCache *cache = interning->cache;
	uint32 first;

	/* Another session may have stored the stacks since this tree was read. */
	pfs_tree_refresh(cache);
	/* A second pass without adding: locations are checked before anything is appended. */
	if (intern_all(interning, false) == 0)
		return;
	check_locations(interning);

	/*
	 * like begin_interning(), make the commit wait for the disk: a writer keeps the ids, so they
	 * must outlive a crash
	 */
	ForceSyncCommit();
	/* Nodes from here on are new, and are stored. */
	first = cache->tree.node_count + 1;
	pfs_tree_begin_append(cache);
	intern_all(interning, true);
	pfs_tree_end_append(cache, first);
}

static int32
max_depth(const int32 *depths, uint32 count)
{
	int32 max = 0;

	for (uint32 i = 0; i < count; i++)
		max = Max(max, depths[i]);
	return max;
}

static uint32
depths_sum(const int32 *depths, uint32 count)
{
	uint32 sum = 0;

	for (uint32 i = 0; i < count; i++)
		sum += (uint32) depths[i];
	return sum;
}

/* Interns the stacks of one dictionary partition. */
static void
intern_partition(const char *partition, Interning *interning)
{
	for (uint32 i = 0; i < interning->stack_count; i++)
		interning->ids[i] = -1;
	/*
	 * The tree may be old: known stacks are found in it all the same, because nodes never change.
	 */
	interning->cache = pfs_tree_cached(pfs_partition_intern(partition));
	interning->path.nodes = PFS_ARRAY(uint32, max_depth(interning->depths, interning->stack_count));
	if (intern_all(interning, false) > 0)
		add_unknown(interning);
	pfree(interning->path.nodes);
}

static void
begin_interning(void)
{
	/*
	 * Before the caches are looked at, so that no id they return can be removed before the commit.
	 */
	pfs_epoch_pin();
	pfs_dictionary_begin();
}

/* intern_stacks(partition text, depths int4[], location_ids int4[]) -> int8[] */
PGDLLEXPORT Datum
profstore_intern_stacks(PG_FUNCTION_ARGS)
{
	static const char caller[] = "intern_stacks";
	ArrayType *depths = PG_GETARG_ARRAYTYPE_P(1);
	ArrayType *locations = PG_GETARG_ARRAYTYPE_P(2);
	uint32 stack_count = pfs_array_check(caller, depths);
	uint32 location_count = pfs_array_check(caller, locations);
	ArrayType *result = pfs_array_make(stack_count, INT8OID, sizeof(int64));
	Interning interning = { .depths = (const int32 *) ARR_DATA_PTR(depths),
							.locations = (const int32 *) ARR_DATA_PTR(locations),
							.stack_count = stack_count,
							.ids = (int64 *) ARR_DATA_PTR(result) };

	pfs_counts_check(caller, interning.depths, stack_count, location_count);
	/* A writer with a selector may use only locations that were returned to it. */
	pfs_proven_require(PFS_PROVEN_LOCATION, interning.locations, location_count);
	begin_interning();
	intern_partition(text_to_cstring(PG_GETARG_TEXT_PP(0)), &interning);
	pfs_proven_add_stacks(interning.ids, stack_count);
	PG_RETURN_ARRAYTYPE_P(result);
}

/*
 * intern_stacks_by_partition(partitions text[], stack_counts int4[], depths int4[],
 * location_ids int4[]) -> int8[]
 */
PGDLLEXPORT Datum
profstore_intern_stacks_by_partition(PG_FUNCTION_ARGS)
{
	static const char caller[] = "intern_stacks_by_partition";
	uint32 partition_count = pfs_arrays_check(caller, fcinfo, 0, 2);
	const int32 *stack_counts = (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(1));
	ArrayType *depths = PG_GETARG_ARRAYTYPE_P(2);
	ArrayType *locations = PG_GETARG_ARRAYTYPE_P(3);
	uint32 stack_count = pfs_array_check(caller, depths);
	uint32 location_count = pfs_array_check(caller, locations);
	ArrayType *result = pfs_array_make(stack_count, INT8OID, sizeof(int64));
	Interning interning = { .depths = (const int32 *) ARR_DATA_PTR(depths),
							.locations = (const int32 *) ARR_DATA_PTR(locations),
							.ids = (int64 *) ARR_DATA_PTR(result) };
	Datum *partitions;
	int element_count;

	pfs_counts_check(caller, stack_counts, partition_count, stack_count);
	pfs_counts_check(caller, interning.depths, stack_count, location_count);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &partitions, NULL,
					  &element_count);
	pfs_proven_require(PFS_PROVEN_LOCATION, interning.locations, location_count);
	begin_interning();
	for (uint32 i = 0; i < partition_count; i++)
	{
		interning.stack_count = (uint32) stack_counts[i];
		intern_partition(TextDatumGetCString(partitions[i]), &interning);
		/* The arrays of all partitions follow each other. */
		interning.locations += depths_sum(interning.depths, interning.stack_count);
		interning.depths += interning.stack_count;
		interning.ids += interning.stack_count;
	}
	pfs_proven_add_stacks((const int64 *) ARR_DATA_PTR(result), stack_count);
	PG_RETURN_ARRAYTYPE_P(result);
}
