/*
 * apply_retention.c
 *		apply_retention(): works through the partitions; each step is a transaction of its own.
 */
#include "admin/apply_retention.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "admin/bounded_waits.h"
#include "admin/compact.h"
#include "base/attempt.h"
#include "base/distributed.h"
#include "base/privileges.h"
#include "base/version.h"

PG_FUNCTION_INFO_V1(profstore_apply_retention);

typedef struct Step
{
	Oid partition;
	char *name;
	/*
	 * "minute" and "hour" move the rows to that tier, "drop" drops the partition, "trim" removes
	 * only the segments that are due
	 */
	const char *action;
	TimestampTz before;
} Step;

/* Result of a step, from the first column of its only row. */
typedef enum Outcome
{
	OUTCOME_FAILED,
	OUTCOME_NULL,
	OUTCOME_FALSE, /* the column is false or 0 */
	OUTCOME_TRUE
} Outcome;

static const char LIST_STEPS[] =
	"SELECT s.relation::pg_catalog.oid, s.relation::pg_catalog.text, s.action, s.before "
	"FROM profstore_internal.retention_steps() AS s";
static const char RETAIN[] =
	"SELECT CASE WHEN r.done THEN r.rows OPERATOR(pg_catalog.>) 0 END FROM "
	"profstore_internal.retain($1, $2, $3) AS r";
static const char PREPARE[] = "SELECT true FROM profstore_internal.prepare_tier($1, $2)";
static const char DROP[] =
	"SELECT CASE WHEN d.done THEN false WHEN d.blocked THEN true END FROM "
	"profstore_internal.drop_partition($1, $2 OPERATOR(pg_catalog.<>) 'drop') AS d";

/*
 * Returns the steps that are due, in the memory context of the SPI connection, which outlives
 * transactions.
 */
static Step *
list_steps(uint64 *count)
{
	PfsCaller caller = pfs_become_owner();
	Step *steps;

	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_execute(LIST_STEPS, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list the steps of retention");
	*count = SPI_processed;
	steps = palloc(sizeof(Step) * (*count + 1));
	for (uint64 i = 0; i < *count; i++)
	{
		HeapTuple row = SPI_tuptable->vals[i];
		TupleDesc columns = SPI_tuptable->tupdesc;
		bool is_null;

		steps[i].partition = DatumGetObjectId(SPI_getbinval(row, columns, 1, &is_null));
		steps[i].name = SPI_getvalue(row, columns, 2);
		steps[i].action = SPI_getvalue(row, columns, 3);
		steps[i].before = DatumGetTimestampTz(SPI_getbinval(row, columns, 4, &is_null));
	}
	PopActiveSnapshot();
	pfs_become_caller(caller);
	return steps;
}

/* Runs the SQL function of a step, with waits for locks bounded. */
static Outcome
step_execute(const char *sql, const Step *step)
{
	Oid types[] = { REGCLASSOID, TEXTOID, TIMESTAMPTZOID };
	Datum values[] = { ObjectIdGetDatum(step->partition), CStringGetTextDatum(step->action),
					   TimestampTzGetDatum(step->before) };
	/* Only RETAIN has a third parameter. */
	int count = sql == RETAIN ? 3 : 2;
	int level = pfs_bounded_waits_begin();
	Datum result;
	bool is_null;

	/* SPI takes the snapshot of the active portal, and a background worker has no portal */
	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_execute_with_args(sql, count, types, values, NULL, false, 0) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not run \"%s\"", sql);
	result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
	PopActiveSnapshot();
	pfs_bounded_waits_end(level);
	/* NULL means that the step was not done. */
	if (is_null)
		return OUTCOME_NULL;
	return DatumGetBool(result) ? OUTCOME_TRUE : OUTCOME_FALSE;
}

