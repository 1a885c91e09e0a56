/*
 * compact_in_steps.c
 *		Steps of compaction with VACUUM between them, and the procedure compact_in_steps().
 *
 * A transaction can neither reuse the space of rows that it deletes nor vacuum. So the procedure
 * starts a background worker, which needs no preloading and may vacuum the directory whoever owns
 * it:
 *
 * 1. The procedure checks its caller's privileges and ends its transaction, whose snapshot would
 *    keep deleted rows from VACUUM.
 * 2. The worker does one step after another, and ends. Failures are in the server's log.
 * 3. A last transaction of the caller compacts the rest. Mostly nothing is left; otherwise the
 *    caller gets the NOTICE about a locked table, or the error.
 */
#include "admin/compact_in_steps.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "tcop/pquery.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "admin/compact.h"
#include "admin/vacuum_table.h"
#include "admin/worker_process.h"
#include "base/distributed.h"
#include "base/relations.h"
#include "base/version.h"
#include "store/compact/directory_room.h"

PG_FUNCTION_INFO_V1(profstore_compact_in_steps);
PGDLLEXPORT void profstore_steps_main(Datum unused);

/* The request to the worker. */
typedef struct Request
{
	Oid database_id;
	Oid relation_id;
	int maintenance_work_mem_kb; /* maintenance_work_mem of the caller */
} Request;

StaticAssertDecl(sizeof(Request) <= BGW_EXTRALEN, "the request fits");

/* --- steps --- */

static bool
table_is_there(Oid table_id)
{
	return OidIsValid(table_id);
}

static bool
is_there_and_awaits(Oid table_id)
{
	return OidIsValid(table_id) && pfs_awaits_vacuum(table_id);
}

/* Vacuums those tables of the directory for which is_due() returns true. */
static void
request_vacuum(bool (*is_due)(Oid table_id))
{
	static const char *const names[] = { "segments", "rollups", "row_ledger" };
	Oid tables[lengthof(names)];

	StartTransactionCommand();
	for (size_t i = 0; i < lengthof(names); i++)
	{
		tables[i] = pfs_relation_find(names[i]);
		if (!is_due(tables[i]))
			tables[i] = InvalidOid;
	}
	/* VACUUM starts transactions of its own. */
	CommitTransactionCommand();
	for (size_t i = 0; i < lengthof(names); i++)
		if (OidIsValid(tables[i]))
			pfs_vacuum_table(tables[i]);
}

/* Does one step of compaction in a transaction of its own. */
static PfsCompactionState
compact_step(Oid table_id, uint32 open_inputs)
{
	PfsCompactionState state;
	int64 merged = 0;

	/* Otherwise pg_stat_activity would show when the worker started. */
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	state = pfs_compact_table(table_id, open_inputs, PG_INT64_MAX, 1, &merged);
	PopActiveSnapshot();
	CommitTransactionCommand();
	return state;
}

/* Does steps until none is left; sets *stepped if there was one. */
static PfsCompactionState
compact_steps(Oid table_id, uint32 open_inputs, bool *stepped)
{
	PfsCompactionState state;

	*stepped = false;
	while ((state = compact_step(table_id, open_inputs)) == PFS_TABLE_PROGRESSED)
	{
		CHECK_FOR_INTERRUPTS();
		*stepped = true;
		request_vacuum(table_is_there);
	}
	return state;
}

/*
 * Vacuums the directory once more. An old snapshot, or a query at that moment, may have kept the
 * VACUUM after the last step from removing rows, and without a further step nothing else would
 * vacuum them.
 */
void
pfs_vacuum_directory(void)
{
	request_vacuum(is_there_and_awaits);
}

/*
 * Merges and vacuums in turn. The first VACUUM of the table finds free space to which segments can
 * move; the second truncates the file behind them.
 */
