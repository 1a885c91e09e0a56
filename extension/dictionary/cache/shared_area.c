/*
 * shared_area.c
 *		A hash of entries, and their copies in an area of fixed size.
 *
 * 1. A key identifies a copy: database, extension, number. Copies under an epoch of the own
 *    transaction have no key.
 * 2. Borrowing: an entry of the same epoch is pinned. Pins are released one by one, at the latest
 *    when the process ends.
 * 3. Putting in: a copy that is better than the entry replaces it. If there is no room, entries
 *    that were not used for long are evicted; otherwise the copy is refused. Memory is allocated
 *    under the lock (reserve), filled without it, and published under it, unless a better copy has
 *    come meanwhile.
 * 4. Setup in the postmaster; counters for shared_cache().
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
#include "dictionary/cache/shared_area.h"

PG_FUNCTION_INFO_V1(profstore_shared_cache);

#define NAME "profstore shared trees"

/* The hash has room for entries of this average size: that of a small tree. */
#define ENTRY_BYTES_EXPECTED 4096

/* One copy may take at most this share of the area. */
#define SHARE_DIVISOR 2

/*
 * An entry is evicted only if this many uses per entry have passed since its last use. If sessions
 * read more partitions in turn than there is room for, the present entries stay and serve them,
 * instead of each evicting the one needed next.
 */
#define USES_BEFORE_EVICTION 4

typedef struct EntryKey
{
	Oid database;
	Oid table; /* OID of profstore.epoch: changes when the extension is created again */
	int32 number;
} EntryKey;

typedef struct Entry
{
	EntryKey key;
	int64 ids_epoch;
	int64 removals_epoch;
	PfsSharedFacts facts;
	Size bytes;
	dsa_pointer block;
	pg_atomic_uint64 last_use_no; /* value of the area's clock at the last use */
} Entry;

/* Header of a copy. */
typedef struct SharedBlock
{
	pg_atomic_uint32 pins; /* by sessions that read it */
	bool is_removed;	   /* its entry is gone, so the memory is freed with the last pin */
	dsa_pointer self;
} SharedBlock;

#define BLOCK_BYTES MAXALIGN(sizeof(SharedBlock))

/* Control structure, which stands in shared memory before the copies. */
typedef struct SharedArea
{
	pg_atomic_uint64 clock; /* counts uses, and refused offers */
	pg_atomic_uint64 copies;
	pg_atomic_uint64 misses;
	pg_atomic_uint64 evictions;
	pg_atomic_uint64 refusals;
	Size used_bytes; /* used_bytes and the fields after it are protected by the lock */
	uint64 tree_count;
	uint64 node_count;
} SharedArea;

static int cache_size_mb = 64;

static SharedArea *shared; /* NULL: there is no shared memory */
static HTAB *entries;
static LWLock *lock;
static dsa_area *area; /* attached on first use */

/* Pins of this process. */
static SharedBlock **pins;
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
	return (char *) shared + MAXALIGN(sizeof(SharedArea));
}

/* Releases a pin; a removed copy is freed with the last one. */
static void
area_unpin(SharedBlock *block)
{
	LWLockAcquire(lock, LW_EXCLUSIVE);
	/*
	 * Removing and unpinning both hold the lock exclusively, so exactly one of them frees the copy.
	 */
	if (pg_atomic_sub_fetch_u32(&block->pins, 1) == 0 && block->is_removed)
		dsa_free(area, block->self);
	LWLockRelease(lock);
}

static void
unpin_all(int code, Datum arg)
{
	while (pin_count > 0)
		area_unpin(pins[--pin_count]);
}

/* Attaches once per process; returns false if the module was not preloaded. */
static bool
area_attach(void)
{
	MemoryContext caller;

	/* Attached already, or never: shared stays NULL unless the module was preloaded. */
	if (shared == NULL || area != NULL)
		return shared != NULL;
	caller = MemoryContextSwitchTo(TopMemoryContext);
	area = dsa_attach_in_place(area_place(), NULL);
	/*
	 * on_shmem_exit callbacks run in reverse order of registration, and all of them after the
	 * transaction's abort, so pins are released before the area is detached
	 */
	on_shmem_exit(dsa_on_shmem_exit_release_in_place, PointerGetDatum(area_place()));
	on_shmem_exit(unpin_all, (Datum) 0);
	MemoryContextSwitchTo(caller);
	return true;
}

