/*
 * grow.h
 *		Makes room for one more item in a growing array.
 */
#ifndef COLLECTOR_GROW_H
#define COLLECTOR_GROW_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/arena.h"

/*
 * Makes room for one more item in *items, an array of *capacity items of which count are used, by
 * doubling it. items points to a pointer of any type. Returns 0, or -ENOMEM and changes nothing.
 */
static inline int
grow_array(void *items, size_t *capacity, size_t count, size_t item_bytes)
{
	size_t wanted = *capacity == 0 ? 16 : *capacity * 2;
	void **array = items;
	void *grown;

	if (count < *capacity)
		return 0;
	grown = reallocarray(*array, wanted, item_bytes);
	if (grown == NULL)
		return -ENOMEM;
	*array = grown;
	*capacity = wanted;
	return 0;
}

/*
 * Like grow_array(), but charges the memory to a budget. To free the array, its owner must release
 * capacity * item_bytes.
 */
static inline int
grow_array_within(Budget *budget, void *items, size_t *capacity, size_t count, size_t item_bytes)
{
	size_t added = *capacity == 0 ? 16 : *capacity;
	int err;

	if (count < *capacity)
		return 0;
	if (!budget_charge(budget, added * item_bytes))
		return -ENOMEM;
	err = grow_array(items, capacity, count, item_bytes);
	if (err != 0)
		budget_release(budget, added * item_bytes);
	return err;
}

#endif
