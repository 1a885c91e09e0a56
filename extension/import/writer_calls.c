/*
 * writer_calls.c
 *		Calls the SQL functions for writers from C.
 */
#include "profstore.h"

#include "executor/spi.h"
#include "utils/array.h"

#include "import/writer_calls.h"

/* Number of statements in this room. */
#define PLANS_MAX 8

Datum
pfs_varlena_array(Datum *elements, uint32 count, Oid type)
{
	return PointerGetDatum(construct_array(elements, (int) count, type, -1, false, TYPALIGN_INT));
}

/* Returns the plan of a statement, and makes it on the first call. */
static SPIPlanPtr
get_plan(const char *sql, int argument_count, Oid *types)
{
	static struct
	{
		const char *sql;
		SPIPlanPtr plan;
	} kept[PLANS_MAX];
	int i = 0;

	while (i < PLANS_MAX && kept[i].sql != NULL && kept[i].sql != sql)
		i++;
	if (i == PLANS_MAX)
		elog(ERROR, "too many statements of imports");
	if (kept[i].sql == NULL)
	{
		SPIPlanPtr plan = SPI_prepare(sql, argument_count, types);

		if (plan == NULL)
			elog(ERROR, "could not prepare \"%s\": %s", sql, SPI_result_code_string(SPI_result));
		SPI_keepplan(plan);
		kept[i].plan = plan;
		kept[i].sql = sql;
	}
	return kept[i].plan;
}

uint64
pfs_writer_call(const char *sql, int argument_count, Oid *types, Datum *values)
{
	int code = SPI_execute_plan(get_plan(sql, argument_count, types), values, NULL, false, 0);

	if (code < 0)
		elog(ERROR, "could not run \"%s\": %s", sql, SPI_result_code_string(code));
	return SPI_processed;
}

void *
pfs_writer_ids(const char *sql, int argument_count, Oid *types, Datum *values, uint32 count)
{
	bool is_null;
	ArrayType *array;

	pfs_writer_call(sql, argument_count, types, values);
	array = DatumGetArrayTypeP(
		SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
	if (ARR_NDIM(array) != 1 || (uint32) ARR_DIMS(array)[0] != count)
		elog(ERROR, "\"%s\" did not return %u ids", sql, count);
	return ARR_DATA_PTR(array);
}
