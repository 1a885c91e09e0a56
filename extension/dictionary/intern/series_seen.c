/*
 * series_seen.c
 *		Keeps the ranges that a transaction has recorded, and widens rows of profstore.series by
 *		them.
 */
#include "profstore.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "dictionary/cache/rows.h"
#include "dictionary/intern/intern_arrays.h"
#include "dictionary/intern/owner.h"
#include "dictionary/intern/series_seen.h"

/* The year 1970, and how far a sample's time may lie ahead of the clock. */
#define TIME_MIN   ((UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY)
#define DAYS_AHEAD 7

typedef struct Seen
{
	Oid table; /* OID of the table: the extension may be created again before the commit */
	int32 series_id;
	SubTransactionId told_in;
	TimestampTz first;
	TimestampTz last;
	bool is_wide_enough; /* true if the stored row already covers the range */
} Seen;

/* Ranges recorded by the running transaction, in TopTransactionContext. */
static Seen *told;
static uint32 told_count;
static uint32 told_capacity;

/* Columns of profstore.series. */
#define SERIES_FIRST_SEEN 5
#define SERIES_LAST_SEEN  6

/* last_seen may lag by this much, so that rows are not written with every batch. */
#define LAST_SEEN_SLACK USECS_PER_MINUTE

static const char widen[] =
	"UPDATE profstore.series AS s "
	"SET first_seen = least(s.first_seen, n.first), last_seen = greatest(s.last_seen, n.last) "
	"FROM (SELECT k.id, t.first, t.last "
	"FROM unnest($1, $2, $3) AS t(id, first, last) "
	"JOIN profstore.series AS k ON k.id OPERATOR(pg_catalog.=) t.id "
	"ORDER BY k.id FOR NO KEY UPDATE OF k) AS n "
	"WHERE s.id OPERATOR(pg_catalog.=) n.id";

static char *
time_text(TimestampTz time)
{
	return DatumGetCString(DirectFunctionCall1(timestamptz_out, TimestampTzGetDatum(time)));
}

static void
check_times(TimestampTz first, TimestampTz last)
{
	if (first < TIME_MIN || first > last ||
		last > GetCurrentTransactionStartTimestamp() + DAYS_AHEAD * USECS_PER_DAY)
		ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
						errmsg("times of samples out of range: from %s to %s", time_text(first),
							   time_text(last)),
						errdetail("Samples lie between the year 1970 and seven days from now.")));
}

void
pfs_series_seen(int32 series_id, TimestampTz first, TimestampTz last)
{
	check_times(first, last);
	PFS_RESERVE_IN(TopTransactionContext, told, told_capacity, told_count + 1);
	told[told_count++] = (Seen){
		pfs_relation_oid("series"), series_id, GetCurrentSubTransactionId(), first, last, false
	};
}

static void
seen_forget(void)
{
	told = NULL;
	told_count = 0;
	told_capacity = 0;
}

/*
 * Drops the series of an extension that the transaction has dropped, because its ids have no
 * meaning in an extension created since.
 */
static void
forget_dropped(void)
{
	uint32 left = 0;

	for (uint32 i = 0; i < told_count; i++)
		/* DROP EXTENSION in this transaction has removed the table. */
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(told[i].table)))
			told[left++] = told[i];
	told_count = left;
}

static int
compare_seen(const void *a, const void *b)
{
	int32 left = ((const Seen *) a)->series_id;
	int32 right = ((const Seen *) b)->series_id;

	return (left > right) - (left < right);
}

/* Merges ranges into one for each series, in the order of ids. */
static void
merge_told(void)
{
	uint32 merged = 0;

	qsort(told, told_count, sizeof(Seen), compare_seen);
	for (uint32 i = 1; i < told_count; i++)
	{
		if (told[i].series_id != told[merged].series_id)
			/* The next series begins; merged never exceeds i, so nothing unread is overwritten. */
			told[++merged] = told[i];
		told[merged].first = Min(told[merged].first, told[i].first);
		told[merged].last = Max(told[merged].last, told[i].last);
	}
	told_count = merged + 1;
}

