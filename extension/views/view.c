/*
 * view.c
 *		What views have in common.
 */
#include "views/view.h"

#include "tree/flame_rows.h"

uint32
pfs_max_nodes_get(FunctionCallInfo fcinfo, int argument)
{
	int32 max_nodes;

	if (PG_ARGISNULL(argument))
		return PFS_NO_ROW_LIMIT;
	max_nodes = PG_GETARG_INT32(argument);
	if (max_nodes < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("max_nodes must be at least 1"),
				 errhint("NULL takes the limit away.")));
	return (uint32) max_nodes;
}

int64
pfs_max_rows_get(FunctionCallInfo fcinfo, int argument)
{
	int64 max_rows = PG_ARGISNULL(argument) ? PG_INT64_MAX : PG_GETARG_INT32(argument);

	if (max_rows < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("max_rows must not be negative"),
				 errhint("NULL takes the limit away.")));
	return max_rows;
}

Datum
pfs_share_or_null(double value, double whole, bool *is_null)
{
	*is_null = whole == 0;
	return Float8GetDatum(whole == 0 ? 0 : value / whole);
}
