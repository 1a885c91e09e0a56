/*
 * version.c
 *		Looks up the version in pg_extension, and the script's hash in a function of the script.
 */
#include "base/version.h"

#include "base/commit.h"
#include "base/script_hash.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/*
 * Returns true if the extension's schemas still have their original names. Their owner can rename
 * them, and a schema that then takes an old name does not belong to the extension.
 */
static bool
has_its_schemas(HeapTuple tuple)
{
	Form_pg_extension extension = (Form_pg_extension) GETSTRUCT(tuple);
	Oid inner = get_namespace_oid("profstore_internal", true);

	return extension->extnamespace == get_namespace_oid("profstore", true) && OidIsValid(inner) &&
		   getExtensionOfObject(NamespaceRelationId, inner) == extension->oid;
}

/*
 * Returns the extension's catalog row; NULL if the extension does not exist or lacks its schemas.
 */
static HeapTuple
find_extension(Relation catalog)
{
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum("profstore"));
	scan = systable_beginscan(catalog, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	tuple = HeapTupleIsValid(tuple) && has_its_schemas(tuple) ? heap_copytuple(tuple) : NULL;
	systable_endscan(scan);
	return tuple;
}

/*
 * OID of the extension's schema, kept until any schema changes; InvalidOid if it must be looked up.
 */
static Oid known_schema = InvalidOid;

static void
forget_schema(Datum unused, int cache_id, uint32 hash)
{
	known_schema = InvalidOid;
}

Oid
pfs_extension_schema(void)
{
	static bool is_registered = false;
	Relation catalog;
	HeapTuple tuple;

	if (OidIsValid(known_schema))
		return known_schema;
	if (!is_registered)
		CacheRegisterSyscacheCallback(NAMESPACEOID, forget_schema, (Datum) 0);
	is_registered = true;
	catalog = table_open(ExtensionRelationId, AccessShareLock);
	tuple = find_extension(catalog);
	table_close(catalog, AccessShareLock);
	if (tuple == NULL)
		return InvalidOid;
	known_schema = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
	heap_freetuple(tuple);
	return known_schema;
}

/* Returns the version; NULL if the extension does not exist. */
static char *
find_version(void)
{
	Relation catalog = table_open(ExtensionRelationId, AccessShareLock);
	HeapTuple tuple = find_extension(catalog);
	char *version = NULL;

	if (tuple != NULL)
	{
		bool is_null;
		Datum datum =
			heap_getattr(tuple, Anum_pg_extension_extversion, RelationGetDescr(catalog), &is_null);

		version = is_null ? NULL : TextDatumGetCString(datum);
	}
	table_close(catalog, AccessShareLock);
	return version;
}

/*
 * Returns true if the install script that created the functions of this database is the one that
 * the module was built with.
 */
static bool
has_script_of_module(void)
{
	oidvector *no_arguments = buildoidvector(NULL, 0);
	Oid schema = get_namespace_oid("profstore_internal", true);
	HeapTuple function = SearchSysCache3(PROCNAMEARGSNSP, CStringGetDatum("script_hash"),
										 PointerGetDatum(no_arguments), ObjectIdGetDatum(schema));
	bool is_equal;
	bool is_null;
	char *source;

	pfree(no_arguments);
	if (!HeapTupleIsValid(function))
		return false;
	source = TextDatumGetCString(
		SysCacheGetAttr(PROCNAMEARGSNSP, function, Anum_pg_proc_prosrc, &is_null));
	is_equal = strcmp(source, "SELECT '" PFS_SCRIPT_HASH "'") == 0;
	pfree(source);
	ReleaseSysCache(function);
	return is_equal;
}

bool
pfs_extension_is_current(void)
{
	char *version = find_version();
	bool is_current = version != NULL && strcmp(version, PFS_EXTENSION_VERSION) == 0;

	if (version != NULL)
		pfree(version);
	return is_current && has_script_of_module();
}

void
pfs_extension_require_current(void)
{
	const char *version;

	if (pfs_extension_is_current())
		return;
	version = find_version();
	if (version == NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("there is no extension \"profstore\" in a schema \"profstore\""),
						errhint("Run CREATE EXTENSION profstore. If the schemas of the extension "
								"were renamed, rename them back to profstore and "
								"profstore_internal.")));
	if (strcmp(version, PFS_EXTENSION_VERSION) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"profstore\" and its module are of two builds of version %s",
						version),
				 errdetail("Update scripts lead from release to release only."),
				 errhint("Install the build that the extension was created with, dump what is to "
						 "be kept, and restore it with the new build. If the module was replaced "
						 "after this session began, begin another.")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("extension \"profstore\" is of version %s, its module of version %s", version,
					PFS_EXTENSION_VERSION),
			 errhint(
				 "Run ALTER EXTENSION profstore UPDATE; on a standby, wait for its primary to. "
				 "If the extension is the newer one, end the session, or restart the server.")));
}

PG_FUNCTION_INFO_V1(profstore_version);

PGDLLEXPORT Datum
profstore_version(PG_FUNCTION_ARGS)
{
	const char *commit = sizeof(PFS_COMMIT) > 1 ? "commit " PFS_COMMIT ", " : "";

	PG_RETURN_TEXT_P(cstring_to_text(psprintf("profstore %s (%sPostgreSQL %s)",
											  PFS_EXTENSION_VERSION, commit, PG_MAJORVERSION)));
}
