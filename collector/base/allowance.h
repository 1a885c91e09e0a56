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
#include <stddef.h>
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

/* The allowance of one of several, in an array of as many as are remembered. Zeroed: none is. */
typedef struct KeyedAllowance
{
	uint64_t key;
	Allowance allowance;
} KeyedAllowance;

/* NULL if the key is not remembered, and owes nothing. */
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

/* Like allowance_find(), but remembers the key, in the place of the one that owes least. */
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
