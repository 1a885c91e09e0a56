/*
 * pace.h
 *		Measures the rate of a counter, and computes the period that gives about the requested
 *		number of samples.
 */
#ifndef COLLECTOR_PACE_H
#define COLLECTOR_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Value and time of a counter when its rate was last checked. */
typedef struct Pace
{
	uint64_t counter;
	int64_t then_ns; /* 0: the rate was not checked yet */
} Pace;

/*
 * Returns true if a second has passed since the last check. *a_second then is the counter's
 * increase per second, *passed_ns the time since the last check.
 */
static inline bool
pace_is_due(Pace *pace, uint64_t counter, int64_t now_ns, uint64_t *a_second, uint64_t *passed_ns)
{
	bool first = pace->then_ns == 0;

	*passed_ns = (uint64_t) (now_ns - pace->then_ns);
	if (*passed_ns < (uint64_t) NS_PER_S)
		return false;
	*a_second = (counter - pace->counter) * (uint64_t) NS_PER_S / *passed_ns;
	*pace = (Pace){ counter, now_ns };
	return !first;
}

/*
 * Returns a period between least and most that gives about the requested samples per second; the
 * present period if that is accurate enough.
 */
static inline uint64_t
pace_better_period(uint64_t period, uint64_t a_second, uint64_t wanted, uint64_t least,
				   uint64_t most)
{
	uint64_t better = period;

	if (a_second > wanted)
		better = period * (a_second / wanted + 1);
	else if (a_second < wanted / 4)
		better = period / 2;
	better |= 1;
	return better > most ? most : better < least ? least : better;
}

#endif
