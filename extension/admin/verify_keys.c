/*
 * verify_keys.c
 *		Collects the ids of a segment in sets, and looks them up in the dictionary when the segment
 *		ends.
 */
#include "admin/verify_keys.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/partition.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "base/series_table.h"
#include "dictionary/cache/dictionary.h"
#include "select/tiers.h"

#define SETS 2

/* Keys of the sets: (kind, id). */
enum
{
	SERIES,
	STACK
};

typedef struct Keys
{
	PfsKeyCheck check;
	bool is_tier;
	pfs_series_table_hash *known_series;
	MemoryContext context; /* memory of one segment's sets */
	pfs_series_table_hash *met;
	int64 last[SETS]; /* the latest id of each kind, which most often is the next one, too */
} Keys;

/* Ids of one kind that are missing from the dictionary: their number, and the lowest. */
typedef struct Unknown
{
	uint64 count;
	int64 least;
} Unknown;

static void
begin_segment(void *arg)
{
	Keys *keys = arg;

	MemoryContextReset(keys->context);
	keys->met = pfs_series_table_create(keys->context, PFS_SERIES_TABLE_INITIAL, NULL);
	keys->last[SERIES] = PG_INT64_MIN; /* not the id of any series */
	keys->last[STACK] = 0;			   /* the empty stack, which always exists */
}

static void
key_meet(Keys *keys, int32 kind, int64 id)
{
	bool found;

	/* Neighbouring rows often have equal ids, which saves the lookup. */
	if (keys->last[kind] == id)
		return;
	keys->last[kind] = id;
	pfs_series_table_get(keys->met, kind, id, &found);
}

/*
 * Adds the ids of a block to the sets. Negative stacks are scrapes of tiers, not stacks, and are
 * skipped.
 */
static void
take_block(void *arg, const int64 *series, const int64 *stacks, uint32 count)
{
	Keys *keys = arg;

	for (uint32 row = 0; row < count; row++)
	{
		key_meet(keys, SERIES, series[row]);
		if (stacks[row] >= 0 || !keys->is_tier)
			key_meet(keys, STACK, stacks[row]);
	}
}

/*
 * Returns whether the dictionary has the id. *tree caches the tree of the previous id's partition;
 * NULL at first.
 */
static bool
key_is_known(const Keys *keys, int32 kind, int64 id, const PfsTree **tree)
{
	const PfsSeriesKey series = { id, 0 };

	if (kind == SERIES)
		return pfs_series_table_lookup(keys->known_series, series) != NULL;
	/* The empty stack has no node. */
	if (id == 0)
		return true;
	/* Ids come in ascending order, so each tree is loaded once. */
	if (*tree == NULL || (*tree)->partition_id != pfs_stack_partition(id))
		*tree = pfs_tree_get(pfs_stack_partition(id));
	return pfs_tree_find(*tree, id, 0) != 0;
}

/*
 * Returns the missing ids of one kind. Looks them up in ascending order, so that each partition of
 * the dictionary is read only once.
 */
static Unknown
find_unknown(const Keys *keys, int32 kind)
{
	int64 *ids = PFS_ARRAY(int64, keys->met->members);
	uint32 count = 0;
	Unknown unknown = { 0, 0 };
	const PfsTree *tree = NULL;
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *entry;

	pfs_series_table_start_iterate(keys->met, &iterator);
	while ((entry = pfs_series_table_iterate(keys->met, &iterator)) != NULL)
		if (entry->key.series == kind)
			ids[count++] = entry->key.id;
	qsort(ids, count, sizeof(int64), pfs_compare_int64);
	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (key_is_known(keys, kind, ids[i], &tree))
			continue;
		if (unknown.count++ == 0)
			unknown.least = ids[i];
	}
	pfree(ids);
	return unknown;
}

static void
append_problem(StringInfo problem, const Unknown *unknown, const char *what)
{
	if (unknown->count == 0)
		return;
	appendStringInfo(problem,
					 "%s%s that are not in the dictionary: " UINT64_FORMAT
					 ", the least id is " INT64_FORMAT,
					 problem->len > 0 ? "; " : "", what, unknown->count, unknown->least);
}

static const char *
describe_unknown(void *arg)
{
	Keys *keys = arg;
	Unknown series = find_unknown(keys, SERIES);
	Unknown stacks = find_unknown(keys, STACK);
	StringInfoData problem;

	initStringInfo(&problem);
	append_problem(&problem, &series, "series");
	append_problem(&problem, &stacks, "stacks");
	return problem.len == 0 ? NULL : problem.data;
}

/*
 * Reads the ids of all series, including those that row policies hide from the caller: verify()
 * reveals only which ids do not exist.
 */
static pfs_series_table_hash *
keys_read_series(void)
{
	pfs_series_table_hash *ids =
		pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	Relation table = pfs_table_open("series", AccessShareLock);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	TableScanDesc scan = table_beginscan(table, GetActiveSnapshot(), 0, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool is_null;
		bool found;

		pfs_series_table_get(ids, 0, DatumGetInt32(slot_getattr(slot, 1, &is_null)), &found);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	table_close(table, NoLock);
	return ids;
}

static bool
is_part_of(Relation relation, const char *name)
{
	return relation->rd_rel->relispartition &&
		   get_partition_parent(RelationGetRelid(relation), true) == pfs_relation_oid(name);
}

const PfsKeyCheck *
pfs_verify_keys(Relation relation)
{
	bool is_tier = false;
	Keys *keys;

	for (int i = 0; i < PFS_TIER_COUNT; i++)
		is_tier |= is_part_of(relation, pfs_tiers[i].table);
	/* Other tables may contain any ids. */
	if (!is_tier && !is_part_of(relation, "samples"))
		return NULL;
	pfs_dictionary_require_whole();
	pfs_dictionary_begin();
	keys = palloc0(sizeof(Keys));
	keys->check = (PfsKeyCheck){ keys, begin_segment, take_block, describe_unknown };
	keys->is_tier = is_tier;
	keys->known_series = keys_read_series();
	keys->context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore keys", ALLOCSET_DEFAULT_SIZES);
	return &keys->check;
}
