/*
 * minute.h
 *		Lines that are logged once a minute: how many samples were stored, and how many of them are
 *		incomplete and why.
 */
#ifndef COLLECTOR_MINUTE_H
#define COLLECTOR_MINUTE_H

#include <stdint.h>

#include "batch/losses.h"

#define MINUTE_NS INT64_C(60000000000)

/* Totals since the start of the agent. */
typedef struct MinuteTotals
{
	uint64_t samples;
	uint64_t user_samples; /* samples with a user side */
	uint64_t complete;	   /* number of user_samples whose stack reaches a root */
	uint64_t rows;		   /* rows in the database */
} MinuteTotals;

typedef struct Minute
{
	int64_t due_ns; /* CLOCK_MONOTONIC */
	/* Losses since the last report, except lost samples: incomplete samples, and notes. */
	uint64_t losses[LOSS_COUNT];
	MinuteTotals reported; /* totals when the last lines were logged */
} Minute;

/*
 * Logs the number of samples stored since the last report and, with minute_log_flaws(), why samples
 * are incomplete.
 */
void minute_report(Minute *minute, const MinuteTotals *totals);

/*
 * Logs each reason with a count since the last report, at level info if the count is at least one
 * in a hundred samples, otherwise at debug.
 */
void minute_log_flaws(Minute *minute, uint64_t samples);

/* Returns part of whole in percent, rounded to a tenth; 100 if whole is 0. */
double share_percent(uint64_t part, uint64_t whole);

#endif
