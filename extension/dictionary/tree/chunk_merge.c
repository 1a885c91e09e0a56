/*
 * chunk_merge.c
 *		Compaction of the stack tree.
 *
 * 1. One pass over the rows lists the small chunks of transactions that have ended for all
 *    snapshots: those before the horizon of a snapshot taken under the lock. Younger ones wait for
 *    the next call, see chunk_rows.h.
 * 2. In each partition the smallest chunks are taken, as long as the next one is not much larger
 *    than all before it together. So a node is rewritten only into a chunk of twice the size.
 * 3. Their nodes, sorted, become a chunk whose xid is that of the youngest.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "dictionary/cache/cache.h"
#include "dictionary/tree/chunk_format.h"
#include "dictionary/tree/chunk_merge.h"
#include "dictionary/tree/chunk_rows.h"

PG_FUNCTION_INFO_V1(profstore_begin_dictionary_upkeep);

/* Fewer chunks are not worth a merge, and larger ones are left alone. */
#define MIN_INPUTS	8
#define SMALL_NODES (PFS_CHUNK_MAX_NODES / 2)

typedef struct Candidate
{
	int32 partition_id;
	int32 node_count;
	uint64 xid;
	ItemPointerData tid;
} Candidate;

typedef struct Candidates
{
	Candidate *items;
	uint32 count;
	uint32 capacity;
} Candidates;

typedef struct MergedNode
{
	int64 number;
	int64 parent;
	int32 location;
} MergedNode;

/*
 * Takes SHARE UPDATE EXCLUSIVE on profstore.dictionary_partitions until the transaction ends: all
 * code that moves or removes rows of the dictionary holds it. Returns false, without waiting, if
 * another transaction has it.
 */
static bool
dictionary_begin_upkeep(void)
{
	if (ConditionalLockRelationOid(pfs_relation_oid("dictionary_partitions"),
								   ShareUpdateExclusiveLock))
		return true;
	pfs_report_skipped("the dictionary", "another transaction compacts or collects it");
	return false;
}

static void
merge_list_candidate(Candidates *candidates, const PfsStoredChunk *chunk, ItemPointer tid)
{
	PFS_RESERVE(candidates->items, candidates->capacity, candidates->count + 1);
	candidates->items[candidates->count++] =
		(Candidate){ chunk->row.partition_id, chunk->row.node_count, chunk->xid, *tid };
}

static int
merge_compare_candidates(const void *a, const void *b)
{
	const Candidate *left = a;
	const Candidate *right = b;

	if (left->partition_id != right->partition_id)
		return left->partition_id < right->partition_id ? -1 : 1;
	return (left->node_count > right->node_count) - (left->node_count < right->node_count);
}

/* Lists the small chunks before the horizon, by partition and size. */
static Candidates
find_candidates(Relation table, Snapshot snapshot)
{
	uint64 horizon = pfs_chunk_horizon(snapshot);
	Candidates candidates = { 0 };
	SysScanDesc scan = systable_beginscan(table, InvalidOid, false, snapshot, 0, NULL);
	HeapTuple tuple;

	while ((tuple = systable_getnext(scan)) != NULL)
	{
		PfsStoredChunk chunk;

		CHECK_FOR_INTERRUPTS();
		pfs_stored_chunk_read(tuple, RelationGetDescr(table), &chunk);
		/*
		 * Readers take every chunk below their horizon as read, so a younger one must keep its own
		 * xid.
		 */
		if (chunk.row.node_count < SMALL_NODES && chunk.xid < horizon)
			merge_list_candidate(&candidates, &chunk, &tuple->t_self);
	}
	systable_endscan(scan);
	qsort(candidates.items, candidates.count, sizeof(Candidate), merge_compare_candidates);
	return candidates;
}

/* Returns how many of a partition's chunks, sorted by size, become one. */
static uint32
merge_choose(const Candidate *chunks, uint32 count)
{
	int64 node_count = 0;
	uint32 chosen = 0;

	while (chosen < count && node_count + chunks[chosen].node_count <= PFS_CHUNK_MAX_NODES &&
		   /*
		    * The first inputs are taken whatever their sizes, so that many tiny chunks always
		    * merge.
		    */
		   (chosen < MIN_INPUTS || chunks[chosen].node_count <= 2 * node_count))
		node_count += chunks[chosen++].node_count;
	return chosen < MIN_INPUTS ? 0 : chosen;
}

static int
compare_nodes(const void *a, const void *b)
{
	int64 left = ((const MergedNode *) a)->number;
	int64 right = ((const MergedNode *) b)->number;

	return (left > right) - (left < right);
}

/* Returns the position of a number among sorted nodes; count if it is missing. */
static uint32
merge_find_node(const MergedNode *nodes, uint32 count, int64 number)
{
	MergedNode key = { .number = number };
	const MergedNode *found = bsearch(&key, nodes, count, sizeof(MergedNode), compare_nodes);

	return found == NULL ? count : (uint32) (found - nodes);
}

