/*
 * partitions.c
 *		ensure_partitions(): creates missing partitions of samples, one per UTC day; also those
 *		of tiers and traces.
 *
 * If the partition exists, the call reads the relation cache and takes no lock. Otherwise it
 * creates a separate table and attaches it, which needs SHARE UPDATE EXCLUSIVE on the parent:
 * neither COPY nor queries wait for that lock. It is taken first and so excludes concurrent
 * callers, each of which looks for the partition again once it has the lock.
 */
#include "admin/partitions.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "admin/bounded_waits.h"
#include "base/relations.h"

PG_FUNCTION_INFO_V1(profstore_ensure_partitions);
PG_FUNCTION_INFO_V1(profstore_ensure_trace_partitions);

/*
 * Limits of the days per call, and of the days in the future: a mistaken year must not create a
 * million tables.
 */
#define MAX_DAYS		366
#define MAX_FUTURE_DAYS 7

static const PfsPartitioned partitioned_samples = { .name = "samples", .comment = "samples" };
const PfsPartitioned pfs_partitioned_minute = { .name = "samples_minute",
												.comment = "sums by the minute" };
const PfsPartitioned pfs_partitioned_hour = { .name = "samples_hour",
											  .comment = "sums by the hour",
											  .by_month = true };
static const PfsPartitioned partitioned_traces = { .name = "trace_samples",
												   .comment = "samples of traces",
												   .of_traces = true };

/*
 * A UTC day or month as text: the name of the partition, samples_YYYYMMDD or …_YYYYMM, and its
 * bounds, YYYY-MM-DD.
 */
typedef struct Period
{
	char name[NAMEDATALEN];
	char begin[16];
	char end[16];
	char said[16]; /* for messages: YYYY-MM-DD or YYYY-MM */
} Period;

static void
print_date(char *text, size_t size, int year, int month, int day)
{
	snprintf(text, size, "%04d-%02d-%02d", year, month, day);
}

/* Returns the period of a day, numbered as in type date. */
static Period
make_period(const PfsPartitioned *table, int64 day)
{
	Period result;
	int year;
	int month;
	int day_of_month;

	j2date((int) (day + POSTGRES_EPOCH_JDATE), &year, &month, &day_of_month);
	if (table->by_month)
	{
		snprintf(result.name, sizeof(result.name), "%s_%04d%02d", table->name, year, month);
		snprintf(result.said, sizeof(result.said), "%04d-%02d", year, month);
		print_date(result.begin, sizeof(result.begin), year, month, 1);
		print_date(result.end, sizeof(result.end), month == 12 ? year + 1 : year, month % 12 + 1,
				   1);
		return result;
	}
	snprintf(result.name, sizeof(result.name), "%s_%04d%02d%02d", table->name, year, month,
			 day_of_month);
	print_date(result.begin, sizeof(result.begin), year, month, day_of_month);
	strlcpy(result.said, result.begin, sizeof(result.said));
	j2date((int) (day + 1 + POSTGRES_EPOCH_JDATE), &year, &month, &day_of_month);
	print_date(result.end, sizeof(result.end), year, month, day_of_month);
	return result;
}

/*
 * Returns the partition whose bounds contain a time, whatever its name and schema; InvalidOid if
 * there is none.
 */
static Oid
find_partition_by_bounds(Oid parent, TimestampTz time)
{
	Relation relation = table_open(parent, AccessShareLock);
	PartitionKey key = RelationGetPartitionKey(relation);
	PartitionDesc partitions = RelationGetPartitionDesc(relation, true);
	Oid partition = InvalidOid;

	/* Only a range of one column can be searched for a time. */
	if (partitions->nparts > 0 && key->strategy == PARTITION_STRATEGY_RANGE && key->partnatts == 1)
	{
		Datum value = TimestampTzGetDatum(time);
		bool is_equal;
		int bound = partition_range_datum_bsearch(key->partsupfunc, key->partcollation,
												  partitions->boundinfo, 1, &value, &is_equal);
		/* indexes[] has the partition above each bound, after that below the first bound. */
		int index = partitions->boundinfo->indexes[bound + 1];

		if (index >= 0)
			partition = partitions->oids[index];
	}
	table_close(relation, AccessShareLock);
	return partition;
}

/*
 * Returns the partition of a day; InvalidOid if there is none. Tries the name that make_partition()
 * gives first. If somebody has renamed the partition, moved it to another schema or attached one,
 * searches by the bounds.
 */
static Oid
find_partition(const PfsPartitioned *table, Oid parent, int64 day)
{
	Period period = make_period(table, day);
	Oid partition = get_relname_relid(period.name, get_rel_namespace(parent));

	if (!OidIsValid(partition))
		return find_partition_by_bounds(parent, day * USECS_PER_DAY);
	/* Without this error CREATE TABLE would fail, without a hint. */
	if (!get_rel_relispartition(partition) || get_partition_parent(partition, true) != parent)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("table \"%s\" exists but is not a partition of \"%s\"", period.name,
						table->name),
				 errhint("Attach it with ALTER TABLE profstore.%s ATTACH PARTITION, or rename it.",
						 table->name)));
	return partition;
}

static void
partitions_query(const char *sql)
{
	if (SPI_execute(sql, false, 0) < 0)
		elog(ERROR, "could not run \"%s\"", sql);
}

/*
 * Creates the indexes of a partition of traces. The parent has none: pg_dump restores partitions
 * before indexes, and an index of the parent would create the partition's index a second time.
 *
 * The one on time is for ranges shorter than a day, of all traces or of a span that most rows have,
 * such as a query. Rows arrive nearly in the order of time, so that it has few pages.
 */
