/*
 * schedule.c
 *		A binary heap whose items know their places.
 */
#include "scrape/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

#define NS_PER_MS INT64_C(1000000)

void
schedule_fini(Schedule *schedule)
{
	free(schedule->heap);
	*schedule = (Schedule){ NULL };
}

static void
place(Schedule *schedule, size_t at, ScrapeTarget *target)
{
	schedule->heap[at] = target;
	target->heap_at = at;
}

static void
move_up(Schedule *schedule, size_t at, ScrapeTarget *target)
{
	while (at > 0 && schedule->heap[(at - 1) / 2]->due_ns > target->due_ns)
	{
		place(schedule, at, schedule->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	place(schedule, at, target);
}

static void
move_down(Schedule *schedule, size_t at, ScrapeTarget *target)
{
	for (;;)
	{
		size_t child = 2 * at + 1;

		if (child + 1 < schedule->count &&
			schedule->heap[child + 1]->due_ns < schedule->heap[child]->due_ns)
			child++;
		if (child >= schedule->count || schedule->heap[child]->due_ns >= target->due_ns)
			break;
		place(schedule, at, schedule->heap[child]);
		at = child;
	}
	place(schedule, at, target);
}

int
schedule_add(Schedule *schedule, ScrapeTarget *target)
{
	int err =
		grow_array(&schedule->heap, &schedule->capacity, schedule->count, sizeof(ScrapeTarget *));

	if (err == 0)
		move_up(schedule, schedule->count++, target);
	return err;
}

void
schedule_remove(Schedule *schedule, ScrapeTarget *target)
{
	size_t at = target->heap_at;
	ScrapeTarget *last;

	if (at == SIZE_MAX)
		return;
	target->heap_at = SIZE_MAX;
	last = schedule->heap[--schedule->count];
	if (last == target)
		return;
	move_down(schedule, at, last);
	move_up(schedule, last->heap_at, last);
}

ScrapeTarget *
schedule_first(const Schedule *schedule)
{
	return schedule->count > 0 ? schedule->heap[0] : NULL;
}

int64_t
schedule_first_due(const ScrapeTarget *target, int64_t now_ns, int64_t wall_ns)
{
	int64_t interval_ns = target->job->interval_ms * NS_PER_MS;
	uint64_t hash = hash_bytes(0, target->name, strlen(target->name));
	int64_t offset_ns = (int64_t) (hash % (uint64_t) interval_ns);

	return now_ns + (offset_ns - wall_ns % interval_ns + interval_ns) % interval_ns;
}
