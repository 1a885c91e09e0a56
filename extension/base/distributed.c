/*
 * distributed.c
 *		Searches tables in the catalog of Citus, without linking or including anything of it.
 */
#include "base/distributed.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_namespace.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/relations.h"

PG_FUNCTION_INFO_V1(profstore_require_local);
PG_FUNCTION_INFO_V1(profstore_is_spread);
PG_FUNCTION_INFO_V1(profstore_prevent_in_block);

bool
pfs_is_distributed(Oid relation_id)
{
	Oid catalog_id = get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE);
	Oid index_id;
	Relation catalog;
	SysScanDesc scan;
	ScanKeyData key;
	bool found;

	if (!OidIsValid(catalog_id))
		return false;
	index_id = get_relname_relid("pg_dist_partition_logical_relid_index", PG_CATALOG_NAMESPACE);
	catalog = table_open(catalog_id, AccessShareLock);
	ScanKeyInit(&key, get_attnum(catalog_id, "logicalrelid"), BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relation_id));
	scan = systable_beginscan(catalog, index_id, OidIsValid(index_id), NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}

void
pfs_require_local(Oid relation_id, const char *what)
{
	if (pfs_is_distributed(relation_id))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot %s distributed table \"%s\"", what, get_rel_name(relation_id)),
				 errdetail("Citus keeps its rows in shards; the table itself is empty."),
				 errhint("Keep the tables of profstore local to one server. For shards, which are "
						 "tables of their own, call compact() and verify() by "
						 "run_command_on_shards().")));
}

bool
pfs_samples_are_spread(void)
{
	Oid keys_id;

	/* without Citus, this lookup is all that the test costs */
	if (!OidIsValid(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE)))
		return false;
	keys_id = pfs_relation_find("shard_keys");
	return OidIsValid(keys_id) && pfs_is_distributed(keys_id);
}

bool
pfs_is_spread(Oid relation_id)
{
	return pfs_samples_are_spread() && pfs_is_distributed(relation_id);
}

/* is_spread(rel regclass) */
PGDLLEXPORT Datum
profstore_is_spread(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(pfs_is_spread(PG_GETARG_OID(0)));
}

void
pfs_require_coordinator(void)
{
	Oid catalog_id = get_relname_relid("pg_dist_local_group", PG_CATALOG_NAMESPACE);
	Relation catalog;
	SysScanDesc scan;
	HeapTuple tuple;
	int32 group = 0;

	if (!OidIsValid(catalog_id))
		return;
	catalog = table_open(catalog_id, AccessShareLock);
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool is_null;

		group = DatumGetInt32(heap_getattr(tuple, get_attnum(catalog_id, "groupid"),
										   RelationGetDescr(catalog), &is_null));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	if (group != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg(
					 "this server is a Citus worker, which does not have the dictionary of names"),
				 errdetail("The dictionary of profstore is on the coordinator."),
				 errhint("Connect to the coordinator.")));
}

void
pfs_require_local_tables(const char *const *names, size_t count, const char *what)
{
	/* without Citus, this lookup is all that the check costs */
	if (!OidIsValid(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE)))
		return;
	for (size_t i = 0; i < count; i++)
		pfs_require_local(pfs_relation_oid(names[i]), what);
}

/* require_local(rel regclass, what text) */
PGDLLEXPORT Datum
profstore_require_local(PG_FUNCTION_ARGS)
{
	pfs_require_local(PG_GETARG_OID(0), text_to_cstring(PG_GETARG_TEXT_PP(1)));
	PG_RETURN_VOID();
}

/* prevent_in_block(what text) */
PGDLLEXPORT Datum
profstore_prevent_in_block(PG_FUNCTION_ARGS)
{
	if (IsTransactionBlock() || IsSubTransaction())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot run inside a transaction block if samples are distributed",
						text_to_cstring(PG_GETARG_TEXT_PP(0))),
				 errdetail(
					 "Nodes commit what they remove at once, and a ROLLBACK does not undo it."),
				 errhint("Call it as a statement of its own.")));
	PG_RETURN_VOID();
}
