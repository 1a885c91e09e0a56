/*
 * last_scan.c
 *		last_scan(): returns the scan counters of this backend.
 */
#include "select/last_scan.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "fmgr.h"
#include "funcapi.h"

PG_FUNCTION_INFO_V1(profstore_last_scan);

static PfsScanCounters last_counters;
static TimestampTz last_statement;

void
pfs_last_scan_begin(void)
{
	if (last_statement != GetCurrentStatementStartTimestamp())
		memset(&last_counters, 0, sizeof(last_counters));
	last_statement = GetCurrentStatementStartTimestamp();
}

void
pfs_last_scan_add(const PfsScanCounters *counters)
{
	pfs_counters_add(&last_counters, counters);
}

/* last_scan() */
PGDLLEXPORT Datum
profstore_last_scan(PG_FUNCTION_ARGS)
{
	const uint64 counters[] = { last_counters.segments_total,  last_counters.segments_skipped,
								last_counters.segments_summed, last_counters.segments_read,
								last_counters.blocks_read,	   last_counters.blocks_skipped,
								last_counters.bytes_read };
	Datum values[lengthof(counters)];
	bool nulls[lengthof(counters)] = { false };
	TupleDesc descriptor;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	for (size_t i = 0; i < lengthof(counters); i++)
		values[i] = Int64GetDatum((int64) counters[i]);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}
