/*
 * fetcher.h
 *		Scrapes that are due: requests at their time, answers to the storer, what became of each.
 *
 * Belongs to the scraper's thread.
 */
#ifndef COLLECTOR_SCRAPE_FETCHER_H
#define COLLECTOR_SCRAPE_FETCHER_H

#include "scrape/schedule.h"
#include "scrape/storer.h"

typedef struct FetcherStats
{
	uint64_t scrapes; /* that ended */
	uint64_t failed;
	uint64_t skipped; /* were due while the one before still ran */
	uint64_t waited;  /* were due while all requests were in use */
	uint64_t samples;
} FetcherStats;

typedef struct Fetcher
{
	HttpClient *client;
	Storer *storer;
	Schedule *schedule;
	TargetQueue *changed;
	size_t concurrency;
	int64_t now_ns;			 /* of the last tick */
	size_t running;			 /* requests that hold a slot */
	size_t silent;			 /* those of deltas, until their answers begin */
	size_t slow;			 /* those that have given their slots back, or had none */
	struct Scrape *in_slots; /* that hold slots, by when they got them */
	struct Scrape *paused;	 /* whose answers have begun, and which wait for a slot */
	size_t body_max;
	FetcherStats stats;
} Fetcher;

/* Begins what is due. When to call again, at the latest. */
int64_t fetcher_tick(Fetcher *fetcher, int64_t now_ns);

/* Takes the storer's results. */
void fetcher_collect(Fetcher *fetcher);

#endif
