/*
 * writer_calls.c
 *		The SQL functions that every writer calls, called from C.
 */
#include "profstore.h"

#include "executor/spi.h"
#include "utils/array.h"

#include "import/writer_calls.h"

Datum
pfs_varlena_array(Datum *elements, uint32 count, Oid type)
{
	return PointerGetDatum(construct_array(elements, (int) count, type, -1, false, TYPALIGN_INT));
}

uint64
pfs_writer_call(const char *sql, int argument_count, Oid *types, Datum *values)
{
	int code = SPI_execute_with_args(sql, argument_count, types, values, NULL, false, 0);

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
