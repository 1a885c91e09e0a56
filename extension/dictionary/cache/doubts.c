/*
 * doubts.c
 *		Counters of this backend, and their report.
 */
#include "profstore.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "utils/timestamp.h"

#include "dictionary/cache/doubts.h"

static uint64 counts[PFS_DOUBT_COUNT];
static bool has_doubts;
/* for each kind, the start of the statement that reported it last */
static TimestampTz told[PFS_DOUBT_COUNT];

static ExecutorRun_hook_type previous_run = NULL;

void
pfs_doubt(PfsDoubt doubt, uint64 count)
{
	counts[doubt] += count;
	has_doubts |= count > 0;
}

bool
pfs_doubts_any(void)
{
	return has_doubts;
}

void
pfs_doubts_forget(PfsDoubt doubt)
{
	counts[doubt] = 0;
}

int64
pfs_clip_doubtful(int128 sum)
{
	pfs_doubt(PFS_DOUBT_SUMS, 1);
	return sum < 0 ? PG_INT64_MIN : PG_INT64_MAX;
}

/* Raises the WARNING for one kind of problem and its count. */
static void
doubts_warn(PfsDoubt doubt, uint64 count)
{
	switch (doubt)
	{
		case PFS_DOUBT_STACKS:
			ereport(WARNING, (errcode(ERRCODE_DATA_CORRUPTED),
							  errmsg_plural(UINT64_FORMAT " stack is not in the dictionary",
											UINT64_FORMAT " stacks are not in the dictionary",
											(unsigned long) count, count),
							  errdetail("Their values are shown under \"%s\".", PFS_UNKNOWN_STACK),
							  errhint("Run profstore.verify() to list the affected segments.")));
			break;
		case PFS_DOUBT_PARENTS:
			ereport(WARNING, (errcode(ERRCODE_DATA_CORRUPTED),
							  errmsg_plural(UINT64_FORMAT " node of the dictionary has no parent",
											UINT64_FORMAT " nodes of the dictionary have no parent",
											(unsigned long) count, count),
							  errdetail("Missing callers are shown as \"%s\".", PFS_UNKNOWN_STACK),
							  errhint("Restore profstore.stack_chunks from a backup.")));
			break;
		case PFS_DOUBT_NAMES:
			ereport(
				WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_plural(UINT64_FORMAT
							   " location, function or mapping is not in the dictionary",
							   UINT64_FORMAT
							   " locations, functions or mappings are not in the dictionary",
							   (unsigned long) count, count),
				 errhint(
					 "Restore the dictionary tables from the backup that the samples are from.")));
			break;
		case PFS_DOUBT_SUMS:
			ereport(WARNING, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
							  errmsg("sums of sample values are out of range for bigint"),
							  errdetail("The nearest bigint is shown instead."),
							  errhint("Take a shorter time range or fewer series.")));
			break;
		case PFS_DOUBT_COUNT:
			pg_unreachable();
	}
}

static void
tell_all(void)
{
	TimestampTz statement = GetCurrentStatementStartTimestamp();

	has_doubts = false;
	for (int doubt = 0; doubt < PFS_DOUBT_COUNT; doubt++)
	{
		uint64 count = counts[doubt];

		counts[doubt] = 0;
		/* A statement with several queries reports each kind once. */
		if (count == 0 || told[doubt] == statement)
			continue;
		told[doubt] = statement;
		doubts_warn((PfsDoubt) doubt, count);
	}
}

static void
doubts_executor_run(QueryDesc *query, ScanDirection direction,
					uint64 count PFS_EXECUTE_ONCE_PARAMETER)
{
	if (previous_run != NULL)
		previous_run(query, direction, count PFS_EXECUTE_ONCE);
	else
		standard_ExecutorRun(query, direction, count PFS_EXECUTE_ONCE);
	/* Reported after the run, when the query has its result. */
	if (has_doubts)
		tell_all();
}

/*
 * Reports the doubts of a function that was called outside a query. After an abort they are
 * dropped, because the error already shows that there is no result.
 */
static void
doubts_on_transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
	{
		if (has_doubts)
			tell_all();
	}
	else if (event == XACT_EVENT_ABORT)
		memset(counts, 0, sizeof(counts));
}

void
pfs_doubts_init(void)
{
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = doubts_executor_run;
	RegisterXactCallback(doubts_on_transaction, NULL);
}