/* Sets the key of a copy with a number; returns false if it must not be shared. */
static bool
make_key(int32 number, EntryKey *key)
{
	/* The key is hashed as bytes, so padding must be 0. */
	memset(key, 0, sizeof(*key));
	key->database = MyDatabaseId;
	key->table = pfs_cache_made_for();
	key->number = number;
	/* an epoch that is rolled back is used again with other content */
	return OidIsValid(key->table) && !pfs_cache_epoch()->own && area_attach();
}

static void
area_count(pg_atomic_uint64 *counter)
{
	pg_atomic_fetch_add_u64(counter, 1);
}

static void
entry_touch(Entry *entry)
{
	pg_atomic_write_u64(&entry->last_use_no, pg_atomic_add_fetch_u64(&shared->clock, 1));
}

bool
pfs_shared_has_room(Size bytes)
{
	return shared != NULL && bytes + BLOCK_BYTES <= area_bytes() / SHARE_DIVISOR;
}

/* --- borrowing copies --- */

static bool
is_of_epoch(const Entry *entry)
{
	const PfsEpoch *epoch = pfs_cache_epoch();

	/* Trees hold ids of locations only, so a change of names does not outdate them. */
	return entry->ids_epoch == epoch->ids && entry->removals_epoch == epoch->removals &&
		   (entry->key.number != PFS_SHARED_NAMES || entry->facts.names_epoch == epoch->names);
}

/*
 * Returns the entry of a key if it belongs to the epoch of the caches. The caller must hold the
 * lock.
 */
static Entry *
area_find_entry(const EntryKey *key)
{
	Entry *entry = hash_search(entries, key, HASH_FIND, NULL);

	return entry != NULL && is_of_epoch(entry) ? entry : NULL;
}

bool
pfs_shared_look(int32 number, PfsSharedFacts *facts)
{
	const Entry *entry;
	EntryKey key;

	if (!make_key(number, &key))
		return false;
	LWLockAcquire(lock, LW_SHARED);
	entry = area_find_entry(&key);
	if (entry != NULL)
		*facts = entry->facts;
	LWLockRelease(lock);
	return entry != NULL;
}

void *
pfs_shared_borrow(int32 number, PfsSharedFacts *facts)
{
	SharedBlock *block = NULL;
	EntryKey key;
	Entry *entry;

	if (!make_key(number, &key))
		return NULL;
	/* Before the lock: an error must leave neither the lock held nor a pin that is not listed. */
	PFS_RESERVE_IN(TopMemoryContext, pins, pin_capacity, (uint64) pin_count + 1);
	LWLockAcquire(lock, LW_SHARED);
	entry = area_find_entry(&key);
	if (entry != NULL)
	{
		block = dsa_get_address(area, entry->block);
		/*
		 * The shared lock suffices: removing an entry takes the exclusive one, so the block exists.
		 */
		pg_atomic_fetch_add_u32(&block->pins, 1);
		pins[pin_count++] = block;
		*facts = entry->facts;
		entry_touch(entry);
	}
	/* Numbers below 0 are names; the counters of shared_cache() are those of partitions. */
	if (number >= 0)
		area_count(entry != NULL ? &shared->copies : &shared->misses);
	LWLockRelease(lock);
	return block == NULL ? NULL : (char *) block + BLOCK_BYTES;
}

void
pfs_shared_release(void *thing)
{
	SharedBlock *block = (SharedBlock *) ((char *) thing - BLOCK_BYTES);
	uint32 at = 0;

	/* A session pins few copies, so a linear search suffices. */
	while (at < pin_count && pins[at] != block)
		at++;
	if (at == pin_count)
	{
		elog(WARNING, "a shared entry of the dictionary caches is released twice");
		return;
	}
	/* The pin leaves the list before it is released, so unpin_all() cannot release it again. */
	pins[at] = pins[--pin_count];
	area_unpin(block);
}

/* --- offering copies --- */

