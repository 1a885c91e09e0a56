/*
 * rates.c
 *		Reads the query by a cursor, so that its rows need not fit in memory.
 */
#include "insight/rates.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/arrays.h"

#define FETCH_ROWS 10000

enum
{
	RATE_TIME = 1,
	RATE_VALUE,
	RATE_HOST
};

typedef struct Rates
{
	const PfsPeriods *periods;
	const PfsHosts *hosts;
	uint32 slot_count;
	double *sums;	/* [host][slot] */
	uint32 *counts; /* [host][slot] */
	uint64 used;	/* rows within the periods, of hosts of the selection */
} Rates;

static void
rates_check_columns(TupleDesc columns)
{
	static const char hint[] = "Pass a query such as 'SELECT time, requests_per_second, node FROM "
							   "requests'; the column node may be missing.";

	if ((columns->natts != RATE_VALUE && columns->natts != RATE_HOST) ||
		SPI_gettypeid(columns, RATE_TIME) != TIMESTAMPTZOID ||
		SPI_gettypeid(columns, RATE_VALUE) != FLOAT8OID ||
		(columns->natts == RATE_HOST && SPI_gettypeid(columns, RATE_HOST) != TEXTOID))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("rate must return columns of types timestamp with time zone, double "
							   "precision and, optionally, text"),
						errhint("%s", hint)));
}

/*
 * Returns the number of a host by its name; -1 if the selection has no such host. Names are sorted.
 */
static int32
rates_find_host(const PfsHosts *hosts, const char *name)
{
	uint32 low = 0;
	uint32 high = hosts->count;

	PFS_BISECT(low, high, middle, strcmp(hosts->names[middle], name) < 0);
	return low < hosts->count && strcmp(hosts->names[low], name) == 0 ? (int32) low : -1;
}

/*
 * Returns the slot of the base, or the half of the time after, that contains the time; -1 if there
 * is none.
 */
static int64
rates_find_slot(const PfsPeriods *periods, TimestampTz time)
{
	if (time >= periods->base_from &&
		time < periods->base_from + (int64) periods->base_count * periods->length_us)
		return (time - periods->base_from) / periods->length_us;
	if (time >= periods->after_from && time < periods->after_from + periods->length_us)
		/* PFS_SLOT_NEW and the slot after it are the halves. */
		return periods->base_count + PFS_SLOT_NEW +
			   (time >= periods->after_from + periods->length_us / 2);
	return -1;
}

static void
rates_add(Rates *rates, int32 host, int64 slot, double value)
{
	Size cell = (Size) host * rates->slot_count + (Size) slot;

	rates->sums[cell] += value;
	rates->counts[cell]++;
}

/* Adds one row of the rate query to its host and period. */
static void
rates_add_row(Rates *rates, HeapTuple row, TupleDesc columns)
{
	bool is_null[RATE_HOST] = { false, false, false };
	Datum time = SPI_getbinval(row, columns, RATE_TIME, &is_null[0]);
	double value = DatumGetFloat8(SPI_getbinval(row, columns, RATE_VALUE, &is_null[1]));
	int32 host = -1;
	int64 slot;

	if (columns->natts == RATE_HOST)
	{
		Datum name = SPI_getbinval(row, columns, RATE_HOST, &is_null[2]);

		/* A row without a host belongs to none. */
		if (is_null[2])
			return;
		host = rates_find_host(rates->hosts, TextDatumGetCString(name));
	}
	if (is_null[0] || is_null[1] || (columns->natts == RATE_HOST && host < 0))
		return;
	if (isnan(value) || isinf(value) || value < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("rate returned %g", value),
						errdetail("Rates are finite numbers of at least 0.")));
	slot = rates_find_slot(rates->periods, DatumGetTimestampTz(time));
	if (slot < 0)
		return;
	rates->used++;
	if (host >= 0)
	{
		rates_add(rates, host, slot, value);
		return;
	}
	/* A rate of all hosts is divided equally among them. */
	for (uint32 i = 0; i < rates->hosts->count; i++)
		rates_add(rates, (int32) i, slot, value / rates->hosts->count);
}

static void
rates_run(Rates *rates, const char *query)
{
	SPIPlanPtr plan;
	Portal portal;

	SPI_connect();
	plan = SPI_prepare(query, 0, NULL);
	if (plan == NULL || !SPI_is_cursor_plan(plan))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("rate must be one query that returns rows")));
	/* The cursor is read-only: the query must not change data. */
	portal = SPI_cursor_open(NULL, plan, NULL, NULL, true);
	rates_check_columns(portal->tupDesc);
	do
	{
		SPI_cursor_fetch(portal, true, FETCH_ROWS);
		for (uint64 i = 0; i < SPI_processed; i++)
		{
			CHECK_FOR_INTERRUPTS();
			rates_add_row(rates, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
		}
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed > 0);
	SPI_cursor_close(portal);
	SPI_finish();
}

double *
pfs_rates_read(const char *query, const PfsPeriods *periods, const PfsHosts *hosts)
{
	uint32 slot_count = periods->base_count + PFS_AFTER_SLOTS;
	Rates rates = { .periods = periods,
					.hosts = hosts,
					.slot_count = slot_count,
					.sums = PFS_ARRAY0(double, (Size) hosts->count *slot_count),
					.counts = PFS_ARRAY0(uint32, (Size) hosts->count * slot_count) };

	rates_run(&rates, query);
	if (rates.used == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("rate returned no row of the periods and hosts that are compared"),
						errhint("profstore.regressions_basis() shows the periods; the column host "
								"must have the values of the label that distinguishes hosts.")));
	for (uint32 host = 0; host < hosts->count; host++)
		for (uint32 slot = 0; slot < slot_count; slot++)
		{
			Size cell = (Size) host * slot_count + slot;
			TimestampTz from;
			TimestampTz to;

			/* A sum of 0 means that the rate is unknown. */
			if (rates.counts[cell] == 0)
				continue;
			pfs_slot_range(periods, slot, &from, &to);
			/* The mean rate times the seconds of the slot is its number of requests. */
			rates.sums[cell] *= (double) (to - from) / (double) USECS_PER_SEC / rates.counts[cell];
		}
	pfree(rates.counts);
	return rates.sums;
}
