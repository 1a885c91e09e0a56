/*
 * observers.c
 *		A small list of running queries. One that ends by an error in a subtransaction stays on it
 *		until the
 *		transaction ends, which costs a segment or two, never a wrong row.
 */
#include "store/observers.h"

#include "utils/memutils.h"

#define OBSERVERS_AT_FIRST 16

typedef struct Observer
{
	const QueryDesc *query; /* to find it again; never followed */
	CommandId command_id;	/* it sees rows of commands before this one */
} Observer;

static Observer *observers = NULL;
static uint32 observer_count = 0;
static uint32 observer_capacity = 0;

void
pfs_observers_add(const QueryDesc *query)
{
	if (query->snapshot == NULL)
		return;
	if (observers == NULL)
	{
		observers = MemoryContextAlloc(TopMemoryContext, sizeof(Observer) * OBSERVERS_AT_FIRST);
		observer_capacity = OBSERVERS_AT_FIRST;
	}
	else if (observer_count == observer_capacity)
	{
		observers = repalloc(observers, sizeof(Observer) * observer_capacity * 2);
		observer_capacity *= 2;
	}
	observers[observer_count].query = query;
	observers[observer_count].command_id = query->snapshot->curcid;
	observer_count++;
}

void
pfs_observers_remove(const QueryDesc *query)
{
	for (uint32 i = observer_count; i > 0; i--)
		if (observers[i - 1].query == query)
		{
			observers[i - 1] = observers[--observer_count];
			return;
		}
}

void
pfs_observers_clear(void)
{
	observer_count = 0;
}

bool
pfs_observers_between(CommandId min, CommandId max)
{
	for (uint32 i = 0; i < observer_count; i++)
		if (min < observers[i].command_id && observers[i].command_id <= max)
			return true;
	return false;
}
