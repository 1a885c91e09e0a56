/*
 * compact.c
 *		profstore.compact() and compact_dictionary(): merge the segments of a table, or of all
 *		partitions of one, and the chunks of the stack tree.
 */
#include "profstore.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "admin/bounded_waits.h"
#include "admin/compact.h"
#include "base/attempt.h"
#include "base/distributed.h"
#include "base/privileges.h"
#include "base/progress.h"
#include "base/relations.h"
#include "base/version.h"
#include "dictionary/seal/seal.h"
#include "dictionary/tree/chunk_merge.h"
#include "store/compact/compaction.h"
#include "tableam/table_am.h"

PG_FUNCTION_INFO_V1(profstore_compact);
PG_FUNCTION_INFO_V1(profstore_compact_dictionary);

/* Returns the work that is left after a step; raises a NOTICE if the step was not possible. */
static PfsCompactionState
state_after(PfsCompactionStep step, Relation relation)
{
	switch (step)
	{
		case PFS_COMPACTION_MERGED:
		case PFS_COMPACTION_ROLLED_UP:
		case PFS_COMPACTION_MOVED:
			return PFS_TABLE_PROGRESSED;
		case PFS_COMPACTION_AWAITS_VACUUM:
			return PFS_TABLE_AWAITS_VACUUM;
		case PFS_COMPACTION_GIVEN_UP:
			ereport(NOTICE,
					(errmsg("stopped compacting table \"%s\": another transaction has changed its "
							"segments",
							RelationGetRelationName(relation))));
			break;
		case PFS_COMPACTION_BLOCKED:
			pfs_report_skipped(psprintf("table \"%s\"", RelationGetRelationName(relation)),
							   "the lock of its directory is taken");
			break;
		case PFS_COMPACTION_IDLE:
			break;
	}
	return PFS_TABLE_DONE;
}

PfsCompactionState
pfs_compact_table(Oid relation_id, uint32 open_inputs, int64 max_segments, uint32 max_steps,
				  int64 *merged)
{
	Relation relation = pfs_open_or_skip(relation_id, ShareUpdateExclusiveLock);
	PfsCompactionState state = PFS_TABLE_PROGRESSED;

	if (relation == NULL)
		return PFS_TABLE_DONE;
	if (!pfs_is_profstore_table(relation))
		state = PFS_TABLE_DONE;
	pfs_progress_begin(relation_id);
	while (state == PFS_TABLE_PROGRESSED && max_segments > 0 && max_steps-- > 0)
	{
		uint32 step_merged;

		CHECK_FOR_INTERRUPTS();
		state =
			state_after(pfs_compaction_step(relation, open_inputs,
											(uint32) Min(max_segments, PG_INT32_MAX), &step_merged),
						relation);
		if (state != PFS_TABLE_PROGRESSED)
			break;
		max_segments -= step_merged;
		*merged += step_merged;
	}
	pfs_progress_end();
	relation_close(relation, NoLock);
	return state;
}

void
pfs_check_compactable(Oid relation_id)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation_id));
	Form_pg_class class;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relation_id)));
	class = (Form_pg_class) GETSTRUCT(tuple);
	if (!pfs_relation_ownercheck(relation_id))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(class->relkind),
					   NameStr(class->relname));
	if (class->relkind != RELKIND_PARTITIONED_TABLE &&
		class->relam != get_table_am_oid("profstore", false))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is not a table of access method \"profstore\"",
							   NameStr(class->relname))));
	ReleaseSysCache(tuple);
	if (!pfs_is_spread(relation_id))
		pfs_require_local(relation_id, "compact");
}

void
pfs_check_maintenance_transaction(const char *function)
{
	PreventCommandIfReadOnly(function);
	PreventCommandDuringRecovery(function);
	PreventCommandIfParallelMode(function);
	/* Compaction must see rows that were committed while it waited for its locks. */
	if (IsolationUsesXactSnapshot())
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot execute %s in a REPEATABLE READ or SERIALIZABLE transaction",
							   function),
						errhint("Use READ COMMITTED.")));
	/* Other sessions ignore the snapshots of VACUUM, so rows that it reads may be removed. */
	if (MyProc->statusFlags & PROC_IN_VACUUM)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot execute %s during VACUUM", function)));
}

/*
 * Packs all names. One call of pfs_names_seal() packs a bounded number, so it is repeated until
 * nothing is left.
 */
