/*
 * governor.h
 *		What the collector may take of the host, and what it does without to stay below that.
 *
 * Pure arithmetic on readings that come about once a second; restraint.c takes them and acts on the
 * result. CPU time is an account: the ceiling pays in, what was used is drawn, and a minute of the
 * ceiling is the most that it holds, and what it begins with, so that bursts (start, a new
 * program's tables) cost nothing but an excess that lasts does. Once the account is empty, symbols
 * wait and the frequency is halved, again after some seconds while that does not help; it is
 * doubled when the account is half full and twice the present use would fit. Memory beyond seven
 * eighths of the ceiling is won back from caches; beyond the ceiling samples are refused.
 */
#ifndef COLLECTOR_GOVERNOR_H
#define COLLECTOR_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOVERNOR_FREQUENCY_HZ_MIN 4 /* the lowest it goes by itself */

typedef struct GovernorLimits
{
	int64_t frequency_hz; /* that was asked for */
	int64_t cpu_percent;  /* of one CPU */
	size_t memory_bytes;
} GovernorLimits;

typedef struct GovernorReading
{
	int64_t now_ns; /* CLOCK_MONOTONIC */
	/* used since the start; one that is lower than the one before counts as equal */
	int64_t cpu_ns;
	size_t resident_bytes;
} GovernorReading;

typedef struct Governor
{
	int64_t frequency_hz; /* what the four say is to be done */
	bool symbols_wait;
	bool shrink; /* for this reading: caches are to be made smaller */
	bool refuse;
	GovernorLimits limits;
	GovernorReading last;
	double credit_ns;
	double recent_share; /* of one CPU, over the last seconds */
	int halvings;
	int64_t changed_ns; /* of the frequency */
	int64_t shrunk_ns;
} Governor;

void governor_init(Governor *governor, const GovernorLimits *limits, const GovernorReading *first);
void governor_observe(Governor *governor, const GovernorReading *reading);

#endif