/* Marks a series whose row holds its range already. */
static void
mark_wide_enough(TupleTableSlot *slot, void *argument)
{
	Seen wanted = { .series_id = DatumGetInt32(slot->tts_values[0]) };
	Seen *seen = bsearch(&wanted, told, told_count, sizeof(Seen), compare_seen);

	seen->is_wide_enough =
		!slot->tts_isnull[SERIES_FIRST_SEEN - 1] && !slot->tts_isnull[SERIES_LAST_SEEN - 1] &&
		DatumGetTimestampTz(slot->tts_values[SERIES_FIRST_SEEN - 1]) <= seen->first &&
		/* first_seen promises that no sample is older, so it is exact; last_seen may lag. */
		DatumGetTimestampTz(slot->tts_values[SERIES_LAST_SEEN - 1]) >= seen->last - LAST_SEEN_SLACK;
}

static void
forget_wide_enough(void)
{
	int32 *ids = PFS_ARRAY(int32, told_count);
	uint32 left = 0;

	for (uint32 i = 0; i < told_count; i++)
		ids[i] = told[i].series_id;
	pfs_rows_read("series", ids, told_count, mark_wide_enough, NULL);
	for (uint32 i = 0; i < told_count; i++)
		if (!told[i].is_wide_enough)
			told[left++] = told[i];
	told_count = left;
	pfree(ids);
}

/* Widens all rows in one statement. Its plan is kept for the session. */
static void
run_widen(void)
{
	static SPIPlanPtr plan;
	ArrayType *ids = pfs_array_make(told_count, INT4OID, sizeof(int32));
	ArrayType *firsts = pfs_array_make(told_count, TIMESTAMPTZOID, sizeof(TimestampTz));
	ArrayType *lasts = pfs_array_make(told_count, TIMESTAMPTZOID, sizeof(TimestampTz));
	Oid types[] = { INT4ARRAYOID, TIMESTAMPTZARRAYOID, TIMESTAMPTZARRAYOID };
	Datum values[] = { PointerGetDatum(ids), PointerGetDatum(firsts), PointerGetDatum(lasts) };

	for (uint32 i = 0; i < told_count; i++)
	{
		((int32 *) ARR_DATA_PTR(ids))[i] = told[i].series_id;
		((TimestampTz *) ARR_DATA_PTR(firsts))[i] = told[i].first;
		((TimestampTz *) ARR_DATA_PTR(lasts))[i] = told[i].last;
	}
	SPI_connect();
	if (plan == NULL)
	{
		SPIPlanPtr made = SPI_prepare(widen, lengthof(types), types);

		if (made == NULL || SPI_keepplan(made) != 0)
			elog(ERROR, "could not prepare a statement that widens series");
		plan = made;
	}
	if (SPI_execute_plan(plan, values, NULL, false, 0) != SPI_OK_UPDATE)
		elog(ERROR, "could not record when series were seen");
	SPI_finish();
}

static void
widen_told(void)
{
	merge_told();
	/* Most batches widen nothing, and so write and lock nothing. */
	forget_wide_enough();
	if (told_count > 0)
		run_widen();
}

static void
widen_series(void)
{
	forget_dropped();
	if (told_count > 0)
		pfs_run_as_owner("series", widen_told);
}

static void
seen_on_transaction(XactEvent event, void *arg)
{
	if (told_count > 0 && (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE))
		widen_series();
	/* the transaction frees the memory, even if a subtransaction's abort has removed all entries */
	seen_forget();
}

/*
 * Removes the entries of an aborted subtransaction: all that were recorded after it began, because
 * they were recorded in it or in one of its children.
 */
static void
seen_on_subtransaction(SubXactEvent event, SubTransactionId subid, SubTransactionId parent_subid,
					   void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		while (told_count > 0 && told[told_count - 1].told_in >= subid)
			told_count--;
}

void
pfs_series_seen_init(void)
{
	RegisterXactCallback(seen_on_transaction, NULL);
	RegisterSubXactCallback(seen_on_subtransaction, NULL);
}
