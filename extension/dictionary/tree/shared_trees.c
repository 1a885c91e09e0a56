/*
 * shared_trees.c
 *		Trees in shared memory: a hash of entries, and their arrays in an area of fixed size.
 *
 * 1. A key names a tree: database, extension, partition. Trees under an epoch of the own
 *    transaction have none.
 * 2. Borrowing: an entry of the same epoch is pinned, and its arrays are the tree's. Pins are given
 *    back when the tree goes, at the latest when the process ends.
 * 3. Putting in: what tells more than the entry takes its place. Where there is no room, entries
 *    that were not used for long go; else the tree is refused.
 * 4. Setting up, in the postmaster; counters for shared_cache().
 */
#include "profstore.h"

#include <limits.h>

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/dsa.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "base/arrays.h"
#include "dictionary/cache/cache.h"
#include "dictionary/cache/epoch.h"
#include "dictionary/tree/shared_trees.h"

PG_FUNCTION_INFO_V1(profstore_shared_cache);

#define NAME "profstore shared trees"

/* A smaller tree is read sooner than it is found here. */
#define LEAST_NODES 256

/* Entries for which there is room in the hash: of trees of 4 kB. */
#define ENTRY_BYTES_EXPECTED 4096

/* Share of its nodes by which a tree must have grown to be offered again. */
#define GROWTH_DIVISOR 8

/* One tree may take so much of the area. */
#define SHARE_DIVISOR 2

/*
 * An entry goes only if so many uses for each entry have passed since it was used. Where sessions
 * read more, one partition after the other, than there is room for, what is there stays and serves
 * them, instead of each pushing out what is wanted next.
 */
#define USES_BEFORE_EVICTION 4

typedef struct EntryKey
{
	Oid database;
	Oid table; /* profstore.epoch: another one when the extension was made anew */
	int32 partition_id;
} EntryKey;

typedef struct Entry
{
	EntryKey key;
	int64 ids_epoch;
	int64 removals_epoch;
	uint64 horizon;
	uint32 node_count;
	bool has_shape;
	dsa_pointer nodes;			  /* SharedNodes */
	pg_atomic_uint64 last_use_no; /* by the clock */
} Entry;

/* In shared memory, before the area. */
typedef struct SharedTrees
{
	pg_atomic_uint64 clock; /* counts uses, and offers that were refused */
	pg_atomic_uint64 copies;
	pg_atomic_uint64 misses;
	pg_atomic_uint64 evictions;
	pg_atomic_uint64 refusals;
	Size used_bytes; /* under the lock, as what follows */
	uint64 node_count;
} SharedTrees;

/* Before the arrays of an entry. */
typedef struct SharedNodes
{
	pg_atomic_uint32 pins; /* trees that read it */
	uint32 node_count;
	bool has_shape;
	bool is_removed; /* its entry is gone: it goes with the last pin */
} SharedNodes;

/* The arrays, of node_count + 1 elements each, as a tree has them. */
typedef struct NodeArrays
{
	int64 *ids;
	uint32 *parents;
	int32 *locations;
	uint32 *shape_indexes; /* of the shape of all nodes, as the rest: NULL where there is none */
	uint32 *shape_parents;
	uint32 *shape_ends;
	int32 *shape_locations;
	uint32 *places;
	uint8 *shape_of;
} NodeArrays;

#define NODE_BYTES	(sizeof(int64) + sizeof(uint32) + sizeof(int32))
#define SHAPE_BYTES (4 * sizeof(uint32) + sizeof(int32) + sizeof(uint8))

static int cache_size_mb = 64;

static SharedTrees *shared; /* NULL where there is no shared memory */
static HTAB *entries;
static LWLock *lock;
static dsa_area *area; /* attached to on first use */

/* What this process has pinned. */
static dsa_pointer *pins;
static uint32 pin_count;
static uint32 pin_capacity;

static shmem_startup_hook_type previous_startup_hook;
static shmem_request_hook_type previous_request_hook;

static Size
area_bytes(void)
{
	return (Size) cache_size_mb * 1024 * 1024;
}

static long
entry_capacity(void)
{
	return (long) (area_bytes() / ENTRY_BYTES_EXPECTED);
}

