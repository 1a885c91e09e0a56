/*
 * publications.c
 *		Finds columnar tables in a publication, and publications that include a columnar table:
 *		directly, or through a parent, a schema, or all tables.
 *
 * A command is rejected if it would publish rows that are not replicated. Publications may be older
 * than the extension, or than these checks; then the extension's own tables are created with a
 * WARNING, because losing samples would be worse than not replicating them.
 */
#include "tableam/publications.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_publication.h"
#include "catalog/pg_publication_rel.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/relations.h"
#include "base/version.h"
#include "store/segment/storage.h"

#define ELSEWHERE_HINT "Use streaming replication, or let the collector write to both servers."
#define BY_NAME_HINT   "Publish the other tables by their names; for these use streaming replication."

/*
 * --- columnar tables
 * --------------------------------------------------------------------------------------------
 */

/* Returns true for a columnar table. Reads only the catalog, and opens no table. */
static bool
relation_is_columnar(Oid relation_id)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation_id));
	Oid access_method = get_table_am_oid("profstore", true);
	bool result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result =
		OidIsValid(access_method) && ((Form_pg_class) GETSTRUCT(tuple))->relam == access_method;
	ReleaseSysCache(tuple);
	return result;
}

static bool
is_schema_of_ours(Oid schema)
{
	return OidIsValid(schema) && schema == pfs_extension_schema();
}

/*
 * Returns the table, or one of its partitions, if it is columnar. Samples and tiers count as
 * columnar even without partitions.
 */
static Oid
find_columnar(Oid relation_id)
{
	List *partitions;
	ListCell *cell;

	if (relation_is_columnar(relation_id))
		return relation_id;
	/* Only partitioned tables publish rows of other tables. */
	if (get_rel_relkind(relation_id) != RELKIND_PARTITIONED_TABLE)
		return InvalidOid;
	/* Partitions of samples come later and will be columnar. */
	if (is_schema_of_ours(get_rel_namespace(relation_id)))
		return relation_id;
	/* Without locks: the list serves only to find one columnar partition. */
	partitions = find_all_inheritors(relation_id, NoLock, NULL);
	foreach(cell, partitions)
		if (relation_is_columnar(lfirst_oid(cell)))
			return lfirst_oid(cell);
	return InvalidOid;
}

static Oid
find_columnar_in_schema(Oid schema)
{
	Relation catalog = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	Oid found = InvalidOid;

	ScanKeyInit(&key, Anum_pg_class_relnamespace, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(schema));
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, 1, &key);
	/* pg_class has no index on the schema, so the scan reads the whole catalog. */
	while (!OidIsValid(found) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class class = (Form_pg_class) GETSTRUCT(tuple);

		if (class->relkind == RELKIND_RELATION || class->relkind == RELKIND_PARTITIONED_TABLE)
			found = find_columnar(class->oid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}

/* --- commands on publications --- */

/*
 * Rejects a publication of the directory: the subscriber's tables would look for segments that they
 * do not have, or take others for theirs.
 */
static void
refuse_directory(Oid relation_id)
{
	static const char *const names[] = { "segments", "rollups", "row_ledger" };

	for (int i = 0; i < (int) lengthof(names); i++)
		if (relation_id == pfs_relation_find(names[i]))
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("logical replication is not supported on table \"%s\", which "
								   "belongs to access method \"profstore\"",
								   names[i]),
							errhint(ELSEWHERE_HINT)));
}

/* Raises an error if a table cannot be published, by itself or because of its partitions. */
static void
refuse_relation(Oid relation_id)
{
	Oid columnar = find_columnar(relation_id);

	/* The directory is heap, so find_columnar() would not find it. */
	refuse_directory(relation_id);
	if (OidIsValid(columnar) && relation_is_columnar(relation_id))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("logical replication is not supported on table \"%s\", which uses access "
						"method \"profstore\"",
						get_rel_name(relation_id)),
				 errhint(ELSEWHERE_HINT)));
	if (OidIsValid(columnar))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("logical replication is not supported on table \"%s\", whose partitions "
						"use access method \"profstore\"",
						get_rel_name(relation_id)),
				 /* If no partition exists yet, the table itself stands for them. */
				 columnar != relation_id
					 ? errdetail("One of them is \"%s\".", get_rel_name(columnar))
					 : 0,
				 errhint(ELSEWHERE_HINT)));
}

static void
refuse_schema(Oid schema)
{
	Oid columnar = find_columnar_in_schema(schema);

	if (OidIsValid(columnar))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("logical replication is not supported on schema \"%s\", which has tables "
						"that use access method \"profstore\"",
						get_namespace_name(schema)),
				 errdetail("One of them is \"%s\".", get_rel_name(columnar)),
				 errhint(BY_NAME_HINT)));
}

static void
refuse_all_tables(void)
{
	/* The access method exists only in a database with the extension. */
	if (OidIsValid(get_table_am_oid("profstore", true)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("logical replication of all tables is not supported in a database "
						"with access method \"profstore\""),
				 errdetail("Rows of its tables are not replicated, but those of its directory are, "
						   "which would damage tables of the subscriber."),
				 errhint(BY_NAME_HINT)));
}

static void
check_relation_entry(HeapTuple tuple)
{
	refuse_relation(((Form_pg_publication_rel) GETSTRUCT(tuple))->prrelid);
}

