/*
 * lane.c
 *		Which SQL types the access method stores, and how.
 */
#include "store/lane.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PfsLaneKind
pfs_lane_kind(Oid type_id)
{
	switch (getBaseType(type_id))
	{
		case BOOLOID:
			return PFS_LANE_BOOL;
		case INT2OID:
			return PFS_LANE_INT16;
		case INT4OID:
		case DATEOID:
			return PFS_LANE_INT32;
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return PFS_LANE_INT64;
		case OIDOID:
		case REGCLASSOID:
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGTYPEOID:
		case REGROLEOID:
		case REGNAMESPACEOID:
		case REGCOLLATIONOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
			return PFS_LANE_UINT32;
		case FLOAT4OID:
			return PFS_LANE_FLOAT32;
		case FLOAT8OID:
			return PFS_LANE_FLOAT64;
		default:
			return PFS_LANE_NONE;
	}
}

uint8
pfs_lane_width(PfsLaneKind kind)
{
	switch (kind)
	{
		case PFS_LANE_BOOL:
			return 1;
		case PFS_LANE_INT16:
			return 2;
		case PFS_LANE_INT32:
		case PFS_LANE_UINT32:
		case PFS_LANE_FLOAT32:
			return 4;
		case PFS_LANE_INT64:
		case PFS_LANE_FLOAT64:
		case PFS_LANE_NONE:
			break;
	}
	return 8;
}

bool
pfs_lane_is_ordered(PfsLaneKind kind)
{
	return kind != PFS_LANE_NONE && kind != PFS_LANE_FLOAT32 && kind != PFS_LANE_FLOAT64;
}

void
pfs_lane_check_column(const char *relation_name, const char *column_name, Oid type_id)
{
	if (pfs_lane_kind(type_id) != PFS_LANE_NONE)
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("column \"%s\" of table \"%s\" has type %s, which access method \"profstore\" does "
				"not store",
				column_name, relation_name, format_type_be(type_id)),
		 errhint("Use smallint, integer, bigint, boolean, real, double precision, date, time, "
				 "timestamp, timestamptz, oid or a reg* type, or a domain over one of them; keep "
				 "other values in a heap table and store its key.")));
}

void
pfs_lane_check_columns(const char *relation_name, TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (!attribute->attisdropped)
			pfs_lane_check_column(relation_name, NameStr(attribute->attname), attribute->atttypid);
	}
}
