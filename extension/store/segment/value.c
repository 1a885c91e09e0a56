/*
 * value.c
 *		Converts SQL values of the supported types to int64 and back.
 */
#include "store/segment/value.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PfsValueKind
pfs_value_kind(Oid type_id)
{
	/* A domain is stored like its base type; constraints were checked before the insert. */
	switch (getBaseType(type_id))
	{
		case BOOLOID:
			return PFS_VALUE_BOOL;
		case INT2OID:
			return PFS_VALUE_INT16;
		case INT4OID:
		case DATEOID:
			return PFS_VALUE_INT32;
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return PFS_VALUE_INT64;
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
			return PFS_VALUE_UINT32;
		case FLOAT4OID:
			return PFS_VALUE_FLOAT32;
		case FLOAT8OID:
			return PFS_VALUE_FLOAT64;
		default:
			return PFS_VALUE_NONE;
	}
}

uint8
pfs_value_width(PfsValueKind kind)
{
	switch (kind)
	{
		case PFS_VALUE_BOOL:
			return 1;
		case PFS_VALUE_INT16:
			return 2;
		case PFS_VALUE_INT32:
		case PFS_VALUE_UINT32:
		case PFS_VALUE_FLOAT32:
			return 4;
		case PFS_VALUE_INT64:
		case PFS_VALUE_FLOAT64:
		case PFS_VALUE_NONE:
			break;
	}
	return 8;
}

bool
pfs_value_is_ordered(PfsValueKind kind)
{
	return kind != PFS_VALUE_NONE && kind != PFS_VALUE_FLOAT32 && kind != PFS_VALUE_FLOAT64;
}

int64
pfs_value_native(PfsValueKind kind, int64 value)
{
	switch (kind)
	{
		/*
		 * A column altered from int4 to oid, or back, keeps stored values: only their lower 32 bits
		 * count.
		 */
		case PFS_VALUE_UINT32:
			return (int64) (uint32) value;
		case PFS_VALUE_INT32:
		case PFS_VALUE_FLOAT32:
			return (int32) value;
		default:
			return value;
	}
}

bool
pfs_value_range_is_native(PfsValueKind kind, int64 min, int64 max)
{
	return pfs_value_native(kind, min) == min && pfs_value_native(kind, max) == max;
}

static int64
float8_key(double value)
{
	int64 bits;

	/* PostgreSQL sorts NaN after all other numbers, and -0 equal to 0. */
	if (isnan(value))
		return PG_INT64_MAX;
	if (value == 0)
		return 0;
	memcpy(&bits, &value, sizeof(bits));
	/* the bits of negative floats rise as the numbers fall, so invert them */
	return bits < 0 ? bits ^ PG_INT64_MAX : bits;
}

int64
pfs_value_key(PfsValueKind kind, int64 value)
{
	switch (kind)
	{
		case PFS_VALUE_UINT32:
		case PFS_VALUE_INT32:
			return pfs_value_native(kind, value);
		case PFS_VALUE_FLOAT32:
			return float8_key(DatumGetFloat4(pfs_datum_of_value(value)));
		case PFS_VALUE_FLOAT64:
			return float8_key(DatumGetFloat8(pfs_datum_of_value(value)));
		default:
			return value;
	}
}

void
pfs_value_key_range(PfsValueKind kind, int64 *min, int64 *max)
{
	bool is_float = kind == PFS_VALUE_FLOAT32 || kind == PFS_VALUE_FLOAT64;

	if (!pfs_value_range_is_native(kind, *min, *max) || (is_float && *min < 0))
	{
		/*
		 * the order of negative floats is reversed, and the range may include NaN, so no bound is
		 * known
		 */
		*min = PG_INT64_MIN;
		*max = PG_INT64_MAX;
	}
	else if (is_float)
	{
		*min = pfs_value_key(kind, *min);
		*max = pfs_value_key(kind, *max);
	}
}

void
pfs_value_check_column(const char *relation_name, const char *column_name, Oid type_id)
{
	if (pfs_value_kind(type_id) != PFS_VALUE_NONE)
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
pfs_value_check_columns(const char *relation_name, TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (!attribute->attisdropped)
			pfs_value_check_column(relation_name, NameStr(attribute->attname), attribute->atttypid);
	}
}