/* Drops the tables of removed partitions that were kept because other objects depended on them. */
static Outcome
drop_put_aside(const char *unused, const Step *no_step)
{
	int level = pfs_bounded_waits_begin();

	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_execute("SELECT FROM profstore_internal.drop_put_aside()", false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not drop the tables of former partitions");
	PopActiveSnapshot();
	pfs_bounded_waits_end(level);
	return OUTCOME_TRUE;
}

/*
 * Collects the dictionary: removed samples may have been the last references to some of its
 * entries.
 */
static Outcome
dictionary_collect(const char *unused, const Step *no_step)
{
	int level = pfs_bounded_waits_begin();
	bool is_due;
	bool is_null;

	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_execute("SELECT profstore_internal.is_collection_due()", true, 0) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not read when the dictionary was collected");
	is_due = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
	/* Collecting reads the whole dictionary, so it has an interval of its own. */
	if (is_due &&
		SPI_execute("SELECT FROM profstore.collect_dictionary()", false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not collect the dictionary");
	PopActiveSnapshot();
	pfs_bounded_waits_end(level);
	return is_due ? OUTCOME_TRUE : OUTCOME_FALSE;
}

typedef struct StepAttempt
{
	Outcome (*work)(const char *sql, const Step *step);
	const char *sql;
	const Step *step;
	Outcome outcome;
} StepAttempt;

static bool
attempt_as_owner(void *arg)
{
	StepAttempt *attempt = arg;
	PfsCaller caller = pfs_become_owner();

	attempt->outcome = attempt->work(attempt->sql, attempt->step);
	pfs_become_caller(caller);
	return true;
}

/*
 * Calls work in a subtransaction as the extension's owner, then commits. An error other than a
 * cancel becomes a WARNING.
 */
static Outcome
attempt_step(Outcome (*work)(const char *sql, const Step *step), const char *sql, const Step *step)
{
	StepAttempt attempt = { work, sql, step, OUTCOME_FAILED };
	ErrorData *error = pfs_subtransaction_or_cancel(attempt_as_owner, &attempt);

	if (error != NULL)
	{
		attempt.outcome = OUTCOME_FAILED;
		ereport(WARNING,
				(errcode(error->sqlerrcode),
				 step != NULL ? errmsg("retention of %s failed: %s", step->name, error->message)
				 : work == dictionary_collect
					 ? errmsg("unused rows of the dictionary were not removed: %s", error->message)
					 : errmsg("tables of former partitions were not dropped: %s", error->message),
				 error->detail != NULL ? errdetail_internal("%s", error->detail) : 0,
				 error->hint != NULL ? errhint("%s", error->hint) : 0));
		FreeErrorData(error);
	}
	/* A later failure or cancel must not undo this step. */
	pfs_spi_commit();
	return attempt.outcome;
}

/*
 * Removes the segments of a due partition that cannot be dropped because a lock on it or its parent
 * is taken. The removal needs neither lock.
 */
static void
trim_due_partition(const Step *step)
{
	Step trim = *step;

	trim.action = "trim";
	(void) attempt_step(step_execute, RETAIN, &trim);
}

void
pfs_apply_retention(void)
{
	static const char *const sample_tables[] = { "samples", "samples_minute", "samples_hour",
												 "trace_samples" };
	bool blocked = false;
	bool is_spread;
	uint64 count;
	Step *steps;

	SPI_connect_ext(SPI_OPT_NONATOMIC);
	steps = list_steps(&count);
	/*
	 * If samples were distributed by other means than distribute(), their tables look empty here,
	 * and retention would drop them, and with them their shards, as empty partitions.
	 */
	is_spread = pfs_samples_are_spread();
	if (count > 0 && !is_spread)
		pfs_require_local_tables(sample_tables, lengthof(sample_tables), "apply retention to");
	for (uint64 i = 0; i < count; i++)
	{
		const Step *step = &steps[i];
		bool goes_with_rows = strcmp(step->action, "drop") == 0;
		bool can_go = goes_with_rows;

		CHECK_FOR_INTERRUPTS();
		if (!can_go)
		{
			Outcome outcome;

			/*
			 * the nodes see a new partition of the tier only after its transaction has committed,
			 * so create it first
			 */
			if (is_spread)
				(void) attempt_step(step_execute, PREPARE, step);
			outcome = attempt_step(step_execute, RETAIN, step);
			can_go = strcmp(step->action, "trim") != 0 &&
					 (outcome == OUTCOME_FALSE || outcome == OUTCOME_TRUE);
		}
		/*
		 * each attempt to drop makes other sessions wait, so try no further drop after a lock
		 * timeout
		 */
		if (can_go && !blocked)
			blocked = attempt_step(step_execute, DROP, step) == OUTCOME_TRUE;
		if (goes_with_rows && blocked)
			trim_due_partition(step);
	}
	(void) attempt_step(drop_put_aside, NULL, NULL);
	(void) attempt_step(dictionary_collect, NULL, NULL);
	SPI_finish();
}

PGDLLEXPORT Datum
profstore_apply_retention(PG_FUNCTION_ARGS)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR, (errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
						errmsg("profstore.apply_retention() cannot run inside a transaction block"),
						errdetail("It commits after each step.")));
	pfs_extension_require_current();
	pfs_check_maintenance_transaction("profstore.apply_retention()");
	pfs_apply_retention();
	PG_RETURN_VOID();
}
