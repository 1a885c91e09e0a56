/*
 * trace_rows.c
 *		Reads profstore.trace_samples through a cursor, by the indexes on trace, span and time.
 */
#include "select/trace_rows.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#define PARAMETER_COUNT 4

/* Columns of the statements below. */
enum
{
	ROW_TIME = 1,
	ROW_SERIES,
	ROW_STACK,
	ROW_VALUE
};

#define SELECT_ROWS                                                                      \
	"SELECT t.time, t.series_id, t.stack_id, t.value FROM profstore.trace_samples AS t " \
	"WHERE t.time OPERATOR(pg_catalog.>=) $1 AND t.time OPERATOR(pg_catalog.<) $2 AND "
#define OF_TRACE "t.trace_id OPERATOR(pg_catalog.=) $3"
#define OF_SPAN	 "t.span_id OPERATOR(pg_catalog.=) pg_catalog.decode($4, 'hex')"

struct PfsTraceRows
{
	const PfsSelection *selection;
	Portal portal;
};

static const char *
trace_rows_statement(const PfsTrace *trace)
{
	if (trace->span == NULL)
		return SELECT_ROWS OF_TRACE;
	return trace->id == NULL ? SELECT_ROWS OF_SPAN : SELECT_ROWS OF_TRACE " AND " OF_SPAN;
}

PfsTraceRows *
pfs_trace_rows_begin(const PfsSelection *selection)
{
	const PfsTrace *trace = &selection->trace;
	PfsTraceRows *rows = palloc(sizeof(PfsTraceRows));
	Oid types[PARAMETER_COUNT] = { TIMESTAMPTZOID, TIMESTAMPTZOID, UUIDOID, TEXTOID };
	Datum values[PARAMETER_COUNT] = { TimestampTzGetDatum(selection->from),
									  TimestampTzGetDatum(selection->to),
									  PointerGetDatum(trace->id), (Datum) 0 };
	char nulls[PARAMETER_COUNT] = { ' ', ' ', trace->id == NULL ? 'n' : ' ',
									trace->span == NULL ? 'n' : ' ' };

	if (trace->span != NULL)
		values[3] = CStringGetTextDatum(trace->span);
	rows->selection = selection;
	SPI_connect();
	rows->portal = SPI_cursor_open_with_args(NULL, trace_rows_statement(trace), PARAMETER_COUNT,
											 types, values, nulls, true, 0);
	SPI_finish();
	return rows;
}

/* Reads a row; returns false if its series is not in the selection. */
static bool
trace_rows_read_row(const PfsTraceRows *rows, HeapTuple row, TupleDesc columns, int64 *values)
{
	bool is_null;

	values[0] = DatumGetTimestampTz(SPI_getbinval(row, columns, ROW_TIME, &is_null));
	values[1] = DatumGetInt32(SPI_getbinval(row, columns, ROW_SERIES, &is_null));
	values[2] = DatumGetInt64(SPI_getbinval(row, columns, ROW_STACK, &is_null));
	values[3] = DatumGetInt64(SPI_getbinval(row, columns, ROW_VALUE, &is_null));
	return pfs_selection_series(rows->selection, values[1]) != NULL;
}

uint32
pfs_trace_rows_next(PfsTraceRows *rows, int64 *const columns[4], uint32 room)
{
	uint64 fetched;
	uint32 count = 0;

	do
	{
		SPI_connect();
		SPI_cursor_fetch(rows->portal, true, (long) room);
		fetched = SPI_processed;
		for (uint64 i = 0; i < fetched; i++)
		{
			int64 values[4];

			if (!trace_rows_read_row(rows, SPI_tuptable->vals[i], SPI_tuptable->tupdesc, values))
				continue;
			for (int column = 0; column < 4; column++)
				columns[column][count] = values[column];
			count++;
		}
		SPI_finish();
	} while (count == 0 && fetched > 0);
	return count;
}

void
pfs_trace_rows_end(PfsTraceRows *rows)
{
	SPI_connect();
	SPI_cursor_close(rows->portal);
	SPI_finish();
	pfree(rows);
}
