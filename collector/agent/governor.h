/*
 * governor.h
 *		Decides how the collector stays below its limits of CPU time and memory.
 *
 * Pure arithmetic on readings that come about once a second; restraint.c takes the readings and
 * acts on the result. CPU time is an account: it earns at the rate of the ceiling and pays for the
 * time that was used. It holds at most one minute's earnings and begins full, so that bursts
 * (start, a new program's tables) are free but a lasting excess is not. If the account is empty,
 * symbols wait and the frequency is halved, again every few seconds while the account stays empty.
 * The frequency is doubled if the account is half full and twice the present use would fit. Above
 * seven eighths of the memory ceiling caches are shrunk; above the ceiling samples are refused.
 */
#ifndef COLLECTOR_GOVERNOR_H
#define COLLECTOR_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOVERNOR_FREQUENCY_HZ_MIN 4 /* lowest frequency that the governor sets */

typedef struct GovernorLimits
{
	int64_t frequency_hz; /* as requested */
	int64_t cpu_percent;  /* percent of one CPU */
	size_t memory_bytes;
} GovernorLimits;

typedef struct GovernorReading
{
	int64_t now_ns; /* CLOCK_MONOTONIC */
	/* used since the start; a reading below the previous one counts as equal */
	int64_t cpu_ns;
	size_t resident_bytes;
} GovernorReading;

typedef struct Governor
{
	int64_t frequency_hz; /* the decisions: this field and the three below */
	bool symbols_wait;
	bool shrink; /* shrink the caches once */
	bool refuse;
	GovernorLimits limits;
	GovernorReading last;
	double credit_ns;
	double recent_share; /* CPUs used, averaged over the last seconds */
	int halvings;
	int64_t changed_ns; /* when the frequency last changed */
	int64_t shrunk_ns;
} Governor;

void governor_init(Governor *governor, const GovernorLimits *limits, const GovernorReading *first);
void governor_observe(Governor *governor, const GovernorReading *reading);

#endif
