/*
 * retention.c
 *		The steps of retention: summing a partition into a tier, removing segments, testing for
 *		empty tables.
 *
 * 1. Rows of a partition are added up by bucket, series and stack (store/compact/tier_sums.c), one
 *    window of time after another, and inserted into partitions of the tier.
 * 2. The same transaction removes the segments that were read. The number of rows read must equal
 *    the number that the directory has for these segments.
 * 3. A partition that is empty for every snapshot may be dropped.
 */
#include "profstore.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/partition.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "admin/compact.h"
#include "admin/partitions.h"
#include "base/distributed.h"
#include "base/progress.h"
#include "base/relations.h"
#include "select/range_partitions.h"
#include "select/tiers.h"
#include "store/compact/segment_retention.h"
#include "store/compact/tier_sums.h"
#include "store/segment/directory.h"
#include "store/segment/storage.h"
#include "store/write/write_buffer.h"
#include "tableam/table_am.h"

PG_FUNCTION_INFO_V1(profstore_move_to_tier);
PG_FUNCTION_INFO_V1(profstore_move_shard_to_tier);
PG_FUNCTION_INFO_V1(profstore_ensure_tier_partitions);
PG_FUNCTION_INFO_V1(profstore_remove_segments);
PG_FUNCTION_INFO_V1(profstore_is_vacated);

#define INSERT_ROWS 1000

/* The partitioned table of each of pfs_tiers. */
static const PfsPartitioned *const TIER_TABLES[PFS_TIER_COUNT] = { &pfs_partitioned_minute,
																   &pfs_partitioned_hour };

static const PfsTier *
find_tier(const char *name)
{
	for (int i = 0; i < PFS_TIER_COUNT; i++)
		if (strcmp(pfs_tiers[i].name, name) == 0)
			return &pfs_tiers[i];
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("tier \"%s\" does not exist", name),
			 errhint("Tiers are \"minute\" and \"hour\".")));
}

/*
 * Opens a table for the removal of segments, without waiting. Returns NULL, with a NOTICE, if its
 * lock or that of the directory is taken or the table has another access method. Both locks are
 * held until the transaction ends.
 */
static Relation
open_for_removal(Oid relation_id)
{
	Relation relation = pfs_open_or_skip(relation_id, ShareUpdateExclusiveLock);

	if (relation == NULL)
		return NULL;
	if (!pfs_is_profstore_table(relation))
	{
		ereport(NOTICE, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						 errmsg("skipping \"%s\": it is not a table of access method \"profstore\"",
								RelationGetRelationName(relation))));
		relation_close(relation, NoLock);
		return NULL;
	}
	pfs_require_local(relation_id, "take segments out of");
	if (!pfs_directory_try_lock())
	{
		pfs_report_skipped(psprintf("table \"%s\"", RelationGetRelationName(relation)),
						   "the lock of its directory is taken");
		relation_close(relation, NoLock);
		return NULL;
	}

	/*
	 * write this transaction's buffered rows as segments; otherwise the scan would read them, and
	 * the commit would store them once more
	 */
	pfs_write_buffer_flush(relation);
	if (pfs_write_buffer_image_bytes(pfs_storage_id(relation)) > 0)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
						errmsg("table \"%s\" has rows that are not written yet",
							   RelationGetRelationName(relation)),
						errhint("Commit first.")));
	return relation;
}

/* Returns the tier to which the table belongs; NULL for samples. */
static const PfsTier *
tier_of(Relation relation)
{
	Oid parent;

	if (!relation->rd_rel->relispartition)
		return NULL;
	parent = get_partition_parent(RelationGetRelid(relation), true);
	for (int i = 0; i < PFS_TIER_COUNT; i++)
		if (parent == pfs_relation_oid(pfs_tiers[i].table))
			return &pfs_tiers[i];
	return NULL;
}

static AttrNumber
table_find_column(Relation relation, const char *name)
{
	AttrNumber attnum = get_attnum(RelationGetRelid(relation), name);

	if (attnum == InvalidAttrNumber)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
						errmsg("table \"%s\" has no column \"%s\"",
							   RelationGetRelationName(relation), name)));
	return attnum;
}

/* Reads the ids of all series of instant types, whose values do not add up over time. */
static void
read_instant_series(PfsTierSpec *spec)
{
	MemoryContext caller = CurrentMemoryContext;
	int64 *ids;

	SPI_connect();
	if (SPI_execute("SELECT s.id FROM profstore.series AS s JOIN profstore.profile_types AS t "
					"ON t.id OPERATOR(pg_catalog.=) s.profile_type WHERE NOT t.delta ORDER BY s.id",
					true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list the series of instant types");
	spec->instant_count = (uint32) SPI_processed;
	ids = MemoryContextAllocHuge(caller, sizeof(int64) * (SPI_processed + 1));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool is_null;

		ids[i] =
			DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null));
	}
	spec->instant_series = ids;
	SPI_finish();
}