static char *
area_place(void)
{
	return (char *) shared + MAXALIGN(sizeof(SharedTrees));
}

static Size
nodes_bytes(uint32 node_count, bool has_shape)
{
	return MAXALIGN(sizeof(SharedNodes)) +
		   ((Size) node_count + 1) * (NODE_BYTES + (has_shape ? SHAPE_BYTES : 0));
}

static NodeArrays
nodes_of(SharedNodes *nodes)
{
	Size count = (Size) nodes->node_count + 1;
	NodeArrays arrays = { .ids = (int64 *) ((char *) nodes + MAXALIGN(sizeof(SharedNodes))) };

	arrays.parents = (uint32 *) (arrays.ids + count);
	arrays.locations = (int32 *) (arrays.parents + count);
	if (!nodes->has_shape)
		return arrays;
	arrays.shape_indexes = (uint32 *) (arrays.locations + count);
	arrays.shape_parents = arrays.shape_indexes + count;
	arrays.shape_ends = arrays.shape_parents + count;
	arrays.shape_locations = (int32 *) (arrays.shape_ends + count);
	arrays.places = (uint32 *) (arrays.shape_locations + count);
	arrays.shape_of = (uint8 *) (arrays.places + count);
	return arrays;
}

/* Gives a pin back; what nobody can find goes with the last. */
static void
unpin(dsa_pointer pointer)
{
	SharedNodes *nodes = dsa_get_address(area, pointer);

	LWLockAcquire(lock, LW_EXCLUSIVE);
	if (pg_atomic_sub_fetch_u32(&nodes->pins, 1) == 0 && nodes->is_removed)
		dsa_free(area, pointer);
	LWLockRelease(lock);
}

static void
unpin_all(int code, Datum arg)
{
	while (pin_count > 0)
		unpin(pins[--pin_count]);
}

/* Once in a process; false where the module was not preloaded. */
static bool
attach(void)
{
	MemoryContext caller;

	if (shared == NULL || area != NULL)
		return shared != NULL;
	caller = MemoryContextSwitchTo(TopMemoryContext);
	area = dsa_attach_in_place(area_place(), NULL);
	on_shmem_exit(dsa_on_shmem_exit_release_in_place, PointerGetDatum(area_place()));
	before_shmem_exit(unpin_all, (Datum) 0);
	MemoryContextSwitchTo(caller);
	return true;
}

/* Under which key the caches' trees are shared; false where they are not. */
static bool
make_key(const PfsTreeCache *cache, const PfsEpoch *epoch, EntryKey *key)
{
	memset(key, 0, sizeof(*key));
	key->database = MyDatabaseId;
	key->table = pfs_cache_made_for();
	key->partition_id = cache->partition_id;
	/* an epoch that is rolled back comes again with other content */
	return OidIsValid(key->table) && !epoch->own && attach();
}

static void
count(pg_atomic_uint64 *counter)
{
	pg_atomic_fetch_add_u64(counter, 1);
}

static void
touch(Entry *entry)
{
	pg_atomic_write_u64(&entry->last_use_no, pg_atomic_add_fetch_u64(&shared->clock, 1));
}

/* Borrowing */

static bool
is_of_epoch(const Entry *entry, const PfsEpoch *epoch)
{
	return entry->ids_epoch == epoch->ids && entry->removals_epoch == epoch->removals;
}

/* Lets an empty tree read the arrays of an entry, which is pinned. */
static void
share_arrays(PfsTreeCache *cache, SharedNodes *nodes)
{
	NodeArrays arrays = nodes_of(nodes);
	uint32 count = nodes->node_count;

	cache->tree.ids = cache->ids = arrays.ids;
	cache->tree.parents = cache->parents = arrays.parents;
	cache->tree.locations = cache->locations = arrays.locations;
	cache->tree.node_count = cache->shared_nodes = count;
	cache->capacity = count + 1;
	cache->shares_nodes = true;
	cache->shared_shape = cache->shares_places = cache->shares_shape = nodes->has_shape;
	if (!nodes->has_shape)
		return;
	cache->shapes[0] = (PfsTreeShape){ count + 1, arrays.shape_indexes, arrays.shape_parents,
									   arrays.shape_ends, arrays.shape_locations };
	cache->own_counts[0] = cache->placed_count = count;
	cache->shape_count = 1;
	cache->shape_of = arrays.shape_of;
	cache->places = arrays.places;
	cache->first_unplaced = count + 1;
}

