/*
 * view.c
 *		Helpers that several views use.
 */
#include "views/view.h"

#include "base/arguments.h"
#include "tree/flame_rows.h"

uint32
pfs_max_nodes_get(FunctionCallInfo fcinfo)
{
	const Datum *argument = pfs_argument(fcinfo, "max_nodes");
	int32 max_nodes;

	if (argument == NULL)
		return PFS_NO_ROW_LIMIT;
	max_nodes = DatumGetInt32(*argument);
	if (max_nodes < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("max_nodes must be at least 1"), errhint("NULL means no limit.")));
	return (uint32) max_nodes;
}

int64
pfs_max_rows_get(FunctionCallInfo fcinfo)
{
	const Datum *argument = pfs_argument(fcinfo, "max_rows");
	int64 max_rows = argument == NULL ? PG_INT64_MAX : DatumGetInt32(*argument);

	if (max_rows < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("max_rows must not be negative"), errhint("NULL means no limit.")));
	return max_rows;
}

Datum
pfs_share_or_null(double value, double whole, bool *is_null)
{
	*is_null = whole == 0;
	return Float8GetDatum(whole == 0 ? 0 : value / whole);
}