static void
make_indexes(const char *partition)
{
	partitions_query(
		psprintf("CREATE INDEX %s_trace ON profstore.%s (trace_id) WHERE trace_id IS NOT NULL",
				 partition, partition));
	partitions_query(
		psprintf("CREATE INDEX %s_span ON profstore.%s (span_id) WHERE span_id IS NOT NULL",
				 partition, partition));
	partitions_query(psprintf("CREATE INDEX %s_time ON profstore.%s USING brin (time) "
							  "WITH (autosummarize = on)",
							  partition, partition));
}

static void
make_partition(const PfsPartitioned *table, int64 day)
{
	Period period = make_period(table, day);

	partitions_query(
		psprintf("CREATE TABLE profstore.%s "
				 "(LIKE profstore.%s INCLUDING DEFAULTS INCLUDING CONSTRAINTS) USING %s",
				 period.name, table->name, table->of_traces ? "heap" : "profstore"));
	partitions_query(psprintf("ALTER TABLE profstore.%s ATTACH PARTITION profstore.%s "
							  "FOR VALUES FROM ('%s 00:00:00+00') TO ('%s 00:00:00+00')",
							  table->name, period.name, period.begin, period.end));
	partitions_query(
		psprintf("COMMENT ON TABLE profstore.%s IS %s", period.name,
				 quote_literal_cstr(psprintf("%s of %s UTC", table->comment, period.said))));
	if (table->of_traces)
		make_indexes(period.name);
}

/*
 * Returns the day of a time, numbered as in type date; raises DATETIME_VALUE_OUT_OF_RANGE outside
 * the years 1970 to 9999.
 */
static int64
partition_day(TimestampTz time)
{
	int64 day;

	if (TIMESTAMP_NOT_FINITE(time) ||
		time < (TimestampTz) (UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY ||
		time >= (TimestampTz) (date2j(10000, 1, 1) - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY)
		ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
						errmsg("time of samples out of range: %s", timestamptz_to_str(time)),
						errdetail("Samples lie between the years 1970 and 9999.")));
	day = time / USECS_PER_DAY;
	/* Division rounds towards zero, but the days before 2000 are negative. */
	return time < day * USECS_PER_DAY ? day - 1 : day;
}

Oid
pfs_ensure_partition(const PfsPartitioned *table, TimestampTz time)
{
	Oid parent = pfs_relation_oid(table->name);
	int64 day = partition_day(time);
	Oid partition = find_partition(table, parent, day);

	if (OidIsValid(partition))
		return partition;
	LockRelationOid(parent, ShareUpdateExclusiveLock);
	/* Another session may have created the partition before the lock was granted. */
	partition = find_partition(table, parent, day);
	if (!OidIsValid(partition))
	{
		SPI_connect();
		make_partition(table, day);
		SPI_finish();
		partition = find_partition(table, parent, day);
	}
	return partition;
}

/*
 * Raises an error if the time is more than MAX_FUTURE_DAYS ahead: a wrong clock or a malicious
 * writer must not create partitions that retention reaches only years later.
 */
static void
check_is_not_ahead(TimestampTz time)
{
	TimestampTz latest = GetCurrentTimestamp() + MAX_FUTURE_DAYS * USECS_PER_DAY;

	if (time > latest)
		ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
						errmsg("time of samples out of range: %s", timestamptz_to_str(time)),
						errdetail("It is more than %d days from now.", MAX_FUTURE_DAYS),
						errhint("Check the clocks of server and client.")));
}

/* Creates the missing partitions of a range and returns their number. */
static int32
partitions_ensure(const PfsPartitioned *table, TimestampTz from, TimestampTz to)
{
	Oid parent = pfs_relation_oid(table->name);
	int64 first = partition_day(from);
	/* to_ts is exclusive. */
	int64 last = Max(first, partition_day(TIMESTAMP_NOT_FINITE(to) ? to : to - 1));
	int32 made = 0;
	int level;

	if (to < from)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("from_ts must not be later than to_ts")));
	if (last - first >= MAX_DAYS)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("cannot make partitions for more than %d days at once", MAX_DAYS),
						errdetail("The range has " INT64_FORMAT " days.", last - first + 1)));

	check_is_not_ahead(to);

	/* If all partitions exist, no lock is needed. */
	while (first <= last && OidIsValid(find_partition(table, parent, first)))
		first++;
	if (first > last)
		return 0;

	level = pfs_bounded_waits_begin();
	LockRelationOid(parent, ShareUpdateExclusiveLock);
	SPI_connect();
	for (int64 day = first; day <= last; day++)
		if (!OidIsValid(find_partition(table, parent, day)))
		{
			make_partition(table, day);
			made++;
		}
	SPI_finish();
	pfs_bounded_waits_end(level);
	return made;
}

/* ensure_partitions(from_ts, to_ts) -> int4, number of created partitions */
PGDLLEXPORT Datum
profstore_ensure_partitions(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(partitions_ensure(&partitioned_samples, PG_GETARG_TIMESTAMPTZ(0),
									  PG_GETARG_TIMESTAMPTZ(1)));
}

/* ensure_trace_partitions(from_ts, to_ts) -> int4, number of created partitions */
PGDLLEXPORT Datum
profstore_ensure_trace_partitions(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(
		partitions_ensure(&partitioned_traces, PG_GETARG_TIMESTAMPTZ(0), PG_GETARG_TIMESTAMPTZ(1)));
}
