/*
 * scrape_target.h
 *		A target: a URL that is fetched repeatedly for one profile.
 *
 * Belongs to the scraper's thread. Reference counted, because a request, or a profile that is being
 * decoded, may outlive it.
 */
#ifndef COLLECTOR_SCRAPE_TARGET_H
#define COLLECTOR_SCRAPE_TARGET_H

#include <uthash.h>

#include "http_client/http_client.h"
#include "labels/label_builder.h"
#include "scrape/config.h"

typedef enum TargetHealth
{
	TARGET_UNKNOWN, /* not scraped yet, or removed */
	TARGET_UP,
	TARGET_DOWN
} TargetHealth;

typedef struct TargetState
{
	TargetHealth health;
	char error[HTTP_ERROR_BYTES]; /* of the last scrape; "" if that succeeded */
	int64_t time_us;			  /* time of the last scrape; 0: there was none */
	int64_t duration_us;
	int64_t samples; /* number of rows of the last scrape */
} TargetState;

typedef struct ScrapeTarget
{
	UT_hash_handle hh; /* keyed by name, in its job */
	char *name;		   /* "JOB URL" without the URL's password, as in profstore.targets */
	char *url;
	BatchLabel *labels; /* labels of its series including __name__, sorted by name */
	size_t label_count;
	ScrapeConfig *config; /* a reference; owns the two pointers below */
	const ScrapeJob *job;
	const ProfileKind *profile;
	TargetState state;
	uint32_t references;
	uint32_t finders; /* number of label sets in groups that make this target */
	int64_t due_ns;	  /* next scrape, CLOCK_MONOTONIC */
	size_t heap_at;	  /* position in the schedule; SIZE_MAX if not scheduled */
	bool busy;		  /* a request runs, or a profile is being decoded */
	bool late;		  /* became due while busy; its scrape starts when the current one ends */
	bool is_slow;	  /* the last request took too long: see fetcher.c */
	bool changed;	  /* the target is in a TargetQueue, because its state must be stored */
	struct ScrapeTarget *changed_next;
	uint64_t skipped;	/* number of scrapes that were skipped */
	bool gone;			/* no group contains the target any more; its state is final */
	bool is_replaced;	/* another target has taken its name, so its state is not stored */
	int64_t started_us; /* start of the request, CLOCK_REALTIME */
} ScrapeTarget;

/*
 * Targets whose states must be stored, in the order of their changes. Each target is in the queue
 * once.
 */
typedef struct TargetQueue
{
	ScrapeTarget *first;
	ScrapeTarget *last;
	size_t count;
} TargetQueue;

/* Adds a target. A target that is in the queue already keeps its place. */
void target_queue_add(TargetQueue *queue, ScrapeTarget *target);

/* Puts a target back at the front, because its state could not be stored. */
void target_queue_put_back(TargetQueue *queue, ScrapeTarget *target);

/* Removes the first target and returns it with its reference; NULL if the queue is empty. */
ScrapeTarget *target_queue_take(TargetQueue *queue);

typedef enum TargetMade
{
	TARGET_MADE,
	TARGET_DROPPED, /* a rule dropped it */
	TARGET_INVALID, /* the labels make no target; error contains the reason */
	TARGET_NO_MEMORY
} TargetMade;

/*
 * Makes a target, with one reference, from a discovered label set and a profile of the job. scratch
 * is reset and used as working memory.
 */
TargetMade scrape_target_make(ScrapeConfig *config, const ScrapeJob *job,
							  const ProfileKind *profile, const TargetGroup *group,
							  const TargetLabels *labels, LabelBuilder *scratch,
							  ScrapeTarget **target, char error[HTTP_ERROR_BYTES]);
void scrape_target_release(ScrapeTarget *target); /* accepts NULL */

/* Returns true if both targets would be fetched and stored in the same way. */
bool scrape_target_equals(const ScrapeTarget *a, const ScrapeTarget *b);

#endif