void
pfs_shared_tree_borrow(PfsTreeCache *cache)
{
	const PfsEpoch *epoch = pfs_cache_epoch();
	EntryKey key;
	Entry *entry;

	if (!make_key(cache, epoch, &key))
		return;
	PFS_RESERVE_IN(TopMemoryContext, pins, pin_capacity, (uint64) pin_count + 1);
	LWLockAcquire(lock, LW_SHARED);
	entry = hash_search(entries, &key, HASH_FIND, NULL);
	if (entry != NULL && is_of_epoch(entry, epoch))
	{
		SharedNodes *nodes = dsa_get_address(area, entry->nodes);

		pg_atomic_fetch_add_u32(&nodes->pins, 1);
		cache->shared = pins[pin_count++] = entry->nodes;
		cache->horizon = entry->horizon;
		share_arrays(cache, nodes);
		touch(entry);
		count(&shared->copies);
	}
	else
		count(&shared->misses);
	LWLockRelease(lock);
}

void
pfs_shared_tree_release(PfsTreeCache *cache)
{
	uint32 at = 0;

	if (cache->shared == 0)
		return;
	while (pins[at] != cache->shared)
		at++;
	pins[at] = pins[--pin_count];
	unpin(cache->shared);
	cache->shared = 0;
}

bool
pfs_shared_tree_is_there(const PfsTreeCache *cache)
{
	const PfsEpoch *epoch = pfs_cache_epoch();
	EntryKey key;
	const Entry *entry;
	bool is_there;

	if (!make_key(cache, epoch, &key))
		return false;
	LWLockAcquire(lock, LW_SHARED);
	entry = hash_search(entries, &key, HASH_FIND, NULL);
	is_there = entry != NULL && is_of_epoch(entry, epoch) &&
			   entry->node_count >= cache->tree.node_count &&
			   entry->has_shape >= (cache->shape_count > 0);
	LWLockRelease(lock);
	return is_there;
}

/* Putting in */

/* Takes an entry out; the lock is held exclusively. */
static void
remove_entry(Entry *entry)
{
	SharedNodes *nodes = dsa_get_address(area, entry->nodes);

	shared->used_bytes -= nodes_bytes(entry->node_count, entry->has_shape);
	shared->node_count -= entry->node_count;
	nodes->is_removed = true;
	if (pg_atomic_read_u32(&nodes->pins) == 0)
		dsa_free(area, entry->nodes);
	hash_search(entries, &entry->key, HASH_REMOVE, NULL);
}

/*
 * Takes out what was not used for the longest time, if that is long; the lock is held exclusively.
 */
static bool
evict_one(void)
{
	HASH_SEQ_STATUS status;
	Entry *entry;
	Entry *oldest = NULL;
	uint64 uses = (uint64) hash_get_num_entries(entries) * USES_BEFORE_EVICTION;

	hash_seq_init(&status, entries);
	while ((entry = hash_seq_search(&status)) != NULL)
		if (oldest == NULL ||
			pg_atomic_read_u64(&entry->last_use_no) < pg_atomic_read_u64(&oldest->last_use_no))
			oldest = entry;
	if (oldest == NULL ||
		pg_atomic_read_u64(&shared->clock) - pg_atomic_read_u64(&oldest->last_use_no) <= uses)
		return false;
	remove_entry(oldest);
	count(&shared->evictions);
	return true;
}

/*
 * Memory for nodes, made free if need be; invalid where there is none. The lock is held
 * exclusively.
 */
static dsa_pointer
allocate(Size bytes)
{
	dsa_pointer nodes;

	do
		nodes = dsa_allocate_extended(area, bytes, DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM);
	while (!DsaPointerIsValid(nodes) && evict_one());
	return nodes;
}

/* Whether all nodes of the tree stand in its first shape. */
static bool
has_whole_shape(const PfsTreeCache *cache)
{
	return cache->shape_count == 1 && cache->own_counts[0] == cache->tree.node_count;
}

/*
 * Whether the tree tells others more than the entry does. An older epoch is that of an older
 * snapshot.
 */