/* Inserts the sums into a partition of the tier, many rows at a time. */
static void
insert_sums(Relation table, const PfsTierRows *sums)
{
	TupleTableSlot *slots[INSERT_ROWS];
	AttrNumber time = table_find_column(table, "time");
	AttrNumber series = table_find_column(table, "series_id");
	AttrNumber stack = table_find_column(table, "stack_id");
	AttrNumber value = table_find_column(table, "value");
	int column_count = RelationGetNumberOfAttributes(table);
	int slot_count = (int) Min(sums->count, INSERT_ROWS);

	for (int i = 0; i < slot_count; i++)
		slots[i] = table_slot_create(table, NULL);
	for (uint64 done = 0; done < sums->count; done += (uint64) slot_count)
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < slot_count; i++)
			ExecClearTuple(slots[i]);
		for (int i = 0; i < slot_count && done + (uint64) i < sums->count; i++)
		{
			const PfsTierRow *row = &sums->rows[done + (uint64) i];

			/* All other columns are null. */
			memset(slots[i]->tts_isnull, true, (size_t) column_count);
			slots[i]->tts_values[time - 1] = TimestampTzGetDatum(row->bucket);
			slots[i]->tts_values[series - 1] = Int32GetDatum((int32) row->series);
			slots[i]->tts_values[stack - 1] = Int64GetDatum(row->stack);
			slots[i]->tts_values[value - 1] = Int64GetDatum(row->value);
			slots[i]->tts_isnull[time - 1] = slots[i]->tts_isnull[series - 1] = false;
			slots[i]->tts_isnull[stack - 1] = slots[i]->tts_isnull[value - 1] = false;
			ExecStoreVirtualTuple(slots[i]);
		}
		table_multi_insert(table, slots, (int) Min(sums->count - done, (uint64) slot_count),
						   GetCurrentCommandId(true), 0, NULL);
	}
	for (int i = 0; i < slot_count; i++)
		ExecDropSingleTupleTableSlot(slots[i]);
}

/*
 * Returns the width of a window of time: as many buckets as maintenance_work_mem has room for if
 * the rows are evenly distributed over time, and at most a day.
 */
static int64
choose_window(const PfsSegmentTotals *totals, int64 width)
{
	double rows_in_memory = (double) maintenance_work_mem * 1024 / PFS_TIER_ROW_BYTES;
	double span = (double) totals->time_max - (double) totals->time_min + (double) width;
	double buckets = rows_in_memory / ((double) totals->row_count * ((double) width / span));

	/* A window has at least one bucket, even if that needs more memory. */
	return (int64) Max(Min(buckets, (double) (USECS_PER_DAY / width)), 1) * width;
}

static int64
floor_to(int64 time, int64 width)
{
	int64 rest = time % width;

	/* Division rounds towards zero, but times before 2000 are negative. */
	return time - (rest < 0 ? rest + width : rest);
}

/*
 * Returns the leaf partition, within a shard of a tier, whose bounds contain the bucket. Raises an
 * error if there is none.
 */
static Oid
tier_shard_leaf(Oid shard, TimestampTz bucket)
{
	List *leaves = pfs_partitions_collect(NIL, shard, bucket, bucket + 1);

	if (list_length(leaves) != 1)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("shard \"%s\" has no partition for %s", get_rel_name(shard),
							   timestamptz_to_str(bucket)),
						errhint("Run profstore.apply_retention() on the coordinator.")));
	return linitial_oid(leaves);
}

/*
 * Sums all rows of the table that the active snapshot sees into the tier, or into a shard of it.
 * Returns the number of sums.
 */
