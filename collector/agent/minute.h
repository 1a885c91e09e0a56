/*
 * minute.h
 *		Lines of the log, once a minute: what was stored, and what is missing in it.
 */
#ifndef COLLECTOR_MINUTE_H
#define COLLECTOR_MINUTE_H

#include <stdint.h>

#include "batch/losses.h"

#define MINUTE_NS INT64_C(60000000000)

/* Since the agent began. */
typedef struct MinuteTotals
{
	uint64_t samples;
	uint64_t user_samples; /* with a user side … */
	uint64_t complete;	   /* … that reaches a root */
	uint64_t rows;		   /* that the database has */
} MinuteTotals;

typedef struct Minute
{
	int64_t due_ns;				 /* CLOCK_MONOTONIC */
	uint64_t losses[LOSS_COUNT]; /* that are stored in part, or notes, since the last report */
	MinuteTotals reported;		 /* when the last lines were logged */
} Minute;

/* Logs what was stored since the last report and, as minute_log_flaws(), what is missing in it. */
void minute_report(Minute *minute, const MinuteTotals *totals);

/*
 * Logs each reason that counted since the last report: at level info if it counted one for a
 * hundred samples, otherwise at debug.
 */
void minute_log_flaws(Minute *minute, uint64_t samples);

/* A share in percent, to a tenth; 100 of nothing. */
double share_percent(uint64_t part, uint64_t whole);

#endif
