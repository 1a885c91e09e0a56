/*
 * distributed.c
 *		Searches tables in the catalog of Citus, without linking or including anything of it.
 */
#include "base/distributed.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_namespace.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/relations.h"

PG_FUNCTION_INFO_V1(profstore_require_local);

/* Returns true if Citus lists the table or partition in its catalog; false without Citus. */
static bool
is_distributed(Oid relation_id)
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
	if (is_distributed(relation_id))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot %s distributed table \"%s\"", what, get_rel_name(relation_id)),
				 errdetail("Citus keeps its rows in shards; the table itself is empty."),
				 errhint("Keep the tables of profstore local to one server. For shards, which are "
						 "tables of their own, call compact() and verify() by "
						 "run_command_on_shards().")));
}

void
pfs_require_local_tables(const char *const *names, size_t count, const char *what)
{
	/* without Citus this is the whole cost of a query */
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
