/*
 * partitions.c
 *		ensure_partitions: a partition of samples for each UTC day.
 *
 * A day whose partition is there costs one look into the relation cache and takes no lock. Otherwise the table is
 * made aside and attached, which needs SHARE UPDATE EXCLUSIVE on samples: neither COPY nor queries wait for that.
 * The same lock, taken first, keeps concurrent callers apart, and each looks again once it has it.
 */
#include "profstore.h"

#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "dictionary/cache.h"

PG_FUNCTION_INFO_V1(profstore_ensure_partitions);

/* Most days in one call: a mistaken year shall not make a million tables. */
#define MAX_DAYS 1000

/* A UTC day as text: samples_YYYYMMDD for its partition, YYYY-MM-DD for its bounds. */
typedef struct Day
{
	char name[32];
	char date[16];
} Day;

static Day
make_day(int64 day)
{
	Day result;
	int year;
	int month;
	int day_of_month;

	j2date((int) (day + POSTGRES_EPOCH_JDATE), &year, &month, &day_of_month);
	snprintf(result.name, sizeof(result.name), "samples_%04d%02d%02d", year, month, day_of_month);
	snprintf(result.date, sizeof(result.date), "%04d-%02d-%02d", year, month, day_of_month);
	return result;
}

static bool
is_there(Oid samples, int64 day)
{
	const char *name = make_day(day).name;
	Oid partition = get_relname_relid(name, get_rel_namespace(samples));

	if (!OidIsValid(partition))
		return false;
	if (!get_rel_relispartition(partition) || get_partition_parent(partition, true) != samples)
		ereport(
			ERROR,
			(errcode(ERRCODE_DUPLICATE_TABLE),
			 errmsg("table \"%s\" exists but is not a partition of \"samples\"", name),
			 errhint(
				 "Attach it with ALTER TABLE profstore.samples ATTACH PARTITION, rename it or drop it.")));
	return true;
}

static void
run(const char *sql)
{
	if (SPI_execute(sql, false, 0) < 0)
		elog(ERROR, "could not run \"%s\"", sql);
}

static void
make_partition(int64 day)
{
	Day this = make_day(day);
	Day next = make_day(day + 1);

	run(psprintf(
		"CREATE TABLE profstore.%s "
		"(LIKE profstore.samples INCLUDING DEFAULTS INCLUDING CONSTRAINTS) USING profstore",
		this.name));
	run(psprintf("ALTER TABLE profstore.samples ATTACH PARTITION profstore.%s "
				 "FOR VALUES FROM ('%s 00:00:00+00') TO ('%s 00:00:00+00')",
				 this.name, this.date, next.date));
	run(psprintf("COMMENT ON TABLE profstore.%s IS 'samples of %s UTC'", this.name, this.date));
}

/* Day number of a time, counted as dates are; raises DATETIME_VALUE_OUT_OF_RANGE outside 1970 .. 9999. */
static int64
day_of(TimestampTz time)
{
	int64 day;

	if (TIMESTAMP_NOT_FINITE(time) ||
		time < (TimestampTz) (UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY ||
		time >= (TimestampTz) (date2j(10000, 1, 1) - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY)
		ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
						errmsg("time of samples out of range: %s", timestamptz_to_str(time)),
						errdetail("Samples lie between the years 1970 and 9999.")));
	day = time / USECS_PER_DAY;
	return time < day * USECS_PER_DAY ? day - 1 : day;
}

/* ensure_partitions(from_ts, to_ts) -> int4, how many were made */
PGDLLEXPORT Datum
profstore_ensure_partitions(PG_FUNCTION_ARGS)
{
	TimestampTz from = PG_GETARG_TIMESTAMPTZ(0);
	TimestampTz to = PG_GETARG_TIMESTAMPTZ(1);
	Oid samples = pfs_relation_oid("samples");
	int64 first = day_of(from);
	int64 last = Max(first, day_of(TIMESTAMP_NOT_FINITE(to) ? to : to - 1));
	int32 made = 0;

	if (to < from)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("from_ts must not be later than to_ts")));
	if (last - first >= MAX_DAYS)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("cannot make partitions for more than %d days at once", MAX_DAYS),
						errdetail("The range has " INT64_FORMAT " days.", last - first + 1)));

	while (first <= last && is_there(samples, first))
		first++;
	if (first > last)
		PG_RETURN_INT32(0);

	LockRelationOid(samples, ShareUpdateExclusiveLock);
	SPI_connect();
	for (int64 day = first; day <= last; day++)
		if (!is_there(samples, day))
		{
			make_partition(day);
			made++;
		}
	SPI_finish();
	PG_RETURN_INT32(made);
}
