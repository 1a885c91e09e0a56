/*
 * schedule.c
 *		Binary heaps. Each item stores its position in its heap, so that it can be removed.
 */
#include "scrape/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"

void
schedule_fini(Schedule *schedule)
{
	for (int i = 0; i < DUE_KINDS; i++)
		free(schedule->heaps[i].items);
	*schedule = (Schedule){ .count = 0 };
}

DueKind
due_kind(const ScrapeTarget *target)
{
	if (target->profile->delta)
		return DUE_DELTA;
	return target->is_slow ? DUE_SLOW : DUE_PROMPT;
}

static DueHeap *
heap_of(Schedule *schedule, const ScrapeTarget *target)
{
	return &schedule->heaps[due_kind(target)];
}

static void
heap_place(DueHeap *heap, size_t at, ScrapeTarget *target)
{
	heap->items[at] = target;
	target->heap_at = at;
}

static void
heap_move_up(DueHeap *heap, size_t at, ScrapeTarget *target)
{
	while (at > 0 && heap->items[(at - 1) / 2]->due_ns > target->due_ns)
	{
		heap_place(heap, at, heap->items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_place(heap, at, target);
}

static void
heap_move_down(DueHeap *heap, size_t at, ScrapeTarget *target)
{
	for (;;)
	{
		size_t child = 2 * at + 1;

		if (child + 1 < heap->count && heap->items[child + 1]->due_ns < heap->items[child]->due_ns)
			child++;
		if (child >= heap->count || heap->items[child]->due_ns >= target->due_ns)
			break;
		heap_place(heap, at, heap->items[child]);
		at = child;
	}
	heap_place(heap, at, target);
}

int
schedule_add(Schedule *schedule, ScrapeTarget *target)
{
	DueHeap *heap = heap_of(schedule, target);
	int err = grow_array(&heap->items, &heap->capacity, heap->count, sizeof(ScrapeTarget *));

	if (err != 0)
		return err;
	schedule->count++;
	heap_move_up(heap, heap->count++, target);
	return 0;
}

void
schedule_remove(Schedule *schedule, ScrapeTarget *target)
{
	DueHeap *heap = heap_of(schedule, target);
	size_t at = target->heap_at;
	ScrapeTarget *last;

	if (at == SIZE_MAX)
		return;
	target->heap_at = SIZE_MAX;
	schedule->count--;
	last = heap->items[--heap->count];
	/* The target was in the last place. */
	if (last == target)
		return;
	/* The last target takes the free place; it may belong above or below that. */
	heap_move_down(heap, at, last);
	heap_move_up(heap, last->heap_at, last);
}

void
schedule_set_slow(Schedule *schedule, ScrapeTarget *target, bool is_slow)
{
	bool is_scheduled = target->heap_at != SIZE_MAX;

	if (target->is_slow == is_slow)
		return;
	/* The kind of a target decides its heap, so the target is removed before the kind changes. */
	schedule_remove(schedule, target);
	target->is_slow = is_slow;
	if (!is_scheduled || schedule_add(schedule, target) == 0)
		return;
	target->is_slow = !is_slow;
	/* cannot fail: it was in the schedule, so there is room */
	(void) schedule_add(schedule, target);
}

ScrapeTarget *
schedule_first(const Schedule *schedule, DueKind kind)
{
	const DueHeap *heap = &schedule->heaps[kind];

	return heap->count > 0 ? heap->items[0] : NULL;
}

int64_t
schedule_first_due(const ScrapeTarget *target, int64_t now_ns, int64_t wall_ns)
{
	int64_t interval_ns = target->job->interval_ms * NS_PER_MS;
	uint64_t hash = hash_bytes(0, target->name, strlen(target->name));
	int64_t offset_ns = (int64_t) (hash % (uint64_t) interval_ns);

	/* The offset counts from multiples of the interval in wall-clock time, so restarts keep it. */
	return now_ns + (offset_ns - wall_ns % interval_ns + interval_ns) % interval_ns;
}