static uint64
fill_tier(Relation source, const PfsTier *tier, Oid shard, const PfsTierSpec *spec,
		  const PfsSegmentTotals *totals)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore tier", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	int64 window = choose_window(totals, tier->width_us);
	int64 from = floor_to(totals->time_min, tier->width_us);
	uint64 read_count = 0;
	uint64 sum_count = 0;

	while (from <= totals->time_max)
	{
		/* The sums of a window go into one partition, so it ends with the day. */
		int64 to = Min(from + window, floor_to(from, USECS_PER_DAY) + USECS_PER_DAY);
		PfsTierRows sums;

		pfs_progress_set(PFS_PROGRESS_TIME_MIN, from);
		pfs_progress_set(PFS_PROGRESS_TIME_MAX, to - 1);
		sums = pfs_tier_sums(source, GetActiveSnapshot(), spec, from, to);

		if (sums.count > 0)
		{
			Oid leaf = OidIsValid(shard)
						   ? tier_shard_leaf(shard, from)
						   : pfs_ensure_partition(TIER_TABLES[tier - pfs_tiers], from);
			Relation table = table_open(leaf, RowExclusiveLock);

			insert_sums(table, &sums);
			table_close(table, NoLock);
		}
		read_count += sums.read_count;
		pfs_progress_add(PFS_PROGRESS_ROWS_DONE, (int64) sums.read_count);
		sum_count += sums.count;
		MemoryContextReset(context);
		from = to;
	}
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
	/* Otherwise rows would be removed that are in no sum. */
	if (read_count != totals->row_count)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("table \"%s\" has " UINT64_FORMAT " rows, but " UINT64_FORMAT " were read",
						RelationGetRelationName(source), totals->row_count, read_count),
				 errhint("Run profstore.verify() on the table.")));
	return sum_count;
}

static Datum
make_result(FunctionCallInfo fcinfo, const int64 *numbers, int count)
{
	TupleDesc descriptor;
	Datum values[3];
	bool nulls[3] = { false };

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	for (int i = 0; i < count; i++)
		values[i] = Int64GetDatum(numbers[i]);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

/*
 * Sums the rows of a table into a tier, or into a shard of it, and removes them. Sets the numbers
 * of segments, rows and sums. The caller has filled in the fields of spec that describe the source.
 *
 * The locks are taken before the snapshot. Rows that the snapshot sees are summed and removed in
 * one transaction; rows that are committed later stay for the next run. So each row counts once,
 * even after a crash.
 */
static void
retention_move_rows(Relation source, const PfsTier *tier, Oid shard, PfsTierSpec *spec,
					int64 *numbers)
{
	PfsSegmentTotals totals;

	spec->time = table_find_column(source, "time");
	spec->series = table_find_column(source, "series_id");
	spec->stack = table_find_column(source, "stack_id");
	spec->value = table_find_column(source, "value");
	spec->width_us = tier->width_us;

	PushActiveSnapshot(GetLatestSnapshot());
	totals = pfs_segment_totals(source, GetActiveSnapshot());
	if (totals.segment_count > 0 &&
		(TIMESTAMP_NOT_FINITE(totals.time_min) || TIMESTAMP_NOT_FINITE(totals.time_max)))
		ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
						errmsg("table \"%s\" has rows with an infinite time, which belong to no "
							   "bucket",
							   RelationGetRelationName(source)),
						errhint("Detach the table.")));
	if (totals.segment_count > 0)
	{
		pfs_progress_begin(RelationGetRelid(source));
		pfs_progress_set(PFS_PROGRESS_PHASE, PFS_PHASE_SUMMING);
		pfs_progress_set(PFS_PROGRESS_SEGMENTS_TOTAL, totals.segment_count);
		pfs_progress_set(PFS_PROGRESS_ROWS_TOTAL, (int64) totals.row_count);
		numbers[2] = (int64) fill_tier(source, tier, shard, spec, &totals);
		pfs_progress_set(PFS_PROGRESS_PHASE, PFS_PHASE_REMOVING);
		/* The snapshot is that of the sums, so exactly the summed segments are removed. */
		(void) pfs_remove_segments(source, GetActiveSnapshot(), PG_INT64_MAX);
		pfs_progress_end();
	}
	PopActiveSnapshot();
	numbers[0] = totals.segment_count;
	numbers[1] = (int64) totals.row_count;
}

/* move_to_tier(part regclass, tier text) -> segments, rows, sums; NULL if the table is locked */
PGDLLEXPORT Datum
profstore_move_to_tier(PG_FUNCTION_ARGS)
{
	const PfsTier *tier = find_tier(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	int64 result[3] = { 0 };
	PfsTierSpec spec = { 0 };
	const PfsTier *finer;
	Relation source;

	pfs_check_maintenance_transaction("profstore_internal.move_to_tier()");
	source = open_for_removal(PG_GETARG_OID(0));
	if (source == NULL)
		PG_RETURN_NULL();
	finer = tier_of(source);
	pfs_require_local(pfs_relation_oid(tier->table), "put sums into");
	/* pfs_tiers begins with the finest tier. */
	if (finer != NULL && finer >= tier)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("table \"%s\" is not finer than tier \"%s\"",
							   RelationGetRelationName(source), tier->name)));
	/* In a tier, negative stacks are numbers of scrapes. */
	spec.has_scrapes = finer != NULL;
	read_instant_series(&spec);
	retention_move_rows(source, tier, InvalidOid, &spec, result);
	relation_close(source, NoLock);
	return make_result(fcinfo, result, lengthof(result));
}

