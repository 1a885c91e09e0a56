/*
 * schedule.h
 *		Which target is next: heaps by the time at which each is due.
 *
 * Deltas have a heap of their own: they begin while other targets that are due wait for a slot.
 */
#ifndef COLLECTOR_SCRAPE_SCHEDULE_H
#define COLLECTOR_SCRAPE_SCHEDULE_H

#include "scrape/target.h"

typedef struct DueHeap
{
	ScrapeTarget **items;
	size_t count;
	size_t capacity;
} DueHeap;

typedef struct Schedule
{
	DueHeap heaps[2]; /* by whether the profile is a delta */
	size_t count;	  /* in both */
} Schedule;

void schedule_fini(Schedule *schedule);

/* Adds a target that is not in it. 0 or -ENOMEM. */
int schedule_add(Schedule *schedule, ScrapeTarget *target);
void schedule_remove(Schedule *schedule, ScrapeTarget *target); /* also one that is not in it */

/* The delta, or other target, that is due first; NULL if there is none. */
ScrapeTarget *schedule_first(const Schedule *schedule, bool is_delta);

/*
 * A moment for a target's first scrape: within its interval from now on, by its name, so that
 * targets are spread, and one keeps its place over restarts.
 */
int64_t schedule_first_due(const ScrapeTarget *target, int64_t now_ns, int64_t wall_ns);

#endif
