/*
 * worker_process.c
 *		Signals, connection and settings of a background worker.
 */
#include "admin/worker_process.h"

#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "admin/bounded_waits.h"

void
pfs_worker_setup(void)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
}

void
pfs_worker_bound_waits(void)
{
	SetConfigOption("lock_timeout", PFS_LONGEST_WAIT, PGC_SUSET, PGC_S_OVERRIDE);
}

void
pfs_worker_begin(Oid database_id)
{
	pfs_worker_setup();
	BackgroundWorkerInitializeConnectionByOid(database_id, InvalidOid, 0);
	MemoryContextSwitchTo(
		AllocSetContextCreate(TopMemoryContext, "profstore worker", ALLOCSET_DEFAULT_SIZES));
	/* Defaults of the database may make the work fail. */
	SetConfigOption("default_transaction_isolation", "read committed", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("default_transaction_read_only", "off", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("zero_damaged_pages", "off", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("vacuum_cost_delay", "2ms", PGC_SUSET, PGC_S_OVERRIDE);
	/* Schemas of users must not decide which function a name means. */
	SetConfigOption("search_path", "pg_catalog, pg_temp", PGC_SUSET, PGC_S_OVERRIDE);
	pfs_worker_bound_waits();
}
