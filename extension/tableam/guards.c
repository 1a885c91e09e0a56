/*
 * guards.c
 *		DDL on profstore tables: rejects early what is not supported, with a reason, and deletes all
 *		data of dropped tables.
 *
 * All of this is called by object_access_hook. The hook is set once the module is loaded, and
 * opening any profstore table loads the module. Only DROP can work without opening one, so an event
 * trigger loads the module before each command that drops tables.
 */
#include "tableam/access.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_publication.h"
#include "catalog/pg_publication_rel.h"
#include "catalog/pg_trigger.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "store/segment/value.h"
#include "tableam/publications.h"
#include "tableam/table_am.h"

PGDLLEXPORT Datum profstore_load_module(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(profstore_load_module);

static object_access_hook_type previous_hook = NULL;

/*
 * Opens a table if it uses the access method, otherwise returns NULL. The relation may be so new
 * that only this backend's cache contains it. The command already holds a lock.
 */
static Relation
open_profstore_table(Oid relation_id)
{
	Relation relation = RelationIdGetRelation(relation_id);

	if (RelationIsValid(relation) && !pfs_is_profstore_table(relation))
	{
		RelationClose(relation);
		return NULL;
	}
	return relation;
}

/*
 * A rewrite creates its new file as a temporary relation whose name contains the OID of the
 * rewritten table. Returns that table, whose name the user knows.
 */
static Oid
rewritten_table(Relation relation, bool is_internal)
{
	Oid relation_id;

	/* Only internal relations have such names; a user's table "pg_temp_1" is no rewrite. */
	if (is_internal && sscanf(RelationGetRelationName(relation), "pg_temp_%u", &relation_id) == 1 &&
		get_rel_name(relation_id) != NULL)
		return relation_id;
	return InvalidOid;
}

/* Checks columns and publications of a table that was created or is being rewritten. */
static void
check_new_table(Oid relation_id, bool is_internal)
{
	Relation relation = open_profstore_table(relation_id);
	const char *name;
	Oid rewritten;

	if (relation == NULL)
		return;
	/* A rewrite checks the types of the new file's columns under the old table's name. */
	rewritten = rewritten_table(relation, is_internal);
	name = OidIsValid(rewritten) ? get_rel_name(rewritten) : RelationGetRelationName(relation);
	pfs_value_check_columns(name, RelationGetDescr(relation));
	if (OidIsValid(rewritten))
		pfs_publications_check_conversion(rewritten);
	else
		pfs_publications_check_table(name, RelationGetNamespace(relation));
	RelationClose(relation);
}

/*
 * Returns a copy of a catalog row that the current command has written, as SnapshotSelf sees it;
 * the caller frees it.
 */
static HeapTuple
fetch_own_row(Oid catalog, Oid index, ScanKey keys, int key_count)
{
	Relation relation = table_open(catalog, AccessShareLock);
	SysScanDesc scan = systable_beginscan(relation, index, true, SnapshotSelf, key_count, keys);
	HeapTuple tuple = systable_getnext(scan);

	if (HeapTupleIsValid(tuple))
		tuple = heap_copytuple(tuple);
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return tuple;
}

static void
table_check_column(Oid relation_id, int attnum)
{
	Relation relation = open_profstore_table(relation_id);
	ScanKeyData keys[2];
	HeapTuple tuple;

	if (relation == NULL)
		return;
	ScanKeyInit(&keys[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relation_id));
	ScanKeyInit(&keys[1], Anum_pg_attribute_attnum, BTEqualStrategyNumber, F_INT2EQ,
				Int16GetDatum((int16) attnum));
	tuple = fetch_own_row(AttributeRelationId, AttributeRelidNumIndexId, keys, 2);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_attribute attribute = (Form_pg_attribute) GETSTRUCT(tuple);

		/* DROP COLUMN alters the row, too; the type of a dropped column is unknown. */
		if (!attribute->attisdropped)
			pfs_value_check_column(RelationGetRelationName(relation), NameStr(attribute->attname),
								   attribute->atttypid);
		heap_freetuple(tuple);
	}
	RelationClose(relation);
}

/*
 * Rejects row triggers that run later, because they fetch their row by its address. Foreign keys
 * are such triggers.
 */