bool
pfs_compact_in_steps(Oid table_id, uint32 open_inputs)
{
	bool merged;
	bool moved;

	if (compact_steps(table_id, open_inputs, &merged) != PFS_TABLE_AWAITS_VACUUM)
		return merged;
	pfs_vacuum_table(table_id);
	if (compact_steps(table_id, open_inputs, &moved) == PFS_TABLE_AWAITS_VACUUM && moved)
		pfs_vacuum_table(table_id);
	return merged || moved;
}

/* --- the worker of the procedure --- */

static List *
list_tables(Oid relation_id)
{
	MemoryContext outer = CurrentMemoryContext;
	List *tables = NIL;

	StartTransactionCommand();
	/* The list must outlive the transaction. */
	MemoryContextSwitchTo(outer);
	if (pfs_extension_is_current())
		tables = pfs_compactable_tables(relation_id);
	CommitTransactionCommand();
	MemoryContextSwitchTo(outer);
	return tables;
}

void
profstore_steps_main(Datum unused)
{
	char memory[32];
	Request request;
	ListCell *cell;

	memcpy(&request, MyBgworkerEntry->bgw_extra, sizeof(request));
	pfs_worker_begin(request.database_id);
	snprintf(memory, sizeof(memory), "%d", request.maintenance_work_mem_kb);
	SetConfigOption("maintenance_work_mem", memory, PGC_SUSET, PGC_S_OVERRIDE);
	foreach(cell, list_tables(request.relation_id))
		(void) pfs_compact_in_steps(lfirst_oid(cell), PFS_LEAST_OPEN_INPUTS);
	proc_exit(0);
}

/* Starts the background worker for a request. Raises an error if no slot is free. */
static BackgroundWorkerHandle *
request_start_worker(const Request *request)
{
	BackgroundWorker worker = { 0 };
	BackgroundWorkerHandle *handle;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	/* The postmaster signals this process when the worker ends. */
	worker.bgw_notify_pid = MyProcPid;
	strlcpy(worker.bgw_library_name, "profstore", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "profstore_steps_main", sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, BGW_MAXLEN, "profstore compaction for process %d", MyProcPid);
	strlcpy(worker.bgw_type, "profstore compaction", BGW_MAXLEN);
	memcpy(worker.bgw_extra, request, sizeof(*request));
	if (!RegisterDynamicBackgroundWorker(&worker, &handle))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("could not start a compaction worker: no background worker slot is free"),
				 errhint("You might need to increase max_worker_processes.")));
	return handle;
}

/* Waits for the worker's end. An error, such as a cancel, terminates the worker. */
static void
request_await_worker(BackgroundWorkerHandle *handle)
{
	PG_TRY();
	{
		if (WaitForBackgroundWorkerShutdown(handle) == BGWH_POSTMASTER_DIED)
			proc_exit(1);
	}
	PG_CATCH();
	{
		TerminateBackgroundWorker(handle);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

PGDLLEXPORT Datum
profstore_compact_in_steps(PG_FUNCTION_ARGS)
{
	Request request = { MyDatabaseId, PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0),
						maintenance_work_mem };

	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("profstore.compact_in_steps() cannot run inside a transaction block"),
				 errdetail("It commits after each step.")));
	if (!OidIsValid(request.relation_id))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("rel must not be null")));
	pfs_extension_require_current();
	pfs_check_maintenance_transaction("profstore.compact_in_steps()");
	pfs_check_compactable(request.relation_id);
	pfs_require_local(request.relation_id, "compact in steps");

	SPI_connect_ext(SPI_OPT_NONATOMIC);
	pfs_spi_commit();
	request_await_worker(request_start_worker(&request));
	/* SPI_commit() has removed the snapshot of the portal, which the next statements need. */
	EnsurePortalSnapshotExists();
	/* The owner may have changed while the worker ran. */
	pfs_check_compactable(request.relation_id);
	(void) pfs_compact_all(request.relation_id, PG_INT64_MAX);
	SPI_finish();
	PG_RETURN_VOID();
}