static void
seal_all(void *unused)
{
	while (pfs_names_seal() > 0)
		CHECK_FOR_INTERRUPTS();
}

/*
 * Packs all names in a subtransaction: a damaged name gives a WARNING and does not undo the
 * caller's work.
 */
static void
seal_all_or_warn(void)
{
	(void) pfs_attempt(seal_all, NULL, "functions and locations were not packed");
}

List *
pfs_compactable_tables(Oid relation_id)
{
	List *tables = get_rel_relkind(relation_id) == RELKIND_PARTITIONED_TABLE
					   ? find_all_inheritors(relation_id, NoLock, NULL)
					   : list_make1_oid(relation_id);
	ListCell *cell;

	foreach(cell, tables)
	{
		char kind = get_rel_relkind(lfirst_oid(cell));

		/* Partitioned tables have no storage, and foreign tables no segments. */
		if (kind != RELKIND_RELATION && kind != RELKIND_MATVIEW)
			tables = foreach_delete_current(tables, cell);
	}
	return tables;
}

/* Packs stacks and names, which have no table that a caller could pass, with samples. */
static void
dictionary_pack(Oid relation_id)
{
	if (relation_id != pfs_relation_oid("samples"))
		return;
	(void) pfs_chunks_merge(UINT32_MAX);
	seal_all_or_warn();
}

int64
pfs_compact_all(Oid relation_id, int64 max_segments)
{
	int64 merged = 0;
	int level = pfs_bounded_waits_begin();
	ListCell *cell;

	foreach(cell, pfs_compactable_tables(relation_id))
		if (merged < max_segments)
			pfs_compact_table(lfirst_oid(cell), PFS_LEAST_OPEN_INPUTS, max_segments - merged,
							  UINT32_MAX, &merged);
	dictionary_pack(relation_id);
	pfs_bounded_waits_end(level);
	return merged;
}

/*
 * Compacts the shards of a table, each by a call on its node, and packs the dictionary, which is
 * here.
 */
static int64
compact_shards(Oid relation_id, int64 max_segments)
{
	Oid types[] = { REGCLASSOID, INT8OID };
	Datum values[] = { ObjectIdGetDatum(relation_id), Int64GetDatum(max_segments) };
	PfsCaller caller = pfs_become_owner();
	int64 merged;
	bool is_null;
	int level;

	SPI_connect();
	if (SPI_execute_with_args("SELECT profstore_internal.compact_shards($1, $2)", 2, types, values,
							  NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not compact shards");
	merged =
		DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
	SPI_finish();
	pfs_become_caller(caller);
	level = pfs_bounded_waits_begin();
	dictionary_pack(relation_id);
	pfs_bounded_waits_end(level);
	return merged;
}

PGDLLEXPORT Datum
profstore_compact(PG_FUNCTION_ARGS)
{
	Oid relation_id;
	int64 max_segments = PG_INT64_MAX;

	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("rel must not be null")));
	relation_id = PG_GETARG_OID(0);
	if (!PG_ARGISNULL(1))
		max_segments = PG_GETARG_INT32(1);
	if (max_segments < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("max_segments must be at least 1")));
	pfs_extension_require_current();
	pfs_check_maintenance_transaction("profstore.compact()");
	pfs_check_compactable(relation_id);

	PG_RETURN_INT64(pfs_is_spread(relation_id) ? compact_shards(relation_id, max_segments)
											   : pfs_compact_all(relation_id, max_segments));
}

/* compact_dictionary(max_partitions) -> int8, number of merged chunks */
PGDLLEXPORT Datum
profstore_compact_dictionary(PG_FUNCTION_ARGS)
{
	int32 max_partitions = PG_ARGISNULL(0) ? PG_INT32_MAX : PG_GETARG_INT32(0);
	int64 merged;
	int level;

	if (max_partitions < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("max_partitions must be at least 1")));
	pfs_check_maintenance_transaction("profstore.compact_dictionary()");
	level = pfs_bounded_waits_begin();
	merged = pfs_chunks_merge((uint32) max_partitions);
	seal_all(NULL);
	/*
	 * Shrinking locks out new names until the transaction ends, which can take long in a
	 * transaction block.
	 */
	if (!IsTransactionBlock())
		pfs_names_shrink();
	pfs_bounded_waits_end(level);
	PG_RETURN_INT64(merged);
}
