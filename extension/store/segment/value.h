/*
 * value.h
 *		Values: the int64 form in which the extension stores and computes every column type.
 *
 * A number is sign-extended if its type is signed; float4 and float8 are stored as their bits. On a
 * 64-bit server the value is also the type's Datum, so reading a value as a Datum costs nothing.
 * Writing goes through pfs_value_of_datum(), because the upper bits of a Datum are undefined for
 * narrow types.
 */
#ifndef PFS_VALUE_H
#define PFS_VALUE_H

#include "profstore.h"

#include "access/tupdesc.h"

StaticAssertDecl(sizeof(Datum) == 8, "profstore needs a 64-bit server");

typedef enum PfsValueKind
{
	PFS_VALUE_NONE, /* a type that cannot be stored */
	PFS_VALUE_BOOL,
	PFS_VALUE_INT16,
	PFS_VALUE_INT32,
	PFS_VALUE_INT64,
	PFS_VALUE_UINT32,
	PFS_VALUE_FLOAT32,
	PFS_VALUE_FLOAT64
} PfsValueKind;

/*
 * Returns the kind of a type, or of the base type of a domain; PFS_VALUE_NONE if it cannot be
 * stored.
 */
PfsValueKind pfs_value_kind(Oid type_id);

/* Returns the bytes of the SQL type: 1, 2, 4 or 8. */
uint8 pfs_value_width(PfsValueKind kind);

/* Returns true if int64 values of the kind sort like those of the SQL type. */
bool pfs_value_is_ordered(PfsValueKind kind);

/*
 * Raise FEATURE_NOT_SUPPORTED if the column's type, or that of any live column, cannot be stored.
 */
void pfs_value_check_columns(const char *relation_name, TupleDesc desc);
void pfs_value_check_column(const char *relation_name, const char *column_name, Oid type_id);

/*
 * Returns the key of a value: a number that sorts and compares like the SQL value. For most values
 * it is the value itself. For floats, all NaN have one key above all other numbers, both zeros have
 * one key, and a float4 has the key of the equal float8. A value stored before a change of the
 * column's type that needed no rewrite, for example from integer to oid, has the key of its present
 * type.
 */
int64 pfs_value_key(PfsValueKind kind, int64 value);
/* Replaces *min and *max by the least and greatest key of values between them. */
void pfs_value_key_range(PfsValueKind kind, int64 *min, int64 *max);
/* Returns true if all values from min to max have the form in which this kind is written. */
bool pfs_value_range_is_native(PfsValueKind kind, int64 min, int64 max);
/*
 * Returns the value in the form in which this kind is written. The value may come from another type
 * of equal width.
 */
int64 pfs_value_native(PfsValueKind kind, int64 value);

static inline int64
pfs_value_of_datum(PfsValueKind kind, Datum datum)
{
	switch (kind)
	{
		case PFS_VALUE_BOOL:
			return DatumGetBool(datum) ? 1 : 0;
		case PFS_VALUE_INT16:
			return DatumGetInt16(datum);
		case PFS_VALUE_INT32:
		case PFS_VALUE_FLOAT32:
			return DatumGetInt32(datum);
		case PFS_VALUE_UINT32:
			return (int64) DatumGetUInt32(datum);
		case PFS_VALUE_INT64:
		case PFS_VALUE_FLOAT64:
		case PFS_VALUE_NONE:
			break;
	}
	return DatumGetInt64(datum);
}

static inline Datum
pfs_datum_of_value(int64 value)
{
	return Int64GetDatum(value);
}

#endif