static bool
is_better(const PfsTreeCache *cache, const PfsEpoch *epoch, const Entry *entry)
{
	uint32 node_count = cache->tree.node_count;

	if (!is_of_epoch(entry, epoch))
		return epoch->ids >= entry->ids_epoch && epoch->removals >= entry->removals_epoch;
	return node_count > (uint64) entry->node_count + entry->node_count / GROWTH_DIVISOR ||
		   (node_count >= entry->node_count && has_whole_shape(cache) && !entry->has_shape);
}

/*
 * The arrays of a tree in shared memory, with its shape if that has room; invalid where they have
 * none. The lock is held exclusively.
 */
static dsa_pointer
copy_nodes(const PfsTreeCache *cache, bool *has_shape)
{
	uint32 node_count = cache->tree.node_count;
	Size count = (Size) node_count + 1;
	dsa_pointer pointer;
	SharedNodes *nodes;
	NodeArrays arrays;

	*has_shape =
		has_whole_shape(cache) && nodes_bytes(node_count, true) <= area_bytes() / SHARE_DIVISOR;
	if (nodes_bytes(node_count, false) > area_bytes() / SHARE_DIVISOR)
		return InvalidDsaPointer;
	pointer = allocate(nodes_bytes(node_count, *has_shape));
	if (!DsaPointerIsValid(pointer) && *has_shape)
	{
		*has_shape = false;
		pointer = allocate(nodes_bytes(node_count, false));
	}
	if (!DsaPointerIsValid(pointer))
		return pointer;
	nodes = dsa_get_address(area, pointer);
	pg_atomic_init_u32(&nodes->pins, 0);
	nodes->node_count = node_count;
	nodes->has_shape = *has_shape;
	nodes->is_removed = false;
	arrays = nodes_of(nodes);
	memcpy(arrays.ids, cache->ids, count * sizeof(int64));
	memcpy(arrays.parents, cache->parents, count * sizeof(uint32));
	memcpy(arrays.locations, cache->locations, count * sizeof(int32));
	if (!*has_shape)
		return pointer;
	memcpy(arrays.shape_indexes, cache->shapes[0].indexes, count * sizeof(uint32));
	memcpy(arrays.shape_parents, cache->shapes[0].parents, count * sizeof(uint32));
	memcpy(arrays.shape_ends, cache->shapes[0].ends, count * sizeof(uint32));
	memcpy(arrays.shape_locations, cache->shapes[0].locations, count * sizeof(int32));
	memcpy(arrays.places, cache->places, count * sizeof(uint32));
	memcpy(arrays.shape_of, cache->shape_of, count * sizeof(uint8));
	return pointer;
}

/*
 * Makes an entry of the tree where there is none; false where it has no room. The lock is held
 * exclusively.
 */
static bool
make_entry(const PfsTreeCache *cache, const EntryKey *key, const PfsEpoch *epoch)
{
	bool has_shape;
	dsa_pointer nodes;
	Entry *entry;

	if (hash_get_num_entries(entries) >= entry_capacity() && !evict_one())
		return false;
	nodes = copy_nodes(cache, &has_shape);
	if (!DsaPointerIsValid(nodes))
		return false;
	entry = hash_search(entries, key, HASH_ENTER, NULL);
	entry->ids_epoch = epoch->ids;
	entry->removals_epoch = epoch->removals;
	entry->horizon = cache->horizon;
	entry->node_count = cache->tree.node_count;
	entry->has_shape = has_shape;
	entry->nodes = nodes;
	pg_atomic_init_u64(&entry->last_use_no, 0);
	touch(entry);
	shared->used_bytes += nodes_bytes(entry->node_count, has_shape);
	shared->node_count += entry->node_count;
	return true;
}

/* Whether the tree is there afterwards. The lock is held exclusively. */
static bool
put_in(const PfsTreeCache *cache, const EntryKey *key, const PfsEpoch *epoch)
{
	Entry *entry = hash_search(entries, key, HASH_FIND, NULL);

	if (entry != NULL && !is_better(cache, epoch, entry))
		return false;
	if (entry != NULL)
		remove_entry(entry);
	if (make_entry(cache, key, epoch))
		return true;
	count(&shared->clock);
	count(&shared->refusals);
	return false;
}

