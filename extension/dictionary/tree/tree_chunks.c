/*
 * tree_chunks.c
 *		Reads new rows of a tree from profstore.stack_chunks, and stores added nodes there.
 *
 * Reading takes only chunks of transactions that may have been in progress at the last read. The
 * horizon is the xmin of the snapshot of that read: every transaction before it had ended, so its
 * chunks were all visible, or never will be. This holds for any order of commits, and on a standby,
 * whose snapshots have such an xmin, too. Chunks that were read before are recognized by their
 * first node, except merged ones, which are read once, see load_row().
 *
 * A chunk's nodes may have parents in a chunk that is read later, because its writer may have begun
 * earlier. So parents outside a chunk are looked up when all chunks have been read and settled. The
 * child's writer saw its parents committed, so a snapshot that sees the child sees them.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/xid8.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "dictionary/cache/doubts.h"
#include "dictionary/tree/chunk_format.h"
#include "dictionary/tree/chunk_rows.h"
#include "dictionary/tree/tree_chunks.h"
#include "dictionary/tree/tree_settle.h"

#define NODE_NUMBER_MASK ((INT64CONST(1) << PFS_NODE_BITS) - 1)

/* --- loading --- */

/* A node whose parent is not in its chunk. */
typedef struct External
{
	uint32 index;
	int64 parent; /* node number */
} External;

/* State of a refresh, before it settles the tree. */
typedef struct Loading
{
	PfsTreeCache *cache;
	uint32 known;		 /* number of nodes before the refresh */
	uint64 horizon;		 /* horizon of the snapshot */
	PfsChunkNodes nodes; /* nodes of one chunk */
	uint32 *indexes;	 /* their positions in the tree */
	uint32 index_capacity;
	External *externals;
	uint32 external_count;
	uint32 external_capacity;
} Loading;

static void
add_external(Loading *loading, uint32 index, int64 parent)
{
	PFS_RESERVE(loading->externals, loading->external_capacity, loading->external_count + 1);
	loading->externals[loading->external_count++] = (External){ index, parent };
}

/* Appends the nodes of a chunk that the tree lacks. */
static void
append_nodes(Loading *loading, int32 partition_id)
{
	PfsTreeCache *cache = loading->cache;
	const PfsChunkNodes *nodes = &loading->nodes;
	int64 partition = (int64) partition_id << PFS_NODE_BITS;
	/*
	 * Nodes appended by this refresh are not sorted yet, so only those before it can be searched.
	 */
	int64 last_known = cache->ids == NULL ? 0 : cache->ids[loading->known];

	PFS_RESERVE(loading->indexes, loading->index_capacity, nodes->node_count);
	for (uint32 i = 0; i < nodes->node_count; i++)
	{
		int64 id = partition | nodes->numbers[i];
		/* Most new nodes have ids beyond all known ones and need no search. */
		uint32 index = id <= last_known ? pfs_tree_search(cache, loading->known, id) : 0;

		if (index == 0)
		{
			index = pfs_tree_append(cache, id, 0, nodes->locations[i]);
			if (nodes->distances[i] != 0)
				/* The parent comes before its child in the chunk, so its index is known. */
				cache->parents[index] = loading->indexes[i - nodes->distances[i]];
			else if (nodes->parents[i] != 0)
				add_external(loading, index, partition | nodes->parents[i]);
		}
		loading->indexes[i] = index;
	}
}

/* Appends the nodes of a chunk to the cache, unless they were loaded before. */
static void
load_row(Loading *loading, HeapTuple tuple, TupleDesc descriptor)
{
	PfsTreeCache *cache = loading->cache;
	PfsStoredChunk chunk;

	pfs_stored_chunk_read(tuple, descriptor, &chunk);

	/*
	 * a merged chunk lies before the horizon, but some of the chunks from which it was merged may
	 * not have been read
	 */
	if (chunk.xid >= loading->horizon &&
		pfs_tree_search(cache, loading->known,
						(int64) chunk.row.partition_id << PFS_NODE_BITS | chunk.row.first_node) !=
			0)
		return;
	/* Nodes of this transaction must be dropped if it aborts. */
	if (chunk.xid == U64FromFullTransactionId(GetTopFullTransactionIdIfAny()))
		cache->own = true;
	pfs_stored_chunk_decode(&chunk, &loading->nodes);
	append_nodes(loading, chunk.row.partition_id);
}

/*
 * Gives nodes without parents a placeholder as parent. The placeholder gets the first index, so all
 * other nodes move by one place.
 */
