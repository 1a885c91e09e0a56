/*
 * tree_cache.c
 *		The trees that this backend has in memory.
 *
 * 1. The trees as a part of the caches: what is dropped when a call begins, a transaction ends, or
 *    the caches are emptied.
 * 2. Finding a tree, loading it if it is new, and bringing it up to date.
 * 3. Its shapes, which are made when they pay.
 * 4. Interning appends nodes to it.
 */
#include "profstore.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "dictionary/cache/cache.h"
#include "dictionary/cache/names.h"
#include "dictionary/tree/shared_trees.h"
#include "dictionary/tree/tree_cache.h"
#include "dictionary/tree/tree_chunks.h"
#include "dictionary/tree/tree_shape.h"

/* All trees of this backend, by partition. */
static HTAB *trees;
static dlist_head uses = DLIST_STATIC_INIT(uses); /* most recently used first */
static Size tree_bytes;							  /* memory of all trees */
static bool some_are_own; /* some trees may hold nodes of the running transaction */
static uint64 call;		  /* counts calls of pfs_dictionary_begin(); identifies the current one */

/* A stack without a shape costs a query about this many visited nodes, the length of its path. */
#define STACK_COST 16

/* Bytes of a shape, and of the node's place, per node. */
#define SHAPE_BYTES (4 * sizeof(uint32) + sizeof(int32) + sizeof(uint8))

static void
drop_tree(PfsTreeCache *cache)
{
	tree_bytes -= cache->bytes;
	pfs_shared_tree_release(cache);
	/* The list's node lies in the hash entry, which is removed last. */
	dlist_delete(&cache->use);
	MemoryContextDelete(cache->context);
	hash_search(trees, &cache->partition_id, HASH_REMOVE, NULL);
}

/* Updates the count of bytes for a tree that may have grown. */
static void
count_bytes(PfsTreeCache *cache)
{
	Size bytes = MemoryContextMemAllocated(cache->context, true);

	tree_bytes = tree_bytes - cache->bytes + bytes;
	cache->bytes = bytes;
}

/* Returns how many bytes trees may use beside the names. */
static Size
bytes_limit(void)
{
	/* Names may use half of the memory, and trees what the names leave. */
	return pfs_cache_bytes() - Min(pfs_names_bytes(), pfs_cache_bytes() / 2);
}

/*
 * Frees the least recently used trees until the others fit. Trees with nodes of this transaction
 * stay, because the snapshot may not see their chunks yet, and so do trees whose shapes are in use.
 */
static void
trees_evict(void)
{
	Size limit = bytes_limit();
	dlist_node *at = trees == NULL || dlist_is_empty(&uses) ? NULL : dlist_tail_node(&uses);

	while (tree_bytes > limit && at != NULL)
	{
		PfsTreeCache *cache = dlist_container(PfsTreeCache, use, at);

		/* Move on before the tree, and its list node, are freed. */
		at = dlist_has_prev(&uses, at) ? dlist_prev_node(&uses, at) : NULL;
		if (!cache->own && cache->held_by != call)
			drop_tree(cache);
	}
}

/* Releases the shapes that the last call used. */
static void
trees_begin_call(bool names_changed)
{
	call++;
	trees_evict();
}

static void
forget_trees(void)
{
	dlist_iter at;

	dlist_foreach(at, &uses)
		pfs_shared_tree_release(dlist_container(PfsTreeCache, use, at.cur));
	trees = NULL;
	tree_bytes = 0;
	dlist_init(&uses);
	some_are_own = false;
}

/* At the end of a transaction, marks its nodes as committed, or drops the trees that hold them. */
static void
end_own(bool has_committed)
{
	HASH_SEQ_STATUS status;
	PfsTreeCache *cache;

	/* Most transactions intern nothing. */
	if (!some_are_own)
		return;
	hash_seq_init(&status, trees);
	while ((cache = hash_seq_search(&status)) != NULL)
		if (cache->own && !has_committed)
			drop_tree(cache);
		else
			cache->own = false;
	some_are_own = false;
}

static void
trees_abort(void)
{
	end_own(false);
}

static void
trees_commit(void)
{
	end_own(true);
}

void
pfs_trees_init(void)
{
	static PfsCachePart part = { .begin = trees_begin_call,
								 .forget = forget_trees,
								 .abort = trees_abort,
								 .commit = trees_commit };

	pfs_cache_register(&part);
}

/* --- finding and loading --- */

