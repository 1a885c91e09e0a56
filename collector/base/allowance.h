/*
 * allowance.h
 *		A rate limit with bursts, kept as one number for each limited object.
 *
 * Each use has a cost in nanoseconds. Uses may be paid for up to burst_ns ahead of the clock, so
 * the long-run rate is one second of cost per second. A zeroed Allowance has no debt.
 */
#ifndef COLLECTOR_ALLOWANCE_H
#define COLLECTOR_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Allowance
{
	uint64_t paid_ns; /* uses are paid for up to this time */
} Allowance;

/*
 * Charges a use of cost_ns. Returns false, and charges nothing, if uses are already paid for
 * burst_ns ahead of the clock. The last use of a burst may exceed burst_ns by less than its own
 * cost.
 */
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

/*
 * The allowance of one key; an array of these entries remembers some keys. Zeroed entries are free.
 */
typedef struct KeyedAllowance
{
	uint64_t key;
	Allowance allowance;
} KeyedAllowance;

/* Finds a key's entry. Returns NULL if the key is not remembered; such a key has no debt. */
static inline const Allowance *
allowance_find(const KeyedAllowance *all, size_t count, uint64_t key)
{
	for (size_t i = 0; i < count; i++)
	{
		if (all[i].key == key)
			return &all[i].allowance;
	}
	return NULL;
}

/* Like allowance_find(), but adds a missing key in place of the entry with the smallest debt. */
static inline Allowance *
allowance_of(KeyedAllowance *all, size_t count, uint64_t key)
{
	KeyedAllowance *least = &all[0];

	for (size_t i = 0; i < count; i++)
	{
		if (all[i].key == key)
			return &all[i].allowance;
		if (all[i].allowance.paid_ns < least->allowance.paid_ns)
			least = &all[i];
	}
	*least = (KeyedAllowance){ .key = key };
	return &least->allowance;
}

#endif
