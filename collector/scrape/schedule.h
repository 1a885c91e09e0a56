/*
 * schedule.h
 *		Finds the target that is due next: heaps ordered by due time.
 *
 * Each kind of target has a heap, so that targets of one kind can start while targets of another
 * kind wait for resources.
 */
#ifndef COLLECTOR_SCRAPE_SCHEDULE_H
#define COLLECTOR_SCRAPE_SCHEDULE_H

#include "scrape/scrape_target.h"

/* The resources for which a target's next request competes. Earlier kinds start first. */
typedef enum DueKind
{
	DUE_DELTA,
	DUE_PROMPT, /* the request is no delta, and the target is not slow */
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
	size_t count; /* number of targets in all heaps */
} Schedule;

void schedule_fini(Schedule *schedule);

/* Adds a target that is not in the schedule. Returns 0 or -ENOMEM. */
int schedule_add(Schedule *schedule, ScrapeTarget *target);
/* does nothing if the target is not in the schedule */
void schedule_remove(Schedule *schedule, ScrapeTarget *target);

/* Sets is_slow of a target, which need not be in the schedule. */
void schedule_set_slow(Schedule *schedule, ScrapeTarget *target, bool is_slow);

DueKind due_kind(const ScrapeTarget *target);

/* Returns the target of a kind that is due first; NULL if there is none. */
ScrapeTarget *schedule_first(const Schedule *schedule, DueKind kind);

/*
 * Returns the time of a target's first scrape: within one interval from now, derived from its name,
 * so that targets are spread over the interval and keep their times when the scraper restarts.
 */
int64_t schedule_first_due(const ScrapeTarget *target, int64_t now_ns, int64_t wall_ns);

#endif
