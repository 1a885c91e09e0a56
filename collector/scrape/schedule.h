/*
 * schedule.h
 *		Which target is next: heaps by the time at which each is due.
 *
 * Each kind has a heap of its own, and begins while targets of other kinds that are due wait for
 * what their requests need.
 */
#ifndef COLLECTOR_SCRAPE_SCHEDULE_H
#define COLLECTOR_SCRAPE_SCHEDULE_H

#include "scrape/target.h"

/* Which requests a target's next one competes with; those that come first begin first. */
typedef enum DueKind
{
	DUE_DELTA,
	DUE_PROMPT, /* no delta, and the target was not slow */
	DUE_SLOW,
	DUE_KINDS
} DueKind;

typedef struct DueHeap
{
	ScrapeTarget **items;
	size_t count;
	size_t capacity;
} DueHeap;

typedef struct Schedule
{
	DueHeap heaps[DUE_KINDS];
	size_t count; /* in all */
} Schedule;

void schedule_fini(Schedule *schedule);

/* Adds a target that is not in it. 0 or -ENOMEM. */
int schedule_add(Schedule *schedule, ScrapeTarget *target);
void schedule_remove(Schedule *schedule, ScrapeTarget *target); /* also one that is not in it */

/* Changes is_slow of a target, which may be in the schedule. */
void schedule_set_slow(Schedule *schedule, ScrapeTarget *target, bool is_slow);

DueKind due_kind(const ScrapeTarget *target);

/* The target that is due first among those of a kind; NULL if there is none. */
ScrapeTarget *schedule_first(const Schedule *schedule, DueKind kind);

/*
 * A moment for a target's first scrape: within its interval from now on, by its name, so that
 * targets are spread, and one keeps its place over restarts.
 */
int64_t schedule_first_due(const ScrapeTarget *target, int64_t now_ns, int64_t wall_ns);

#endif
