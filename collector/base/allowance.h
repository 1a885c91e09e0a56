/*
 * allowance.h
 *		So many at once, so many a second in the long run: one number for each that is limited.
 *
 * Each thing costs some time, and is paid for ahead of the clock by burst_ns at most. Zeroed:
 * nothing was paid for yet.
 */
#ifndef COLLECTOR_ALLOWANCE_H
#define COLLECTOR_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Allowance
{
	uint64_t paid_ns; /* up to this moment */
} Allowance;

/* Pays, unless a burst has been paid for already. The one that fills it up may cost more. */
static inline bool
allowance_take(Allowance *allowance, uint64_t now_ns, uint64_t cost_ns, uint64_t burst_ns)
{
	if (allowance->paid_ns < now_ns)
		allowance->paid_ns = now_ns;
	if (allowance->paid_ns - now_ns >= burst_ns)
		return false;
	allowance->paid_ns += cost_ns;
	return true;
}

#endif
