/*
 * relations.c
 *		Relations of schema profstore, looked up for each call: the extension may be made anew.
 */
#include "profstore.h"

#include "access/table.h"
#include "utils/lsyscache.h"

#include "base/version.h"
#include "dictionary/relations.h"

Oid
pfs_relation_oid(const char *name)
{
	Oid oid = get_relname_relid(name, pfs_extension_schema());

	if (!OidIsValid(oid))
		ereport(
			ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("relation \"profstore.%s\" does not exist", name),
			 errhint(
				 "Run ALTER EXTENSION profstore UPDATE if the extension is of an earlier version; else restore the relation from a backup.")));
	return oid;
}

Relation
pfs_table_open(const char *name, LOCKMODE lock)
{
	return table_open(pfs_relation_oid(name), lock);
}
