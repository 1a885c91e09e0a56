/*
 * traces.c
 *		Deletes or counts rows of traces that have lost their samples.
 *
 * A row of trace_samples and its sample have equal time, series and stack. They are stored in one
 * transaction, and removed in one, so that each row has a sample.
 */
#include "admin/traces.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "base/relations.h"

PG_FUNCTION_INFO_V1(profstore_forget_traces);

/* The range of times of a partition. */
static const char BOUNDS[] = "SELECT p.from_ts, p.to_ts FROM profstore.partitions() AS p "
							 "WHERE p.relation OPERATOR(pg_catalog.=) $1";

/* Rows of traces in the partition's range without a sample in the partition. */
static const char LOST[] = "profstore.trace_samples AS t WHERE t.time OPERATOR(pg_catalog.>=) $1 "
						   "AND t.time OPERATOR(pg_catalog.<) $2 AND NOT EXISTS "
						   "(SELECT FROM ONLY %s AS s WHERE s.time OPERATOR(pg_catalog.=) t.time "
						   "AND s.series_id OPERATOR(pg_catalog.=) t.series_id "
						   "AND s.stack_id OPERATOR(pg_catalog.=) t.stack_id)";

static bool
is_of_samples(Oid partition)
{
	return get_rel_relispartition(partition) &&
		   get_partition_parent(partition, true) == pfs_relation_oid("samples");
}

static void
find_bounds(Oid partition, Datum *bounds)
{
	Oid type = REGCLASSOID;
	Datum value = ObjectIdGetDatum(partition);
	bool is_null;

	if (SPI_execute_with_args(BOUNDS, 1, &type, &value, NULL, true, 0) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not find the bounds of partition %u", partition);
	for (int i = 0; i < 2; i++)
		bounds[i] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i + 1, &is_null);
}

/* Runs verb (DELETE or SELECT) on the rows without a sample; returns SPI's result code. */
static int
traces_run(const char *verb, Oid partition, bool read_only)
{
	Oid types[] = { TIMESTAMPTZOID, TIMESTAMPTZOID };
	char *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(partition)),
											get_rel_name(partition));
	StringInfoData sql;
	Datum bounds[2];

	find_bounds(partition, bounds);
	initStringInfo(&sql);
	appendStringInfoString(&sql, verb);
	appendStringInfo(&sql, LOST, name);
	return SPI_execute_with_args(sql.data, lengthof(types), types, bounds, NULL, read_only, 0);
}

int64
pfs_forget_traces(Oid partition)
{
	if (!is_of_samples(partition))
		return 0;
	if (traces_run("DELETE FROM ", partition, false) != SPI_OK_DELETE)
		elog(ERROR, "could not remove rows of traces");
	return (int64) SPI_processed;
}

/* Runs as the owner of trace_samples, who may also read the partitions, and all of their rows. */
int64
pfs_lost_traces(Oid partition)
{
	Relation traces = pfs_table_open("trace_samples", AccessShareLock);
	Oid user;
	int context;
	bool is_null;
	int64 count = 0;

	if (is_of_samples(partition))
	{
		GetUserIdAndSecContext(&user, &context);
		SetUserIdAndSecContext(traces->rd_rel->relowner, context | SECURITY_LOCAL_USERID_CHANGE);
		SPI_connect();
		if (traces_run("SELECT pg_catalog.count(*) FROM ", partition, true) != SPI_OK_SELECT)
			elog(ERROR, "could not count rows of traces");
		count =
			DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
		SPI_finish();
		SetUserIdAndSecContext(user, context);
	}
	table_close(traces, AccessShareLock);
	return count;
}

/* forget_traces(part regclass) -> int8 */
PGDLLEXPORT Datum
profstore_forget_traces(PG_FUNCTION_ARGS)
{
	int64 count;

	SPI_connect();
	count = pfs_forget_traces(PG_GETARG_OID(0));
	SPI_finish();
	PG_RETURN_INT64(count);
}
