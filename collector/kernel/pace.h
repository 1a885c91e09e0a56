/*
 * pace.h
 *		How often a counter rises, and the period that makes about as many samples as are wanted.
 */
#ifndef COLLECTOR_PACE_H
#define COLLECTOR_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* The counter of an event when its pace was last looked at, and when that was. */
typedef struct Pace
{
	uint64_t counter;
	int64_t then_ns; /* 0: never */
} Pace;

/*
 * Returns true once a second has passed since the counter was last looked at. *a_second is by how
 * much it rose in a second, *passed_ns the time that has passed.
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
 * Returns a period between least and most that makes about as many samples a second as are wanted;
 * the same one if that is wrong by little.
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
