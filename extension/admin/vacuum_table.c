/*
 * vacuum_table.c
 *		VACUUM by a background worker, as autovacuum's workers do it.
 */
#include "admin/vacuum_table.h"

#include "access/xact.h"
#include "commands/vacuum.h"
#include "nodes/makefuncs.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

void
pfs_vacuum_table(Oid table_id)
{
	VacuumParams params = { .options = PFS_VACUUM_OPTIONS,
							.freeze_min_age = -1,
							.freeze_table_age = -1,
							.multixact_freeze_min_age = -1,
							.multixact_freeze_table_age = -1,
							.log_min_duration = -1,
							.nworkers = -1 };
	MemoryContext context =
		AllocSetContextCreate(TopMemoryContext, "profstore vacuum", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	List *tables = list_make1(makeVacuumRelation(NULL, table_id, NIL));
	BufferAccessStrategy buffers = GetAccessStrategy(BAS_VACUUM);

	/*
	 * the context must outlive the transactions; before PostgreSQL 16 vacuum() expects it in
	 * PortalContext
	 */
	PortalContext = context;
	PG_TRY();
	{
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		pfs_vacuum(tables, &params, buffers, context);
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		/*
		 * the caller aborts the transaction, which may need the context, before it flushes the
		 * error
		 */
		PortalContext = NULL;
		MemoryContextSetParent(context, ErrorContext);
		PG_RE_THROW();
	}
	PG_END_TRY();
	PortalContext = NULL;
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
}
