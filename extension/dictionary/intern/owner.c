/*
 * owner.c
 *		Runs changes to the extension's tables at commit, as their owner.
 */
#include "profstore.h"

#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/relations.h"
#include "dictionary/intern/owner.h"

void
pfs_run_as_owner(const char *table, void (*run)(void))
{
	Relation relation;
	Oid user;
	int context;

	PushActiveSnapshot(GetTransactionSnapshot());
	relation = pfs_table_open(table, RowExclusiveLock);
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(relation->rd_rel->relowner, context | SECURITY_LOCAL_USERID_CHANGE);
	run();
	SetUserIdAndSecContext(user, context);
	RelationClose(relation);
	PopActiveSnapshot();
}
