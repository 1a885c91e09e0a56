/*
 * compaction_progress.c
 *		progress(): the progress that sessions report of their work on segments, for the view
 *		compaction_progress.
 */
#include "profstore.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/progress.h"
#include "base/srf.h"

PG_FUNCTION_INFO_V1(profstore_progress);

enum
{
	COL_PID,
	COL_DATABASE,
	COL_RELATION,
	COL_PHASE,
	COL_NUMBERS,					/* seven columns, in the order of NUMBERS */
	COL_TIME_MIN = COL_NUMBERS + 7, /* the columns from here on describe the current merge */
	COL_TIME_MAX,
	COL_COUNT
};

static const PfsProgressParam NUMBERS[] = {
	PFS_PROGRESS_SEGMENTS_TOTAL, PFS_PROGRESS_SEGMENTS_DONE, PFS_PROGRESS_ROWS_TOTAL,
	PFS_PROGRESS_ROWS_DONE,		 PFS_PROGRESS_BYTES_TOTAL,	 PFS_PROGRESS_BYTES_WRITTEN,
	PFS_PROGRESS_MERGES_DONE,
};
StaticAssertDecl(lengthof(NUMBERS) == COL_TIME_MIN - COL_NUMBERS, "a column for each number");

static const char *const PHASES[] = {
	[PFS_PHASE_PLANNING] = "planning", [PFS_PHASE_MERGING] = "merging",
	[PFS_PHASE_SUMMING] = "summing",   [PFS_PHASE_REMOVING] = "removing",
	[PFS_PHASE_MOVING] = "moving",
};

static void
put_time(int64 time, int column, Datum *values, bool *nulls)
{
	values[column] = TimestampTzGetDatum(time);
	nulls[column] = time == PG_INT64_MIN;
}

/* Puts the progress of one session as a row. */
static void
progress_put_entry(const PfsResult *result, const PgBackendStatus *entry)
{
	const int64 *params = entry->st_progress_param;
	int64 phase = params[PFS_PROGRESS_PHASE];
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT] = { false };

	values[COL_PID] = Int32GetDatum(entry->st_procpid);
	values[COL_DATABASE] = ObjectIdGetDatum(entry->st_databaseid);
	/* only the existence of another role's session is visible, as in the server's own views */
	if (!has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) &&
		!has_privs_of_role(GetUserId(), entry->st_userid))
		memset(nulls + COL_RELATION, true, COL_COUNT - COL_RELATION);
	else
	{
		values[COL_RELATION] = ObjectIdGetDatum(entry->st_progress_command_target);
		values[COL_PHASE] = CStringGetTextDatum(
			phase >= 0 && phase < (int64) lengthof(PHASES) ? PHASES[phase] : "unknown");
		for (size_t i = 0; i < lengthof(NUMBERS); i++)
			values[COL_NUMBERS + i] = Int64GetDatum(params[NUMBERS[i]]);
		put_time(params[PFS_PROGRESS_TIME_MIN], COL_TIME_MIN, values, nulls);
		put_time(params[PFS_PROGRESS_TIME_MAX], COL_TIME_MAX, values, nulls);
	}
	pfs_result_put(result, values, nulls);
}

PGDLLEXPORT Datum
profstore_progress(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	int count = pgstat_fetch_stat_numbackends();

	for (int i = 1; i <= count; i++)
	{
		LocalPgBackendStatus *local = pfs_local_backend(i);

		/* The numbers of other commands have other meanings. */
		if (local != NULL && (int) local->backendStatus.st_progress_command == PFS_PROGRESS_COMMAND)
			progress_put_entry(&result, &local->backendStatus);
	}
	return (Datum) 0;
}
