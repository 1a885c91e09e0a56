/*
 * scraper.h
 *		All jobs of a configuration, and what they share.
 */
#ifndef COLLECTOR_SCRAPER_H
#define COLLECTOR_SCRAPER_H

#include "scrape/fetcher.h"
#include "scrape/job_run.h"
#include "scrape/operator.h"
#include "scrape/options.h"
#include "scrape/target_rows.h"

typedef struct Scraper
{
	const ScrapeOptions *options;
	HttpClient *client;
	Writer *writer;
	Storer *storer;
	TargetStore *store;
	Schedule schedule;
	Fetcher fetcher;
	ScrapeConfig *config;
	JobRun **runs; /* one of each job */
	size_t run_count;
	OperatorJobs *operator_jobs; /* NULL before the first configuration */
	struct ScrapePages *pages;	 /* pages.h; NULL: none */
	TargetQueue changed;		 /* whose rows are to be stored */
	ScrapeTarget **storing;		 /* whose rows are being stored */
	size_t storing_count;
	int64_t rows_ns;   /* when rows were stored last, CLOCK_MONOTONIC */
	int64_t status_ns; /* so the status */
	uint64_t reloads;  /* of the configuration, that were good */
	uint64_t reloads_failed;
	bool config_good; /* the last one that was read is that which runs */
} Scraper;

/* Each job that runs. */
void scraper_each_run(const Scraper *scraper, void (*see)(void *context, JobRun *run),
					  void *context);

/* Whatever is due of the jobs; when to call again. */
int64_t scraper_tick(Scraper *scraper, int64_t now_ns);

/*
 * Puts another configuration, whose reference it takes, in the place of the one that runs. False
 * where memory is out: the old one goes on.
 */
bool scraper_adopt(Scraper *scraper, ScrapeConfig *config, int64_t now_ns);

/* Gives all jobs back, and targets but for those whose requests still run. */
void scraper_fini(Scraper *scraper);

/* Hands states that have changed to the thread that stores them, when it has time for it. */
void scraper_store_rows(Scraper *scraper, int64_t now_ns);

#endif
