/*
 * agg_result.c
 *		Computes results and transition states of aggregates.
 */
#include "tableam/nodes/agg_result.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "store/segment/value.h"

#define INT128_DIGITS	 40
#define NUMERIC_BASE	 10000
/* sign of a positive number in numeric's binary form */
#define NUMERIC_POSITIVE 0x0000
#define NUMERIC_NEGATIVE 0x4000

static bool
fits_int64(int128 value)
{
	return value >= PG_INT64_MIN && value <= PG_INT64_MAX;
}

static Numeric
numeric_of_int128(int128 value)
{
	char digits[INT128_DIGITS + 1];
	char *first = digits + INT128_DIGITS;
	bool is_negative = value < 0;
	/* The negation has no sign, because the least int128 has no positive counterpart. */
	uint128 rest = is_negative ? -(uint128) value : (uint128) value;

	/* The frequent case has a function of its own. */
	if (fits_int64(value))
		return int64_to_numeric((int64) value);
	*first = '\0';
	for (; rest > 0; rest /= 10)
		*--first = (char) ('0' + (int) (rest % 10));
	if (is_negative)
		*--first = '-';
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(first),
											   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

static Datum
int8_of_sum(int128 sum)
{
	if (!fits_int64(sum))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range")));
	return Int64GetDatum((int64) sum);
}

static Datum
result_average(int64 count, int128 sum)
{
	return DirectFunctionCall2(numeric_div, NumericGetDatum(numeric_of_int128(sum)),
							   NumericGetDatum(int64_to_numeric(count)));
}

/*
 * Returns the transition state of sum(int8) and avg(int8), as int8_avg_serialize() writes it: the
 * count, and the sum as a numeric. The fields of a numeric's header have 16 bits before PostgreSQL
 * 15, and 32 bits from 15 on.
 */
static Datum
serialised_sum(int64 count, int128 sum)
{
	int16 digits[INT128_DIGITS / 4 + 1];
	int digit_count = 0;
	uint128 rest = sum < 0 ? -(uint128) sum : (uint128) sum;
	StringInfoData buffer;

	/* Digits are collected from the last to the first and sent in the reverse order. */
	for (; rest > 0; rest /= NUMERIC_BASE)
		digits[digit_count++] = (int16) (rest % NUMERIC_BASE);

	pq_begintypsend(&buffer);
	pq_sendint64(&buffer, (uint64) count);
	PFS_SEND_NUMERIC_FIELD(&buffer, digit_count);
	PFS_SEND_NUMERIC_FIELD(&buffer, Max(digit_count - 1, 0)); /* weight of the first digit */
	PFS_SEND_NUMERIC_FIELD(&buffer, sum < 0 ? NUMERIC_NEGATIVE : NUMERIC_POSITIVE);
	PFS_SEND_NUMERIC_FIELD(&buffer, 0); /* scale */
	for (int i = digit_count - 1; i >= 0; i--)
		pq_sendint16(&buffer, (uint16) digits[i]);
	return PointerGetDatum(pq_endtypsend(&buffer));
}

/* Returns the transition state of avg(int4) and avg(int2). */
static Datum
count_and_sum(int64 count, int128 sum)
{
	Datum elements[2] = { Int64GetDatum(count), int8_of_sum(sum) };

	return PointerGetDatum(
		construct_array(elements, 2, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

static Datum
partial_result(const PfsAggSpec *spec, const int64 *state, bool *is_null)
{
	int64 count = state[PFS_AGG_COUNT_WORD];
	int128 sum = pfs_agg_get_sum(state);

	/*
	 * sum(int8) and avg(int8) have one transition type, which counts rows also if there are none.
	 */
	if (spec->type == INT8OID)
		return serialised_sum(count, sum);
	if (spec->kind == PFS_AGG_AVG)
		return count_and_sum(count, sum);
	/* sum(int4) and sum(int2) have the sum itself as transition state. */
	*is_null = count == 0;
	return *is_null ? 0 : int8_of_sum(sum);
}

Datum
pfs_agg_result(const PfsAggSpec *spec, bool is_partial, const int64 *state, bool *is_null)
{
	int64 count = state[PFS_AGG_COUNT_WORD];

	*is_null = false;
	if (spec->kind == PFS_AGG_COUNT_ROWS || spec->kind == PFS_AGG_COUNT)
		return Int64GetDatum(count);
	if (is_partial && (spec->kind == PFS_AGG_SUM || spec->kind == PFS_AGG_AVG))
		return partial_result(spec, state, is_null);
	/* An aggregate of no rows is NULL, except counts. */
	*is_null = count == 0;
	if (*is_null)
		return 0;
	if (spec->kind == PFS_AGG_AVG)
		return result_average(count, pfs_agg_get_sum(state));
	if (spec->kind == PFS_AGG_SUM)
		return spec->type == INT8OID ? NumericGetDatum(numeric_of_int128(pfs_agg_get_sum(state)))
									 : int8_of_sum(pfs_agg_get_sum(state));
	return pfs_datum_of_value(state[PFS_AGG_VALUE_WORD]);
}