/*
 * move_shard_to_tier(part regclass, target regclass, tier text, is_tier bool, instant int4[]) ->
 * segments, rows, sums; NULL if the table is locked
 *
 * Like move_to_tier(), on a node: the coordinator says which shard of the tier gets the sums,
 * whether the part is a tier's, and which series, in ascending order, are of instant types.
 */
PGDLLEXPORT Datum
profstore_move_shard_to_tier(PG_FUNCTION_ARGS)
{
	const PfsTier *tier = find_tier(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	PfsTierSpec spec = { .has_scrapes = PG_GETARG_BOOL(3) };
	int64 result[3] = { 0 };
	Relation source;
	Datum *ids;
	int count;
	int64 *instant;

	pfs_check_maintenance_transaction("profstore_internal.move_shard_to_tier()");
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(4), INT4OID, sizeof(int32), true, TYPALIGN_INT, &ids,
					  NULL, &count);
	instant = palloc(sizeof(int64) * ((Size) count + 1));
	for (int i = 0; i < count; i++)
		instant[i] = DatumGetInt32(ids[i]);
	spec.instant_series = instant;
	spec.instant_count = (uint32) count;
	source = open_for_removal(PG_GETARG_OID(0));
	if (source == NULL)
		PG_RETURN_NULL();
	retention_move_rows(source, tier, PG_GETARG_OID(1), &spec, result);
	relation_close(source, NoLock);
	return make_result(fcinfo, result, lengthof(result));
}

/* Largest number of days that a partition of distributed samples may cover. */
#define MAX_PART_DAYS 400

/*
 * ensure_tier_partitions(tier text, from_ts timestamptz, to_ts timestamptz)
 */
PGDLLEXPORT Datum
profstore_ensure_tier_partitions(PG_FUNCTION_ARGS)
{
	const PfsTier *tier = find_tier(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	TimestampTz from = PG_GETARG_TIMESTAMPTZ(1);
	TimestampTz to = PG_GETARG_TIMESTAMPTZ(2);

	/* The difference of infinite times would overflow. */
	if (TIMESTAMP_NOT_FINITE(from) || TIMESTAMP_NOT_FINITE(to) ||
		(to - from) / USECS_PER_DAY > MAX_PART_DAYS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot make partitions of a tier for more than %d days", MAX_PART_DAYS)));
	for (TimestampTz time = from; time < to; time += USECS_PER_DAY)
		(void) pfs_ensure_partition(TIER_TABLES[tier - pfs_tiers], time);
	PG_RETURN_VOID();
}

/*
 * remove_segments(rel regclass, before timestamptz) -> segments, rows; NULL if the table is locked
 */
PGDLLEXPORT Datum
profstore_remove_segments(PG_FUNCTION_ARGS)
{
	TimestampTz before = PG_GETARG_TIMESTAMPTZ(1);
	int64 result[2];
	PfsSegmentTotals totals;
	Relation relation;

	pfs_check_maintenance_transaction("profstore_internal.remove_segments()");
	relation = open_for_removal(PG_GETARG_OID(0));
	if (relation == NULL)
		PG_RETURN_NULL();
	if (get_atttype(RelationGetRelid(relation), table_find_column(relation, "time")) !=
		TIMESTAMPTZOID)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("column \"time\" of table \"%s\" is not a timestamptz",
							   RelationGetRelationName(relation))));
	PushActiveSnapshot(GetLatestSnapshot());
	totals = pfs_remove_segments(relation, GetActiveSnapshot(), before);
	PopActiveSnapshot();
	relation_close(relation, NoLock);
	result[0] = totals.segment_count;
	result[1] = (int64) totals.row_count;
	return make_result(fcinfo, result, lengthof(result));
}

/*
 * is_vacated(rel regclass) -> bool, whether the table is empty for every snapshot or no longer
 * exists
 */
PGDLLEXPORT Datum
profstore_is_vacated(PG_FUNCTION_ARGS)
{
	Relation relation = try_relation_open(PG_GETARG_OID(0), AccessShareLock);
	bool vacated = true;

	if (relation != NULL)
	{
		vacated = pfs_is_profstore_table(relation) && pfs_is_vacated(relation);
		relation_close(relation, AccessShareLock);
	}
	PG_RETURN_BOOL(vacated);
}
