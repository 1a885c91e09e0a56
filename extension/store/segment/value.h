/*
 * value.h
 *		Values: columns' numbers as int64, in which the extension stores and computes every type.
 *
 * A number is sign-extended where its type is signed; float4 and float8 are their bits. On a 64-bit
 * server that is also the type's Datum, so reading a value as a Datum costs nothing. Writing goes
 * through pfs_value_of_datum, because a Datum's upper bits are not defined for narrow types.
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
 * The kind of a type, domains resolved to their base type; PFS_VALUE_NONE where it cannot be
 * stored.
 */
PfsValueKind pfs_value_kind(Oid type_id);

/* Bytes of the SQL type: 1, 2, 4 or 8. */
uint8 pfs_value_width(PfsValueKind kind);

/* Whether int64 values of the kind order as those of the SQL type do. */
bool pfs_value_is_ordered(PfsValueKind kind);

/* Raises FEATURE_NOT_SUPPORTED for the first live column whose type cannot be stored. */
void pfs_value_check_columns(const char *relation_name, TupleDesc desc);
void pfs_value_check_column(const char *relation_name, const char *column_name, Oid type_id);

/*
 * The key of a value: numbers that order and are equal as the SQL type's values are. A value is its
 * own key, except for floats (whose NaN are all equal and above all others, whose zeros are equal;
 * the keys of float4 are those of the same float8), and for values of a type that the column had
 * before a change of type without a rewrite, as integer to oid.
 */
int64 pfs_value_key(PfsValueKind kind, int64 value);
/* Least and greatest key that values between *min and *max can have. */
void pfs_value_key_range(PfsValueKind kind, int64 *min, int64 *max);
/* Whether values from min to max are written as the kind writes them. */
bool pfs_value_range_is_native(PfsValueKind kind, int64 min, int64 max);
/* The value as the kind writes it, where another type of its width has written it. */
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
