/*
 * fetcher.h
 *		Runs the scrapes that are due: sends requests, passes answers to the storer, and stores the
 *		outcome of each.
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
	uint64_t skipped; /* scrapes that were skipped because the previous one still ran */
	uint64_t waited;  /* how often a scrape that was due found all requests in use */
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
	size_t slow;			 /* requests that have lost their slot, or never had one */
	struct Scrape *in_slots; /* requests with slots, oldest first */
	struct Scrape *paused;	 /* requests whose answers have begun, but that have no slot yet */
	size_t body_max;
	FetcherStats stats;
} Fetcher;

/* Starts due scrapes. Returns the latest time of the next call. */
int64_t fetcher_tick(Fetcher *fetcher, int64_t now_ns);

/* Stores the outcomes of the profiles that the storer has decoded. */
void fetcher_collect(Fetcher *fetcher);

#endif
