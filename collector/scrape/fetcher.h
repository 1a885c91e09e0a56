/*
 * fetcher.h
 *		Runs due scrapes: requests, answers to the storer, and the outcome of each.
 *
 * Belongs to the scraper's thread.
 */
#ifndef COLLECTOR_SCRAPE_FETCHER_H
#define COLLECTOR_SCRAPE_FETCHER_H

#include "scrape/schedule.h"
#include "scrape/storer.h"

typedef struct FetcherStats
{
	uint64_t scrapes; /* scrapes that ended */
	uint64_t failed;
	uint64_t skipped; /* due while the scrape before still ran */
	uint64_t waited;  /* times that a due scrape found all requests in use */
	uint64_t samples;
} FetcherStats;

typedef struct Fetcher
{
	HttpClient *client;
	Storer *storer;
	Schedule *schedule;
	TargetQueue *changed;
	size_t concurrency;
	int64_t now_ns;			 /* time of the last tick */
	size_t running;			 /* requests that hold a slot */
	size_t silent;			 /* requests of deltas whose answers have not begun */
	size_t slow;			 /* requests that have lost their slot, or had none */
	struct Scrape *in_slots; /* requests with slots, oldest first */
	struct Scrape *paused;	 /* requests whose answers have begun, but which have no slot yet */
	size_t body_max;
	FetcherStats stats;
} Fetcher;

/* Starts due scrapes. Returns the latest time of the next call. */
int64_t fetcher_tick(Fetcher *fetcher, int64_t now_ns);

/* Takes the results of the storer. */
void fetcher_collect(Fetcher *fetcher);

#endif
