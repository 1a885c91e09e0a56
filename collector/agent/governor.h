/*
 * governor.h
 *		Decides how the collector stays below its limits of CPU time and memory.
 *
 * Pure arithmetic on readings that come about once a second; restraint.c takes the readings and
 * acts on the result. CPU time is kept as an account: the ceiling pays into it at a constant rate,
 * and used CPU time is drawn from it. The account holds at most one minute's income and begins
 * full, so that bursts (the start, a new program's tables) are free but a lasting excess is not. If
 * the account is empty, symbolization pauses and the sampling frequency is halved, again every few
 * seconds while the account stays empty. The frequency is doubled if the account is half full and
 * twice the present use would fit. Above seven eighths of the memory ceiling caches are shrunk;
 * above the ceiling samples are refused.
 */
#ifndef COLLECTOR_GOVERNOR_H
#define COLLECTOR_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOVERNOR_FREQUENCY_HZ_MIN 4 /* lowest frequency that the governor sets */

typedef struct GovernorLimits
{
	int64_t frequency_hz; /* requested frequency */
	int64_t cpu_percent;  /* percent of one CPU */
	size_t memory_bytes;
} GovernorLimits;

typedef struct GovernorReading
{
	int64_t now_ns; /* CLOCK_MONOTONIC */
	/* CPU time used since the start. A reading below the previous one is taken as equal to it. */
	int64_t cpu_ns;
	size_t resident_bytes;
} GovernorReading;

typedef struct Governor
{
	int64_t frequency_hz; /* this field and the three below are the decisions */
	bool symbols_wait;
	bool shrink; /* shrink the caches now */
	bool refuse;
	GovernorLimits limits;
	GovernorReading last;
	double credit_ns;
	double recent_share; /* CPU time per elapsed time, averaged over the last seconds */
	int halvings;
	int64_t changed_ns; /* time at which the frequency last changed */
	int64_t shrunk_ns;
} Governor;

void governor_init(Governor *governor, const GovernorLimits *limits, const GovernorReading *first);
void governor_observe(Governor *governor, const GovernorReading *reading);

#endif