static void
make_trees(void)
{
	HASHCTL control = { .keysize = sizeof(int32),
						.entrysize = sizeof(PfsTreeCache),
						.hcxt = pfs_cache_context() };

	trees =
		hash_create("profstore stack trees", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	/* The tests' module reads the list there. */
	*find_rendezvous_variable(PFS_CACHED_TREES) = &uses;
}

static void
offer_tree(PfsTreeCache *cache)
{
	if (pfs_shared_tree_offer(cache))
		cache->offered_by = call;
}

/* a transaction without an id has stored no nodes */
void
pfs_tree_refresh(PfsTreeCache *cache)
{
	some_are_own |= TransactionIdIsValid(GetTopTransactionIdIfAny());
	/* If an error ends the refresh, the next use drops the tree. */
	cache->changing = true;
	pfs_tree_load(cache);
	cache->changing = false;
	/* The refresh has replaced every borrowed array by an own one, so the pin is of no use. */
	if (!cache->shares_nodes && !cache->shares_places && !cache->shares_shape)
		pfs_shared_tree_release(cache);
	count_bytes(cache);
	offer_tree(cache);
}

/*
 * Returns true if a tree must be read again, because missing parents may exist by now. Trees whose
 * shapes are in use must stay.
 */
static bool
is_outdated(const PfsTreeCache *cache)
{
	return cache->orphans > 0 && !cache->own && cache->read_by != call;
}

/*
 * Returns true if a tree that an earlier call has put into shared memory can be read there, which
 * frees the session's own memory. A session that interns keeps its own tree, because it needs the
 * hash of children, which is not shared.
 */
static bool
can_share(PfsTreeCache *cache)
{
	if (cache->offered_by == 0 || cache->offered_by == call || cache->own || cache->slot_count > 0)
		return false;
	cache->offered_by = 0;
	return pfs_shared_tree_is_there(cache);
}

/* Finds the cached tree of a partition. Loads it and sets *loaded if it is new. */
static PfsTreeCache *
find_tree(int32 partition_id, bool *loaded)
{
	PfsTreeCache *cache;

	if (trees == NULL)
		make_trees();
	cache = hash_search(trees, &partition_id, HASH_FIND, NULL);
	/* changing is still set only if an error ended the last change. */
	if (cache != NULL && (cache->changing || is_outdated(cache) || can_share(cache)))
	{
		drop_tree(cache);
		cache = NULL;
	}
	*loaded = cache == NULL;
	if (*loaded)
	{
		MemoryContext context;

		trees_evict();
		/* The context comes first: if it cannot be created, no entry is left without one. */
		context = AllocSetContextCreate(pfs_cache_context(), "profstore stack tree",
										ALLOCSET_SMALL_SIZES);
		cache = hash_search(trees, &partition_id, HASH_ENTER, NULL);
		pfs_tree_init(cache, partition_id, context);
		dlist_push_head(&uses, &cache->use);
		cache->changing = true;
		cache->read_by = call;
		/* The refresh then reads only the chunks that came after the copy. */
		pfs_shared_tree_borrow(cache);
		pfs_tree_refresh(cache);
	}
	else
	{
		count_bytes(cache);
		dlist_move_head(&uses, &cache->use);
	}
	return cache;
}

PfsTreeCache *
pfs_tree_cached(int32 partition_id)
{
	bool loaded;

	return find_tree(partition_id, &loaded);
}

const PfsTree *
pfs_tree_get(int32 partition_id)
{
	bool loaded;
	PfsTreeCache *cache = find_tree(partition_id, &loaded);

	if (!loaded)
		pfs_tree_refresh(cache);
	return &cache->tree;
}

/* Returns the cache entry that contains a tree, see find_tree(). */
static PfsTreeCache *
cache_of(const PfsTree *tree)
{
	return (PfsTreeCache *) (unconstify(char *, (const char *) tree) -
							 offsetof(PfsTreeCache, tree));
}

uint32
pfs_tree_find(const PfsTree *tree, int64 stack_id, uint32 from)
{
	return pfs_tree_search_from(cache_of(tree), from, stack_id);
}

/* --- shapes --- */

uint32
pfs_tree_shapes(const PfsTree *tree, const uint32 *indexes, uint32 count)
{
	PfsTreeCache *cache = cache_of(tree);
	bool is_held = cache->held_by == call;
	uint32 lacking = tree->node_count - cache->placed_count;

	if (lacking > 0)
		for (uint32 i = 0; i < count; i++)
			/* Every stack without a place makes the shape more worthwhile. */
			if (indexes[i] >= cache->first_unplaced &&
				(cache->places == NULL || cache->shape_of[indexes[i]] == PFS_NO_SHAPE))
				cache->shape_debt += STACK_COST;
	/* Shapes in use must not be replaced, so a tree held by this call waits for the next. */
	if (cache->shape_debt > lacking && lacking > 0 && !is_held &&
		tree_bytes + lacking * SHAPE_BYTES <= bytes_limit())
	{
		pfs_tree_shapes_extend(cache);
		cache->shape_debt = 0;
		count_bytes(cache);
		offer_tree(cache);
	}
	/* The caller then makes shapes of its own, and the tree may be evicted. */
	if (tree_bytes > bytes_limit() && !is_held)
		return 0;
	if (cache->shape_count > 0)
		cache->held_by = call;
	return cache->shape_count;
}

PfsTreeShape
pfs_tree_shape(const PfsTree *tree, uint32 number)
{
	return cache_of(tree)->shapes[number];
}

uint8
pfs_tree_place(const PfsTree *tree, uint32 index, uint32 *place)
{
	const PfsTreeCache *cache = cache_of(tree);

	*place = cache->places[index];
	return cache->shape_of[index];
}

/* --- adding nodes --- */

void
pfs_tree_begin_append(PfsTreeCache *cache)
{
	PreventCommandIfReadOnly("profstore.intern_stacks()");
	cache->changing = true;
	cache->own = true;
	some_are_own = true;
}

void
pfs_tree_end_append(PfsTreeCache *cache, uint32 first)
{
	pfs_tree_store(cache, first);
	cache->changing = false;
}