static void
area_refuse(void)
{
	area_count(&shared->clock);
	area_count(&shared->refusals);
}

/* Adds an entry to the counters, or subtracts it. The lock is held exclusively. */
static void
count_entry(const Entry *entry, int sign)
{
	shared->used_bytes += (Size) sign * entry->bytes;
	if (entry->key.number < 0)
		return;
	shared->tree_count += (uint64) sign;
	shared->node_count += (uint64) sign * entry->facts.count;
}

/* Removes an entry. The lock is held exclusively. */
static void
remove_entry(Entry *entry)
{
	SharedBlock *block = dsa_get_address(area, entry->block);

	count_entry(entry, -1);
	block->is_removed = true;
	/* Otherwise the last reader frees it. */
	if (pg_atomic_read_u32(&block->pins) == 0)
		dsa_free(area, entry->block);
	hash_search(entries, &entry->key, HASH_REMOVE, NULL);
}

/*
 * Evicts the least recently used entry, if its last use is long ago; returns false otherwise. The
 * lock is held exclusively.
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
	/*
	 * The oldest entry is still in use by the measure of USES_BEFORE_EVICTION, so the new copy is
	 * refused.
	 */
	if (oldest == NULL ||
		pg_atomic_read_u64(&shared->clock) - pg_atomic_read_u64(&oldest->last_use_no) <= uses)
		return false;
	remove_entry(oldest);
	area_count(&shared->evictions);
	return true;
}

/*
 * Allocates memory for a copy, evicting others if needed. Returns NULL if not enough can be
 * evicted. The caller must hold the lock exclusively.
 */
static SharedBlock *
area_allocate(Size bytes)
{
	dsa_pointer self;
	SharedBlock *block;

	do
		self = dsa_allocate_extended(area, bytes, DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM);
	/* An evicted copy that is pinned frees no memory yet, so more than one may have to go. */
	while (!DsaPointerIsValid(self) && evict_one());
	if (!DsaPointerIsValid(self))
		return NULL;
	block = dsa_get_address(area, self);
	pg_atomic_init_u32(&block->pins, 0);
	block->is_removed = false;
	block->self = self;
	return block;
}

/*
 * Returns true if the present entry need not be replaced. An entry of an older epoch serves only
 * older snapshots.
 */
static bool
may_stay(const Entry *entry, const PfsSharedOffer *offer)
{
	const PfsEpoch *epoch = pfs_cache_epoch();

	if (is_of_epoch(entry))
		return !offer->is_better(&offer->facts, &entry->facts);
	/* The present entry is of a newer epoch than the offer. */
	return epoch->ids < entry->ids_epoch || epoch->removals < entry->removals_epoch ||
		   offer->facts.names_epoch < entry->facts.names_epoch;
}

/* Returns the entry of a key in *entry; false if it should stay. The lock is held. */
static bool
may_replace(const EntryKey *key, const PfsSharedOffer *offer, Entry **entry)
{
	*entry = hash_search(entries, key, HASH_FIND, NULL);
	return *entry == NULL || !may_stay(*entry, offer);
}

/*
 * Allocates memory for an offer: next to the copy that it will replace, otherwise in the copy's
 * place. Returns NULL if there is no room, or the offer is not needed.
 */
static SharedBlock *
area_reserve(const EntryKey *key, const PfsSharedOffer *offer)
{
	SharedBlock *block = NULL;
	Entry *entry;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	if (may_replace(key, offer, &entry))
	{
		Size bytes = BLOCK_BYTES + offer->bytes;
		bool fits = pfs_shared_has_room(offer->bytes);

		block = fits ? area_allocate(bytes) : NULL;
		/* eviction may have removed the entry */
		entry = hash_search(entries, key, HASH_FIND, NULL);
		/* There is no room for both copies, so the old one goes first. */
		if (block == NULL && entry != NULL)
		{
			remove_entry(entry);
			block = fits ? area_allocate(bytes) : NULL;
		}
		if (block == NULL)
			area_refuse();
	}
	LWLockRelease(lock);
	return block;
}

