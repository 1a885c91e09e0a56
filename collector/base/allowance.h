/*
 * allowance.h
 *		A rate limit with bursts: one number for each thing that is limited.
 *
 * Each use has a cost in nanoseconds. Uses may be paid for up to burst_ns ahead of the clock, so
 * the long-run rate is one second of cost per second. A zeroed Allowance owes nothing.
 */
#ifndef COLLECTOR_ALLOWANCE_H
#define COLLECTOR_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Allowance
{
	uint64_t paid_ns; /* everything up to this moment is paid for */
} Allowance;

/*
 * Pays cost_ns; returns false, and pays nothing, if burst_ns is already paid ahead of the clock.
 * The last payment of a burst may exceed burst_ns by less than its own cost.
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
 * The allowance of one key, an entry of an array of the keys remembered. Zeroed entries are free.
 */
typedef struct KeyedAllowance
{
	uint64_t key;
	Allowance allowance;
} KeyedAllowance;

/* Returns NULL if the key is not remembered; such a key owes nothing. */
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

/* Like allowance_find(), but adds a missing key, replacing the entry that owes least. */
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
