/*
 * target.h
 *		One URL that is fetched again and again: a target and one of its profiles.
 *
 * Belongs to the scraper's thread; counted, since a request or a profile that is being decoded may
 * outlast the target's time.
 */
#ifndef COLLECTOR_SCRAPE_TARGET_H
#define COLLECTOR_SCRAPE_TARGET_H

#include <uthash.h>

#include "http_client/http_client.h"
#include "labels/label_builder.h"
#include "scrape/config.h"

typedef enum TargetHealth
{
	TARGET_UNKNOWN, /* not scraped yet, or not any more */
	TARGET_UP,
	TARGET_DOWN
} TargetHealth;

typedef struct TargetState
{
	TargetHealth health;
	char error[HTTP_ERROR_BYTES]; /* "" where there is none */
	int64_t time_us;			  /* of the last scrape; 0: none yet */
	int64_t duration_us;
	int64_t samples; /* rows of it */
} TargetState;

typedef struct ScrapeTarget
{
	UT_hash_handle hh; /* by name, in its job */
	char *name;		   /* "JOB URL", as in the table targets; without a password */
	char *url;
	BatchLabel *labels; /* of its series, __name__ among them, by name */
	size_t label_count;
	ScrapeConfig *config; /* that holds … */
	const ScrapeJob *job;
	const ProfileKind *profile;
	TargetState state;
	uint32_t references;
	uint32_t finders; /* sets of labels in groups that it stands for */
	int64_t due_ns;	  /* next scrape, CLOCK_MONOTONIC */
	size_t heap_at;	  /* place in the schedule; SIZE_MAX: not in it */
	bool busy;		  /* a request, or a profile that is being decoded */
	bool late;		  /* it was due while busy: begins when that ends */
	bool is_slow;	  /* its last request took long: see the fetcher */
	bool changed;	  /* state is to be stored: it is in a TargetQueue */
	struct ScrapeTarget *changed_next;
	uint64_t skipped;	/* scrapes that were due and left out */
	bool gone;			/* it is no target any more: its state is the last one */
	bool is_replaced;	/* another one has its name: its state is not stored any more */
	int64_t started_us; /* of the request, CLOCK_REALTIME */
} ScrapeTarget;

/* Targets whose states are to be stored, in the order in which they changed; each is there once. */
typedef struct TargetQueue
{
	ScrapeTarget *first;
	ScrapeTarget *last;
	size_t count;
} TargetQueue;

/* Has a target's state stored. One that is there already keeps its place. */
void target_queue_add(TargetQueue *queue, ScrapeTarget *target);

/* Makes one that was taken, and whose state was not stored, the first again. */
void target_queue_put_back(TargetQueue *queue, ScrapeTarget *target);

/* Takes out the first one with its reference; NULL if there is none. */
ScrapeTarget *target_queue_take(TargetQueue *queue);

typedef enum TargetMade
{
	TARGET_MADE,
	TARGET_DROPPED, /* by a rule */
	TARGET_INVALID, /* the labels are no target: why is in error */
	TARGET_NO_MEMORY
} TargetMade;

/*
 * A target of one discovered set of labels and a profile of the job, with one reference. scratch is
 * used and reset.
 */
TargetMade scrape_target_make(ScrapeConfig *config, const ScrapeJob *job,
							  const ProfileKind *profile, const TargetGroup *group,
							  const TargetLabels *labels, LabelBuilder *scratch,
							  ScrapeTarget **target, char error[HTTP_ERROR_BYTES]);
void scrape_target_release(ScrapeTarget *target); /* accepts NULL */

/* True where both would be fetched and stored alike. */
bool scrape_target_equals(const ScrapeTarget *a, const ScrapeTarget *b);

#endif
