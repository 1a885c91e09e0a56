/*
 * lane.h
 *		Lanes: the int64 form in which the extension stores and computes every column type.
 *
 * A lane is the value itself, sign-extended where its type is signed; float4 and float8 are their
 * bits. On a 64-bit server that is also the type's Datum, so reading a lane as a Datum costs
 * nothing. Writing goes through pfs_lane_of_datum, because a Datum's upper bits are not defined for
 * narrow types.
 */
#ifndef PFS_LANE_H
#define PFS_LANE_H

#include "profstore.h"

#include "access/tupdesc.h"

StaticAssertDecl(sizeof(Datum) == 8, "profstore needs a 64-bit server");

typedef enum PfsLaneKind
{
	PFS_LANE_NONE, /* a type that cannot be stored */
	PFS_LANE_BOOL,
	PFS_LANE_INT16,
	PFS_LANE_INT32,
	PFS_LANE_INT64,
	PFS_LANE_UINT32,
	PFS_LANE_FLOAT32,
	PFS_LANE_FLOAT64
} PfsLaneKind;

/*
 * The kind of a type, domains resolved to their base type; PFS_LANE_NONE where it cannot be stored.
 */
PfsLaneKind pfs_lane_kind(Oid type_id);

/* Bytes of the SQL type: 1, 2, 4 or 8. */
uint8 pfs_lane_width(PfsLaneKind kind);

/* Whether lanes of the kind order as the values do. */
bool pfs_lane_is_ordered(PfsLaneKind kind);

/* Raises FEATURE_NOT_SUPPORTED for the first live column whose type cannot be stored. */
void pfs_lane_check_columns(const char *relation_name, TupleDesc desc);
void pfs_lane_check_column(const char *relation_name, const char *column_name, Oid type_id);

/*
 * The key of a lane: numbers that order and are equal as the SQL type's values are. A lane is its
 * own key, except for floats (whose NaN are all equal and above all others, whose zeros are equal;
 * the keys of float4 are those of the same float8), and for lanes of a type that the column had
 * before a change of type without a rewrite, as integer to oid.
 */
int64 pfs_lane_key(PfsLaneKind kind, int64 lane);
/* Least and greatest key that lanes between *min and *max can have. */
void pfs_lane_key_range(PfsLaneKind kind, int64 *min, int64 *max);
/* Whether lanes from min to max are written as the kind writes them. */
bool pfs_lane_range_is_native(PfsLaneKind kind, int64 min, int64 max);
/* The lane as the kind writes it, where another type of its width has written it. */
int64 pfs_lane_native(PfsLaneKind kind, int64 lane);

static inline int64
pfs_lane_of_datum(PfsLaneKind kind, Datum datum)
{
	switch (kind)
	{
		case PFS_LANE_BOOL:
			return DatumGetBool(datum) ? 1 : 0;
		case PFS_LANE_INT16:
			return DatumGetInt16(datum);
		case PFS_LANE_INT32:
		case PFS_LANE_FLOAT32:
			return DatumGetInt32(datum);
		case PFS_LANE_UINT32:
			return (int64) DatumGetUInt32(datum);
		case PFS_LANE_INT64:
		case PFS_LANE_FLOAT64:
		case PFS_LANE_NONE:
			break;
	}
	return DatumGetInt64(datum);
}

static inline Datum
pfs_datum_of_lane(int64 lane)
{
	return Int64GetDatum(lane);
}

#endif
