/*
 * relations.c
 *		Finds, locks and opens relations. Maintenance does not wait: it skips locked relations,
 *		with a NOTICE.
 */
#include "base/relations.h"

#include "access/relation.h"
#include "access/table.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

#include "base/version.h"

Oid
pfs_relation_find(const char *name)
{
	Oid schema = pfs_extension_schema();

	return OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
}

Oid
pfs_relation_oid(const char *name)
{
	Oid relation_id = pfs_relation_find(name);

	if (!OidIsValid(relation_id))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation \"profstore.%s\" does not exist", name),
						errhint("Run ALTER EXTENSION profstore UPDATE if the extension is of an "
								"earlier version; otherwise restore the relation from a backup.")));
	return relation_id;
}

Relation
pfs_table_open(const char *name, LOCKMODE lock)
{
	return table_open(pfs_relation_oid(name), lock);
}

void
pfs_report_skipped(const char *what, const char *why)
{
	ereport(NOTICE, (errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("skipping %s: %s", what, why),
					 errhint("Try again later.")));
}

bool
pfs_lock_or_skip(Oid relation_id, LOCKMODE lock, const char *what)
{
	const char *name;

	if (ConditionalLockRelationOid(relation_id, lock))
		return true;
	name = get_rel_name(relation_id);
	if (what != NULL)
		pfs_report_skipped(what, psprintf("the lock of table \"%s\" is taken", name ? name : "?"));
	else if (name != NULL)
		pfs_report_skipped(psprintf("table \"%s\"", name), "its lock is taken");
	return false;
}

Relation
pfs_open_or_skip(Oid relation_id, LOCKMODE lock)
{
	Relation relation;

	if (!pfs_lock_or_skip(relation_id, lock, NULL))
		return NULL;
	/* the lock is held now, so the OID and relfilenode cannot change */
	relation = try_relation_open(relation_id, NoLock);
	if (relation == NULL)
		UnlockRelationOid(relation_id, lock);
	return relation;
}
