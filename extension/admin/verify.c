/*
 * verify.c
 *		profstore.verify(), and the functions that find a table's segments for views.
 */
#include "profstore.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "admin/traces.h"
#include "admin/verify_keys.h"
#include "base/distributed.h"
#include "base/privileges.h"
#include "base/relations.h"
#include "base/srf.h"
#include "dictionary/seal/verify_names.h"
#include "store/compact/verify_table.h"
#include "store/segment/storage.h"
#include "tableam/table_am.h"

PG_FUNCTION_INFO_V1(profstore_verify);
PG_FUNCTION_INFO_V1(profstore_storage_id);

enum
{
	VERIFY_RELATION,
	VERIFY_SEGMENT,
	VERIFY_STREAM,
	VERIFY_PROBLEM,
	VERIFY_COLUMNS
};

typedef struct Problems
{
	PfsResult result;
	Oid relation_id;
} Problems;

static void
put_problem(void *arg, int64 segment_no, int stream, const char *problem)
{
	const Problems *problems = arg;
	Datum values[VERIFY_COLUMNS];
	bool nulls[VERIFY_COLUMNS] = { false };

	values[VERIFY_RELATION] = ObjectIdGetDatum(problems->relation_id);
	values[VERIFY_SEGMENT] = Int64GetDatum(segment_no);
	nulls[VERIFY_SEGMENT] = segment_no == 0;
	values[VERIFY_STREAM] = Int32GetDatum(stream);
	nulls[VERIFY_STREAM] = stream < 0;
	values[VERIFY_PROBLEM] = CStringGetTextDatum(problem);
	pfs_result_put(&problems->result, values, nulls);
}

/* Reports rows of trace_samples without a sample, if the caller may read trace_samples. */
static void
verify_traces(Problems *problems, Oid relation_id)
{
	Oid traces = pfs_relation_oid("trace_samples");
	int64 count;

	if (pg_class_aclcheck(traces, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		return;
	count = pfs_lost_traces(relation_id);
	if (count > 0)
		put_problem(problems, 0, -1,
					psprintf(INT64_FORMAT " rows of trace_samples have no sample", count));
}

/*
 * Raises a NOTICE for a partition that verify() cannot read: a foreign table, or one of another
 * access method.
 */
static void
skip_relation(Oid relation_id)
{
	char *name = get_rel_name(relation_id);

	if (name != NULL)
		ereport(NOTICE, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("skipping \"%s\": it is not a table of access method \"profstore\"",
								name)));
}

/* Verifies one table. A table that no longer exists has no problem. */
static void
verify_table(Problems *problems, Oid relation_id)
{
	Relation relation = try_relation_open(relation_id, AccessShareLock);

	if (relation == NULL)
		return;
	problems->relation_id = relation_id;
	if (pfs_is_profstore_table(relation))
	{
		pfs_verify_table(relation, GetActiveSnapshot(), pfs_verify_keys(relation), put_problem,
						 problems);
		verify_traces(problems, relation_id);
	}
	else
		skip_relation(relation_id);
	relation_close(relation, AccessShareLock);
}

/*
 * Raises an error unless the relation exists, the caller may SELECT from it, and it is partitioned
 * or has access method profstore.
 */
static void
check_relation(Oid relation_id)
{
	char kind = get_rel_relkind(relation_id);
	AclResult acl;
	Relation relation;

	if (kind == '\0')
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relation_id)));
	acl = pg_class_aclcheck(relation_id, GetUserId(), ACL_SELECT);
	if (acl != ACLCHECK_OK)
		aclcheck_error(acl, get_relkind_objtype(kind), get_rel_name(relation_id));
	if (!pfs_is_spread(relation_id))
		pfs_require_local(relation_id, "verify");
	if (kind == RELKIND_PARTITIONED_TABLE)
		return;
	relation = relation_open(relation_id, AccessShareLock);
	if (!pfs_is_profstore_table(relation))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is not a table of access method \"profstore\"",
							   RelationGetRelationName(relation))));
	relation_close(relation, AccessShareLock);
}

/* Puts the problems that the nodes find in the shards of a table. */
static void
verify_shards(Problems *problems, Oid relation_id)
{
	Oid type = REGCLASSOID;
	Datum value = ObjectIdGetDatum(relation_id);
	PfsCaller caller = pfs_become_owner();

	problems->relation_id = relation_id;
	SPI_connect();
	if (SPI_execute_with_args("SELECT v.segment, v.stream, v.problem FROM "
							  "profstore_internal.verify_shards($1) AS v",
							  1, &type, &value, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not verify shards");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple row = SPI_tuptable->vals[i];
		bool is_null;
		Datum segment = SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &is_null);
		int64 segment_no = is_null ? 0 : DatumGetInt64(segment);
		Datum stream = SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &is_null);

		put_problem(problems, segment_no, is_null ? -1 : DatumGetInt32(stream),
					SPI_getvalue(row, SPI_tuptable->tupdesc, 3));
	}
	SPI_finish();
	pfs_become_caller(caller);
}

/*
 * Reports a problem of packed names. The number of the chunk's row goes into the column for the
 * segment's number.
 */
static void
put_name_problem(void *arg, const char *table, int64 row, const char *problem)
{
	Problems *problems = arg;

	problems->relation_id = pfs_relation_oid(table);
	put_problem(problems, row, -1, problem);
}

PGDLLEXPORT Datum
profstore_verify(PG_FUNCTION_ARGS)
{
	Oid relation_id = PG_GETARG_OID(0);
	Problems problems = { 0 };
	List *tables;
	ListCell *cell;

	PreventCommandIfParallelMode("profstore.verify()");
	check_relation(relation_id);
	problems.result = pfs_result_begin(fcinfo);
	if (pfs_is_spread(relation_id))
		verify_shards(&problems, relation_id);
	tables = pfs_is_spread(relation_id) ? NIL
			 : get_rel_relkind(relation_id) == RELKIND_PARTITIONED_TABLE
				 ? find_all_inheritors(relation_id, NoLock, NULL)
				 : list_make1_oid(relation_id);
	foreach(cell, tables)
	{
		char kind = get_rel_relkind(lfirst_oid(cell));

		if (kind == RELKIND_RELATION || kind == RELKIND_MATVIEW)
			verify_table(&problems, lfirst_oid(cell));
		else if (kind == RELKIND_FOREIGN_TABLE)
			skip_relation(lfirst_oid(cell));
	}
	/* The dictionary has no table that a caller could pass, so it is verified with samples. */
	if (relation_id == pfs_relation_oid("samples"))
		pfs_names_verify(put_name_problem, &problems);
	return (Datum) 0;
}

/*
 * storage_id(rel) -> the key of a table's rows in the directory; NULL if the table no longer exists
 * or does not have access method profstore
 */
PGDLLEXPORT Datum
profstore_storage_id(PG_FUNCTION_ARGS)
{
	Relation relation = try_relation_open(PG_GETARG_OID(0), AccessShareLock);
	bool is_ours = relation != NULL && pfs_is_profstore_table(relation);
	int64 storage_id = is_ours ? pfs_storage_id(relation) : 0;

	if (relation != NULL)
		relation_close(relation, AccessShareLock);
	if (!is_ours)
		PG_RETURN_NULL();
	PG_RETURN_INT64(storage_id);
}