/* Publishes a filled block under a key; returns false if another session was faster. */
static bool
area_publish(const EntryKey *key, const PfsSharedOffer *offer, const SharedBlock *block)
{
	Entry *entry;
	bool done;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	/* Another session may have published a copy while this one was filled. */
	done = may_replace(key, offer, &entry);
	if (done && entry != NULL)
		remove_entry(entry);
	/*
	 * The hash table in shared memory cannot grow: HASH_ENTER would raise an error under the lock.
	 */
	if (done && hash_get_num_entries(entries) >= entry_capacity() && !evict_one())
	{
		area_refuse();
		done = false;
	}
	if (done)
	{
		entry = hash_search(entries, key, HASH_ENTER, NULL);
		entry->ids_epoch = pfs_cache_epoch()->ids;
		entry->removals_epoch = pfs_cache_epoch()->removals;
		entry->facts = offer->facts;
		entry->bytes = BLOCK_BYTES + offer->bytes;
		entry->block = block->self;
		/* The entry's memory may have been another entry's. */
		pg_atomic_init_u64(&entry->last_use_no, 0);
		entry_touch(entry);
		count_entry(entry, 1);
	}
	else
		dsa_free(area, block->self);
	LWLockRelease(lock);
	return done;
}

bool
pfs_shared_put(const PfsSharedOffer *offer)
{
	EntryKey key;
	SharedBlock *block;

	if (!make_key(offer->number, &key))
		return false;
	block = area_reserve(&key, offer);
	if (block == NULL)
		return false;
	/* no other process knows the block, and no error or interrupt comes in between */
	offer->fill((char *) block + BLOCK_BYTES, offer->argument);
	return area_publish(&key, offer, block);
}

/* Setting up, in the postmaster */

static void
request_memory(void)
{
	if (previous_request_hook != NULL)
		previous_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(SharedArea)) + area_bytes());
	RequestAddinShmemSpace(hash_estimate_size(entry_capacity(), sizeof(Entry)));
	RequestNamedLWLockTranche(NAME, 1);
}

static void
make_area(void)
{
	dsa_area *made = dsa_create_in_place(area_place(), area_bytes(), lock->tranche, NULL);

	/* a copy that does not fit is not kept, so nothing depends on the size of /dev/shm */
	dsa_set_size_limit(made, area_bytes());
	/* The area lives as long as the postmaster, although no process is attached to it at first. */
	dsa_pin(made);
	dsa_detach(made);
	pg_atomic_init_u64(&shared->clock, 0);
	pg_atomic_init_u64(&shared->copies, 0);
	pg_atomic_init_u64(&shared->misses, 0);
	pg_atomic_init_u64(&shared->evictions, 0);
	pg_atomic_init_u64(&shared->refusals, 0);
	shared->used_bytes = 0;
	shared->tree_count = shared->node_count = 0;
}

static void
start_up(void)
{
	HASHCTL control = { .keysize = sizeof(EntryKey), .entrysize = sizeof(Entry) };
	bool found;

	if (previous_startup_hook != NULL)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct(NAME, MAXALIGN(sizeof(SharedArea)) + area_bytes(), &found);
	lock = &GetNamedLWLockTranche(NAME)->lock;
	entries = ShmemInitHash("profstore shared tree entries", entry_capacity(), entry_capacity(),
							&control, HASH_ELEM | HASH_BLOBS);
	/* With EXEC_BACKEND, and after a crash, other processes run this function, too. */
	if (!found)
		make_area();
	LWLockRelease(AddinShmemInitLock);
}

void
pfs_shared_area_init(void)
{
	DefineCustomIntVariable("profstore.shared_cache_size",
							"Sets how much of the stack dictionary sessions share in memory.",
							"Needs profstore in shared_preload_libraries. 0 turns it off.",
							&cache_size_mb, 64, 0, INT_MAX,
							process_shared_preload_libraries_in_progress ? PGC_POSTMASTER
																		 : PGC_SIGHUP,
							GUC_UNIT_MB, NULL, NULL, NULL);
	/* Shared memory can be requested only while the postmaster starts. */
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

	if (!area_attach())
		PG_RETURN_NULL();
	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "shared_cache must return a row");
	LWLockAcquire(lock, LW_SHARED);
	values[0] = Int64GetDatum((int64) shared->tree_count);
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
