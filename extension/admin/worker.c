/*
 * worker.c
 *		The launcher, which reads only shared catalogs, and the worker of a database.
 *
 * 1. The launcher lists the databases that accept connections and runs a worker in one after
 *    another. If a worker is not done within PATIENCE_MS, the next one starts beside it. After the
 *    last database the launcher sleeps.
 * 2. A worker compacts tables, one step per transaction, then the dictionary. Then it applies
 *    retention and records the states of health(). Failures are logged and left for the next round.
 */
#include "admin/worker.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "admin/apply_retention.h"
#include "admin/compact_in_steps.h"
#include "admin/worker_process.h"
#include "base/relations.h"
#include "base/version.h"
#include "dictionary/seal/seal.h"
#include "dictionary/tree/chunk_merge.h"

#define NAPTIME_DEFAULT_S 60
#define NAPTIME_MAX_S	  86400

/* Longest time that the launcher waits for a worker before it continues with the next database. */
#define PATIENCE_MS 10000

/* A bucket that still receives samples is merged once it has this many segments. */
#define OPEN_INPUTS 32

/* Dictionary partitions whose chunks are merged in one transaction. */
#define DICTIONARY_PARTITIONS 64

PGDLLEXPORT void profstore_launcher_main(Datum unused);
PGDLLEXPORT void profstore_worker_main(Datum database_id);

static bool compaction_enabled = true;
static bool retention_enabled = true;
static int naptime_s = NAPTIME_DEFAULT_S;

/*
 * Returns the OIDs of those rows of a catalog for which passes() is true, in the memory context of
 * the caller.
 */
static List *
list_catalog(Oid catalog, bool (*passes)(HeapTuple tuple, Oid access_method, Oid *id))
{
	MemoryContext caller = CurrentMemoryContext;
	Oid access_method = InvalidOid;
	List *ids = NIL;
	Relation relation;
	TableScanDesc scan;
	HeapTuple tuple;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	/* The launcher is connected to no database. */
	if (OidIsValid(MyDatabaseId) && pfs_extension_is_current())
		access_method = get_table_am_oid("profstore", true);
	relation = table_open(catalog, AccessShareLock);
	scan = table_beginscan_catalog(relation, 0, NULL);
	while (HeapTupleIsValid(tuple = heap_getnext(scan, ForwardScanDirection)))
	{
		/* The list must outlive the transaction. */
		MemoryContext transaction = MemoryContextSwitchTo(caller);
		Oid id;

		if (passes(tuple, access_method, &id))
			ids = lappend_oid(ids, id);
		MemoryContextSwitchTo(transaction);
	}
	table_endscan(scan);
	table_close(relation, AccessShareLock);
	PopActiveSnapshot();
	CommitTransactionCommand();
	MemoryContextSwitchTo(caller);
	return ids;
}

static bool
is_database(HeapTuple tuple, Oid access_method, Oid *id)
{
	Form_pg_database database = (Form_pg_database) GETSTRUCT(tuple);

	*id = database->oid;
	/* A session in a template database would make CREATE DATABASE fail. */
	return database->datallowconn && !database->datistemplate;
}

static bool
is_table(HeapTuple tuple, Oid access_method, Oid *id)
{
	Form_pg_class class = (Form_pg_class) GETSTRUCT(tuple);

	*id = class->oid;
	return OidIsValid(access_method) && class->relam == access_method &&
		   (class->relkind == RELKIND_RELATION || class->relkind == RELKIND_MATVIEW);
}

/* A worker that may still be running. */
typedef struct RunningWorker
{
	Oid database_id;
	BackgroundWorkerHandle *handle;
} RunningWorker;