static void
check_schema_entry(HeapTuple tuple)
{
	refuse_schema(((Form_pg_publication_namespace) GETSTRUCT(tuple))->pnnspid);
}

static void
check_publication_row(HeapTuple tuple)
{
	if (((Form_pg_publication) GETSTRUCT(tuple))->puballtables)
		refuse_all_tables();
}

/*
 * Checks the rows of a catalog that have a key value, including those that the current command has
 * written. Not all catalogs have an index for the key, so the scan uses none; these catalogs have
 * few rows.
 */
static void
check_rows(Oid catalog_id, AttrNumber key_column, Oid key_value, void (*check)(HeapTuple tuple))
{
	Relation catalog;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	/*
	 * pg_upgrade restores publications without checks; PostgreSQL 14 lacks the catalog of schemas
	 */
	if (IsBinaryUpgrade || !OidIsValid(catalog_id))
		return;
	catalog = table_open(catalog_id, AccessShareLock);
	ScanKeyInit(&key, key_column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(key_value));
	/*
	 * The row was written by the command that runs now; SnapshotSelf sees it, a catalog snapshot
	 * does not yet.
	 */
	scan = systable_beginscan(catalog, InvalidOid, false, SnapshotSelf, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		check(tuple);
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

void
pfs_publication_check(Oid publication)
{
	check_rows(PublicationRelationId, Anum_pg_publication_oid, publication, check_publication_row);
	check_rows(PublicationRelRelationId, Anum_pg_publication_rel_prpubid, publication,
			   check_relation_entry);
	check_rows(PublicationNamespaceRelationId, Anum_pg_publication_namespace_pnpubid, publication,
			   check_schema_entry);
}

void
pfs_published_relation_check(Oid entry)
{
	check_rows(PublicationRelRelationId, Anum_pg_publication_rel_oid, entry, check_relation_entry);
}

void
pfs_published_schema_check(Oid entry)
{
	check_rows(PublicationNamespaceRelationId, Anum_pg_publication_namespace_oid, entry,
			   check_schema_entry);
}

/*
 * --- commands on tables
 * ------------------------------------------------------------------------------------------
 */

/* Reports a columnar table of a schema that is published as part of the schema or of all tables. */
static void
publication_refuse(const char *name, List *publications, const char *through,
				   const char *through_name, Oid schema)
{
	/* pg_upgrade restores what the old server allowed. */
	if (publications == NIL || IsBinaryUpgrade)
		return;
	/*
	 * The extension creates partitions by itself, for samples that arrive; an error would lose
	 * these.
	 */
	ereport(is_schema_of_ours(schema) ? WARNING : ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("logical replication is not supported on table \"%s\", which uses access "
					"method \"profstore\"",
					name),
			 errdetail("Publication \"%s\" contains it through %s \"%s\".",
					   get_publication_name(linitial_oid(publications), false), through,
					   through_name),
			 errhint(ELSEWHERE_HINT)));
}

static void
check_ancestor(const char *name, Oid ancestor)
{
	Oid schema = get_rel_namespace(ancestor);

	publication_refuse(name, GetRelationPublications(ancestor), "table", get_rel_name(ancestor),
					   schema);
	publication_refuse(name, GetSchemaPublications(schema), "schema", get_namespace_name(schema),
					   schema);
}

void
pfs_publications_check_move(Oid relation_id, Oid schema)
{
	Oid columnar = find_columnar(relation_id);

	if (OidIsValid(columnar))
		publication_refuse(get_rel_name(columnar), GetSchemaPublications(schema), "schema",
						   get_namespace_name(schema), schema);
}

void
pfs_publications_check_table(const char *name, Oid schema)
{
	List *all_tables = GetAllTablesPublications();

	publication_refuse(name, GetSchemaPublications(schema), "schema", get_namespace_name(schema),
					   schema);
	/*
	 * A WARNING instead of an error: such a publication is older than the extension, and every
	 * table would be refused.
	 */
	if (all_tables != NIL && !IsBinaryUpgrade)
		ereport(WARNING, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						  errmsg("rows of table \"%s\" are not replicated", name),
						  errdetail("Publication \"%s\" is for all tables, but access method "
									"\"profstore\" has no logical replication.",
									get_publication_name(linitial_oid(all_tables), false)),
						  errhint("Create the publication again, with a list of tables.")));
}

void
pfs_publications_check_conversion(Oid relation_id)
{
	const char *name = get_rel_name(relation_id);
	List *ancestors;
	ListCell *cell;

	/* A table that was columnar already was checked when it was created. */
	if (relation_is_columnar(relation_id))
		return;
	ancestors = get_partition_ancestors(relation_id);
	/*
	 * Both the table and all its parents may be published, the parents with all their partitions.
	 */
	check_ancestor(name, relation_id);
	foreach(cell, ancestors)
		check_ancestor(name, lfirst_oid(cell));
}

void
pfs_publications_check_partition(Oid child, Oid parent)
{
	Oid columnar = find_columnar(child);
	List *ancestors;
	ListCell *cell;

	if (!OidIsValid(columnar) || get_rel_relkind(parent) != RELKIND_PARTITIONED_TABLE)
		return;
	/* The new partition is published through any ancestor, not only through its parent. */
	ancestors = lcons_oid(parent, get_partition_ancestors(parent));
	foreach(cell, ancestors)
		check_ancestor(get_rel_name(columnar), lfirst_oid(cell));
}