/* Reads a chunk's nodes, and deletes its row. */
static void
take_chunk(Relation table, Snapshot snapshot, const Candidate *candidate, PfsChunkNodes *nodes)
{
	HeapTupleData tuple = { .t_self = candidate->tid };
	PfsStoredChunk chunk;
	Buffer buffer;

	if (!pfs_heap_fetch(table, snapshot, &tuple, &buffer))
		elog(ERROR, "could not find a chunk of dictionary partition %d again",
			 candidate->partition_id);
	pfs_stored_chunk_read(&tuple, RelationGetDescr(table), &chunk);
	/* The lock on the table excludes rewrites, so the address must hold. */
	if (chunk.row.partition_id != candidate->partition_id || chunk.xid != candidate->xid)
		elog(ERROR, "a chunk of dictionary partition %d is not where it was read",
			 candidate->partition_id);
	pfs_stored_chunk_decode(&chunk, nodes);
	ReleaseBuffer(buffer);
	/* Another transaction cannot have deleted it: all code that does holds the lock of upkeep. */
	CatalogTupleDelete(table, &tuple.t_self);
}

/* Stores merged nodes as one chunk; the distance of a parent inside the chunk replaces a search. */
static void
store_merged(Relation table, int32 partition_id, uint64 xid, const MergedNode *nodes, uint32 count)
{
	PfsChunkNodes chunk = { 0 };

	pfs_chunk_nodes_reserve(&chunk, count);
	chunk.node_count = count;
	for (uint32 i = 0; i < count; i++)
	{
		/* A parent has a smaller number, so it is searched among the nodes before. */
		uint32 parent = merge_find_node(nodes, i, nodes[i].parent);

		chunk.numbers[i] = nodes[i].number;
		chunk.parents[i] = nodes[i].parent;
		chunk.distances[i] = parent < i ? i - parent : 0;
		chunk.locations[i] = nodes[i].location;
	}
	pfs_stored_chunk_insert(table, partition_id, xid, &chunk);
}

/*
 * Replaces chunks of one partition by new ones with all their nodes, which get the latest xid of
 * the chunks.
 */
static void
merge_chunks(Relation table, Snapshot snapshot, const Candidate *chunks, uint32 count)
{
	MergedNode *nodes = palloc(PFS_CHUNK_MAX_NODES * sizeof(MergedNode));
	PfsChunkNodes input = { 0 };
	uint32 node_count = 0;
	uint64 xid = 0;

	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		take_chunk(table, snapshot, &chunks[i], &input);
		/*
		 * Readers whose horizon lies between the inputs read the merged chunk, and skip the nodes
		 * that they have.
		 */
		xid = Max(xid, chunks[i].xid);
		for (uint32 j = 0; j < input.node_count; j++)
			nodes[node_count++] =
				(MergedNode){ input.numbers[j], input.parents[j], input.locations[j] };
	}
	qsort(nodes, node_count, sizeof(MergedNode), compare_nodes);
	store_merged(table, chunks[0].partition_id, xid, nodes, node_count);
}

/*
 * Merges chunks of up to max_partitions partitions that have some to merge. Candidates are sorted
 * by partition. Returns the number of merged chunks.
 */
static int64
merge_partitions(Relation table, Snapshot snapshot, uint32 max_partitions)
{
	Candidates candidates = find_candidates(table, snapshot);
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "profstore chunk merge",
												  ALLOCSET_DEFAULT_SIZES);
	uint32 partition_count = 0;
	int64 merged = 0;
	uint32 next;

	for (uint32 first = 0; first < candidates.count && partition_count < max_partitions;
		 first = next)
	{
		const Candidate *chunks = candidates.items + first;
		uint32 chosen;

		/* Candidates of a partition are neighbours. */
		next = first;
		while (next < candidates.count &&
			   candidates.items[next].partition_id == chunks->partition_id)
			next++;
		chosen = merge_choose(chunks, next - first);
		if (chosen > 0)
		{
			MemoryContext caller = MemoryContextSwitchTo(scratch);

			merge_chunks(table, snapshot, chunks, chosen);
			MemoryContextSwitchTo(caller);
			MemoryContextReset(scratch);
			merged += chosen;
			partition_count++;
		}
	}
	MemoryContextDelete(scratch);
	if (candidates.items != NULL)
		pfree(candidates.items);
	return merged;
}

int64
pfs_chunks_merge(uint32 max_partitions)
{
	Relation table;
	Snapshot snapshot;
	int64 merged;

	if (!dictionary_begin_upkeep())
		return 0;
	if (!pfs_lock_or_skip(pfs_relation_oid("stack_chunks"), RowExclusiveLock, "the dictionary"))
		return 0;
	table = pfs_table_open("stack_chunks", NoLock);
	/* After the lock, so that a merge that has just committed is seen. */
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	PushActiveSnapshot(snapshot);
	merged = merge_partitions(table, snapshot, max_partitions);
	PopActiveSnapshot();
	UnregisterSnapshot(snapshot);
	table_close(table, NoLock);
	CommandCounterIncrement();
	return merged;
}

PGDLLEXPORT Datum
profstore_begin_dictionary_upkeep(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(dictionary_begin_upkeep());
}