/* Starts a worker; returns NULL if no slot is free. */
static BackgroundWorkerHandle *
database_start_worker(Oid database_id)
{
	BackgroundWorker worker = { 0 };
	BackgroundWorkerHandle *handle = NULL;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = ObjectIdGetDatum(database_id);
	worker.bgw_notify_pid = MyProcPid;
	strlcpy(worker.bgw_library_name, "profstore", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "profstore_worker_main", sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, BGW_MAXLEN, "profstore compaction of database %u", database_id);
	strlcpy(worker.bgw_type, "profstore compaction", BGW_MAXLEN);
	if (!RegisterDynamicBackgroundWorker(&worker, &handle))
		ereport(LOG,
				(errmsg("could not start a compaction worker: no background worker slot is free"),
				 errhint("You might need to increase max_worker_processes.")));
	return handle;
}

/* Waits up to PATIENCE_MS for a worker's end; returns whether it has ended. */
static bool
database_await_worker(BackgroundWorkerHandle *handle)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), PATIENCE_MS);
	pid_t pid;

	while (GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED)
	{
		long left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

		if (left <= 0)
			return false;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, left,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/*
 * Returns whether a database's worker of an earlier round is still running; removes ended workers
 * from the list.
 */
static bool
is_running(List **running, Oid database_id)
{
	bool found = false;
	ListCell *cell;

	foreach(cell, *running)
	{
		RunningWorker *worker = lfirst(cell);
		pid_t pid;

		if (GetBackgroundWorkerPid(worker->handle, &pid) == BGWH_STOPPED)
		{
			*running = foreach_delete_current(*running, cell);
			pfree(worker->handle);
			pfree(worker);
		}
		else
			found |= worker->database_id == database_id;
	}
	return found;
}

/*
 * Starts the worker of a database and waits for its end, up to PATIENCE_MS. A worker that waits for
 * a lock or has much work continues in parallel with the workers of other databases. *running lives
 * in CurrentMemoryContext.
 */
static void
run_worker(List **running, Oid database_id)
{
	BackgroundWorkerHandle *handle;
	RunningWorker *worker;

	if (is_running(running, database_id))
		return;
	handle = database_start_worker(database_id);
	if (handle == NULL)
		return;
	if (database_await_worker(handle))
	{
		pfree(handle);
		return;
	}
	worker = palloc(sizeof(RunningWorker));
	*worker = (RunningWorker){ database_id, handle };
	*running = lappend(*running, worker);
}

void
profstore_launcher_main(Datum unused)
{
	MemoryContext context =
		AllocSetContextCreate(TopMemoryContext, "profstore launcher", ALLOCSET_DEFAULT_SIZES);
	List *running = NIL;

	pfs_worker_setup();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	pfs_worker_bound_waits();
	for (;;)
	{
		List *databases = NIL;
		ListCell *cell;

		MemoryContextSwitchTo(context);
		if (compaction_enabled || retention_enabled)
			databases = list_catalog(DatabaseRelationId, is_database);
		/* The list of running workers must outlive the round. */
		MemoryContextSwitchTo(TopMemoryContext);
		foreach(cell, databases)
			run_worker(&running, lfirst_oid(cell));
		MemoryContextReset(context);

		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 naptime_s * 1000L, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
	}
}

/* Merges chunks of the stack tree, DICTIONARY_PARTITIONS per transaction. */
static void
compact_dictionary(Oid unused)
{
	int64 merged;

	do
	{
		CHECK_FOR_INTERRUPTS();
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		merged = pfs_extension_is_current() ? pfs_chunks_merge(DICTIONARY_PARTITIONS) : 0;
		PopActiveSnapshot();
		CommitTransactionCommand();
	} while (merged > 0);
}

/* True once a compaction step of this worker has vacuumed the directory. */
static bool directory_is_vacuumed = false;

static void
compact_table(Oid table_id)
{
	directory_is_vacuumed |= pfs_compact_in_steps(table_id, OPEN_INPUTS);
}

static void
database_vacuum_directory(Oid unused)
{
	if (!directory_is_vacuumed)
		pfs_vacuum_directory();
}

/* Packs names, one transaction per step, so that the epoch is not locked for long. */
static void
seal_names(Oid unused)
{
	int64 sealed;

	do
	{
		CHECK_FOR_INTERRUPTS();
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		sealed = pfs_extension_is_current() ? pfs_names_seal() : 0;
		/* Once nothing is left to pack, the tables of unpacked names can shrink. */
		if (sealed == 0 && pfs_extension_is_current())
			pfs_names_shrink();
		PopActiveSnapshot();
		CommitTransactionCommand();
	} while (sealed > 0);
}

/* Calls work; an error is logged, its transaction aborted, and the work left for the next round. */
static void
worker_attempt(void (*work)(Oid), Oid table_id)
{
	MemoryContext outer = CurrentMemoryContext;

	PG_TRY();
	{
		work(table_id);
	}
	PG_CATCH();
	{
		/* An interrupt must not come between the report and the end of the transaction. */
		HOLD_INTERRUPTS();
		EmitErrorReport();
		AbortOutOfAnyTransaction();
		FlushErrorState();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(outer);
}

static void
worker_retain(Oid unused)
{
	bool is_here;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	is_here = pfs_extension_is_current();
	PopActiveSnapshot();
	/* Retention commits after each step, so no snapshot may be active. */
	if (is_here)
		pfs_apply_retention();
	CommitTransactionCommand();
}

/* Runs a query of one function of the extension, in a transaction. */
static void
worker_query(const char *sql)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	if (pfs_extension_is_current())
	{
		SPI_connect();
		if (SPI_execute(sql, false, 0) != SPI_OK_SELECT)
			elog(ERROR, "could not run \"%s\"", sql);
		SPI_finish();
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
}

static void
worker_make_partition_ahead(Oid unused)
{
	worker_query("SELECT profstore_internal.make_partition_ahead()");
}

static void
worker_record_health(Oid unused)
{
	worker_query("SELECT profstore.record_health()");
}

void
profstore_worker_main(Datum database_id)
{
	ListCell *cell;

	pfs_worker_begin(DatumGetObjectId(database_id));
	if (compaction_enabled)
	{
		pgstat_report_activity(STATE_RUNNING, "compacting profstore tables");
		foreach(cell, list_catalog(RelationRelationId, is_table))
			worker_attempt(compact_table, lfirst_oid(cell));
		worker_attempt(database_vacuum_directory, InvalidOid);
		worker_attempt(compact_dictionary, InvalidOid);
		worker_attempt(seal_names, InvalidOid);
	}
	if (retention_enabled)
	{
		pgstat_report_activity(STATE_RUNNING, "applying the retention of profstore samples");
		worker_attempt(worker_make_partition_ahead, InvalidOid);
		worker_attempt(worker_retain, InvalidOid);
	}
	/* The work may have changed the states, so it comes first. */
	pgstat_report_activity(STATE_RUNNING, "recording the health of profstore");
	worker_attempt(worker_record_health, InvalidOid);
	proc_exit(0);
}

static void
register_launcher(void)
{
	BackgroundWorker worker = { 0 };

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = NAPTIME_DEFAULT_S;
	strlcpy(worker.bgw_library_name, "profstore", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "profstore_launcher_main", sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_name, "profstore compaction launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "profstore compaction launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}

void
pfs_worker_init(void)
{
	DefineCustomBoolVariable("profstore.compaction",
							 "Merges segments, and chunks of the stack tree, in the background.",
							 "Needs profstore in shared_preload_libraries.", &compaction_enabled,
							 true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable(
		"profstore.retention", "Applies the settings of set_retention() in the background.",
		"Needs profstore in shared_preload_libraries. Collects the dictionary, too.",
		&retention_enabled, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("profstore.compaction_naptime",
							"Time between two rounds of background compaction and retention.", NULL,
							&naptime_s, NAPTIME_DEFAULT_S, 1, NAPTIME_MAX_S, PGC_SIGHUP, GUC_UNIT_S,
							NULL, NULL, NULL);
	/* Only the postmaster can register a worker that it restarts. */
	if (process_shared_preload_libraries_in_progress)
		register_launcher();
}