static void
chunk_adopt(PfsTreeCache *cache, const uint32 *orphans, uint32 count)
{
	int64 id = (int64) cache->partition_id << PFS_NODE_BITS;
	uint32 shift = cache->orphans == 0;
	uint32 *moved_to;

	if (count == 0)
		return;
	pfs_doubt(PFS_DOUBT_PARENTS, count);
	/*
	 * The placeholder's id is the partition's with number 0, which no node has, so it sorts before
	 * all others.
	 */
	if (cache->orphans == 0)
	{
		pfs_tree_append(cache, id, 0, PFS_NO_STACK_LOCATION);
		pfs_tree_settle(cache, cache->tree.node_count, &moved_to);
	}
	for (uint32 i = 0; i < count; i++)
		/* The placeholder has index 1. */
		cache->parents[orphans[i] + shift] = 1;
	cache->orphans += count;
}

/* Sets the parents of nodes whose parents are in other chunks. */
static void
resolve_externals(const Loading *loading, uint32 start, const uint32 *moved_to)
{
	PfsTreeCache *cache = loading->cache;
	uint32 *orphans = PFS_ARRAY(uint32, loading->external_count);
	uint32 count = 0;

	for (uint32 i = 0; i < loading->external_count; i++)
	{
		External external = loading->externals[i];
		/* Settling has moved the nodes from start on. */
		uint32 index = moved_to == NULL ? external.index : moved_to[external.index - start];
		uint32 parent = pfs_tree_search(cache, cache->tree.node_count, external.parent);

		if (parent == 0)
			orphans[count++] = index;
		else
			cache->parents[index] = parent;
	}
	chunk_adopt(cache, orphans, count);
	pfree(orphans);
}

/* Loads the chunks of the partition that are not older than the horizon. */
static void
read_chunks(Loading *loading, Snapshot snapshot)
{
	PfsTreeCache *cache = loading->cache;
	Relation table = pfs_table_open("stack_chunks", AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&keys[0], PFS_CHUNK_PARTITION_ID, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(cache->partition_id));
	ScanKeyInit(&keys[1], PFS_CHUNK_XID, BTGreaterEqualStrategyNumber, F_XID8GE,
				FullTransactionIdGetDatum(FullTransactionIdFromU64(cache->horizon)));
	scan = systable_beginscan(table, pfs_relation_oid("stack_chunks_partition"), true, snapshot, 2,
							  keys);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		load_row(loading, tuple, RelationGetDescr(table));
	}
	systable_endscan(scan);
	table_close(table, NoLock);
}

void
pfs_tree_load(PfsTreeCache *cache)
{
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "profstore stack tree loading",
							  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(scratch);
	Snapshot snapshot = GetActiveSnapshot();
	Loading loading = { .cache = cache,
						.known = cache->tree.node_count,
						.horizon = pfs_chunk_horizon(snapshot) };
	uint32 start;
	uint32 *moved_to;

	read_chunks(&loading, snapshot);
	if (cache->tree.node_count > loading.known)
	{
		start = pfs_tree_settle(cache, loading.known + 1, &moved_to);
		resolve_externals(&loading, start, moved_to);
	}
	/* An older snapshot must not make the tree read chunks twice that it has. */
	cache->horizon = Max(cache->horizon, loading.horizon);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(scratch);
}

/* --- storing --- */

static void
tree_store_chunk(PfsTreeCache *cache, Relation table, uint32 first, uint32 node_count,
				 PfsChunkNodes *nodes)
{
	nodes->node_count = node_count;
	for (uint32 i = 0; i < node_count; i++)
	{
		uint32 parent = cache->parents[first + i];

		nodes->numbers[i] = cache->ids[first + i] & NODE_NUMBER_MASK;
		nodes->parents[i] = cache->ids[parent] & NODE_NUMBER_MASK;
		/* A parent before first is in another chunk. */
		nodes->distances[i] = parent >= first ? first + i - parent : 0;
		nodes->locations[i] = cache->locations[first + i];
	}
	pfs_stored_chunk_insert(table, cache->partition_id,
							U64FromFullTransactionId(GetTopFullTransactionId()), nodes);
}

void
pfs_tree_store(PfsTreeCache *cache, uint32 first)
{
	Relation table = pfs_table_open("stack_chunks", RowExclusiveLock);
	PfsChunkNodes nodes = { 0 };
	uint32 *moved_to;

	pfs_chunk_nodes_reserve(&nodes, Min(cache->tree.node_count - first + 1, PFS_CHUNK_MAX_NODES));
	for (uint32 at = first; at <= cache->tree.node_count; at += PFS_CHUNK_MAX_NODES)
		tree_store_chunk(cache, table, at,
						 Min(cache->tree.node_count - at + 1, PFS_CHUNK_MAX_NODES), &nodes);
	table_close(table, NoLock);

	/*
	 * Node numbers come from blocks of 64 per backend, so new ids may lie between older ones of
	 * other backends.
	 */
	pfs_tree_settle(cache, first, &moved_to);
	if (moved_to != NULL)
		pfree(moved_to);
}