static void
check_trigger(Oid trigger_id)
{
	ScanKeyData key;
	HeapTuple tuple;
	Form_pg_trigger trigger;
	Relation relation;

	ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(trigger_id));
	tuple = fetch_own_row(TriggerRelationId, TriggerOidIndexId, &key, 1);
	if (!HeapTupleIsValid(tuple))
		return;

	trigger = (Form_pg_trigger) GETSTRUCT(tuple);
	relation = open_profstore_table(trigger->tgrelid);
	/* tgconstrrelid is the other table of a foreign key's trigger. */
	if (relation != NULL && OidIsValid(trigger->tgconstrrelid))
		pfs_unsupported(relation, "a foreign key",
						"Check references when rows are written, or when they are joined.");
	if (relation != NULL && TRIGGER_FOR_ROW(trigger->tgtype) && TRIGGER_FOR_AFTER(trigger->tgtype))
		pfs_unsupported(relation, "an AFTER ROW trigger",
						"Use a BEFORE ROW trigger, or an AFTER STATEMENT trigger with a transition "
						"table.");
	if (relation != NULL)
		RelationClose(relation);
	heap_freetuple(tuple);
}

/* Checks the publications of the schema to which a table moves, which would include the table. */
static void
check_move(Oid relation_id)
{
	ScanKeyData key;
	HeapTuple tuple;
	Oid schema;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relation_id));
	tuple = fetch_own_row(RelationRelationId, ClassOidIndexId, &key, 1);
	if (!HeapTupleIsValid(tuple))
		return;
	/* The syscache still has the old schema, the row has the new one. */
	schema = ((Form_pg_class) GETSTRUCT(tuple))->relnamespace;
	if (schema != get_rel_namespace(relation_id))
		pfs_publications_check_move(relation_id, schema);
	heap_freetuple(tuple);
}

static void
on_create(Oid class_id, Oid object_id, int sub_id, bool is_internal)
{
	/* sub_id is the number of a column; 0 is the table itself. */
	if (class_id == RelationRelationId && sub_id == 0)
		check_new_table(object_id, is_internal);
	else if (class_id == RelationRelationId)
		table_check_column(object_id, sub_id);
	else if (class_id == TriggerRelationId)
		check_trigger(object_id);
	else if (class_id == PublicationRelationId)
		pfs_publication_check(object_id);
	else if (class_id == PublicationRelRelationId)
		pfs_published_relation_check(object_id);
	else if (class_id == PublicationNamespaceRelationId)
		pfs_published_schema_check(object_id);
}

/*
 * Deletes the directory rows of a dropped table. Opens a relation only if pg_class says that it is
 * one of our tables.
 */
static void
on_drop(Oid relation_id)
{
	/* The hook runs in all databases, also in those without the access method. */
	Oid access_method = get_table_am_oid("profstore", true);
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation_id));
	bool is_ours = false;
	Relation relation;

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_class class = (Form_pg_class) GETSTRUCT(tuple);

		/* Indexes and partitioned tables have no storage of this kind. */
		is_ours = OidIsValid(access_method) && class->relam == access_method &&
				  (class->relkind == RELKIND_RELATION || class->relkind == RELKIND_MATVIEW);
		ReleaseSysCache(tuple);
	}
	if (!is_ours)
		return;
	/* DROP holds an exclusive lock. */
	relation = relation_open(relation_id, NoLock);
	pfs_relation_dropped(relation);
	relation_close(relation, NoLock);
}

static void
object_access(ObjectAccessType access, Oid class_id, Oid object_id, int sub_id, void *arg)
{
	if (previous_hook != NULL)
		previous_hook(access, class_id, object_id, sub_id, arg);

	if (access == OAT_POST_CREATE)
		on_create(class_id, object_id, sub_id,
				  arg != NULL && ((ObjectAccessPostCreate *) arg)->is_internal);
	else if (access == OAT_POST_ALTER && class_id == RelationRelationId && sub_id != 0)
		table_check_column(object_id, sub_id);
	else if (access == OAT_POST_ALTER && class_id == RelationRelationId)
		check_move(object_id);
	else if (access == OAT_POST_ALTER && class_id == InheritsRelationId)
		pfs_publications_check_partition(object_id, ((ObjectAccessPostAlter *) arg)->auxiliary_id);
	else if (access == OAT_DROP && class_id == RelationRelationId && sub_id == 0)
		on_drop(object_id);
}

/* Implements an event trigger that does nothing: calling it loads the module. */
Datum
profstore_load_module(PG_FUNCTION_ARGS)
{
	PG_RETURN_NULL();
}

void
pfs_access_init(void)
{
	pfs_table_am_init();
	previous_hook = object_access_hook;
	object_access_hook = object_access;
	pfs_executor_guard_init();
}