bool
pfs_shared_tree_offer(PfsTreeCache *cache)
{
	const PfsEpoch *epoch = pfs_cache_epoch();
	uint32 node_count = cache->tree.node_count;
	bool has_grown = node_count - cache->shared_nodes > cache->shared_nodes / GROWTH_DIVISOR;
	bool has_shape = has_whole_shape(cache) && !cache->shared_shape;
	EntryKey key;
	bool done;

	if (shared == NULL || cache->own || cache->orphans > 0 || node_count < LEAST_NODES ||
		!(has_grown || has_shape) || !make_key(cache, epoch, &key))
		return false;
	cache->shared_nodes = node_count;
	cache->shared_shape = has_shape;
	LWLockAcquire(lock, LW_EXCLUSIVE);
	done = put_in(cache, &key, epoch);
	LWLockRelease(lock);
	return done;
}

/* Setting up, in the postmaster */

static void
request_memory(void)
{
	if (previous_request_hook != NULL)
		previous_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(SharedTrees)) + area_bytes());
	RequestAddinShmemSpace(hash_estimate_size(entry_capacity(), sizeof(Entry)));
	RequestNamedLWLockTranche(NAME, 1);
}

static void
make_area(void)
{
	dsa_area *made = dsa_create_in_place(area_place(), area_bytes(), lock->tranche, NULL);

	/* what does not fit is not kept; so nothing depends on the room that /dev/shm has */
	dsa_set_size_limit(made, area_bytes());
	dsa_pin(made);
	dsa_detach(made);
	pg_atomic_init_u64(&shared->clock, 0);
	pg_atomic_init_u64(&shared->copies, 0);
	pg_atomic_init_u64(&shared->misses, 0);
	pg_atomic_init_u64(&shared->evictions, 0);
	pg_atomic_init_u64(&shared->refusals, 0);
	shared->used_bytes = 0;
	shared->node_count = 0;
}

static void
start_up(void)
{
	HASHCTL control = { .keysize = sizeof(EntryKey), .entrysize = sizeof(Entry) };
	bool found;

	if (previous_startup_hook != NULL)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct(NAME, MAXALIGN(sizeof(SharedTrees)) + area_bytes(), &found);
	lock = &GetNamedLWLockTranche(NAME)->lock;
	entries = ShmemInitHash("profstore shared tree entries", entry_capacity(), entry_capacity(),
							&control, HASH_ELEM | HASH_BLOBS);
	if (!found)
		make_area();
	LWLockRelease(AddinShmemInitLock);
}

void
pfs_shared_trees_init(void)
{
	DefineCustomIntVariable("profstore.shared_cache_size",
							"Sets how much of the stack dictionary sessions share in memory.",
							"Needs profstore in shared_preload_libraries. 0 turns it off.",
							&cache_size_mb, 64, 0, INT_MAX,
							process_shared_preload_libraries_in_progress ? PGC_POSTMASTER
																		 : PGC_SIGHUP,
							GUC_UNIT_MB, NULL, NULL, NULL);
	if (!process_shared_preload_libraries_in_progress || cache_size_mb == 0)
		return;
	pfs_when_shared_memory_is_requested(request_memory, previous_request_hook);
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_up;
}

/*
 * shared_cache() -> partitions, nodes, bytes, size, copies, misses, evictions, refusals; no row
 * without shared memory
 */
PGDLLEXPORT Datum
profstore_shared_cache(PG_FUNCTION_ARGS)
{
	TupleDesc descriptor;
	bool nulls[8] = { false };
	Datum values[8];

	if (!attach())
		PG_RETURN_NULL();
	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "shared_cache must return a row");
	LWLockAcquire(lock, LW_SHARED);
	values[0] = Int64GetDatum(hash_get_num_entries(entries));
	values[1] = Int64GetDatum((int64) shared->node_count);
	values[2] = Int64GetDatum((int64) shared->used_bytes);
	LWLockRelease(lock);
	values[3] = Int64GetDatum((int64) area_bytes());
	values[4] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->copies));
	values[5] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->misses));
	values[6] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->evictions));
	values[7] = Int64GetDatum((int64) pg_atomic_read_u64(&shared->refusals));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}
