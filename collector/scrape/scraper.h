/*
 * scraper.h
 *		All jobs of a configuration and the parts that they share.
 */
#ifndef COLLECTOR_SCRAPER_H
#define COLLECTOR_SCRAPER_H

#include "program/figures.h"
#include "scrape/fetcher.h"
#include "scrape/job_run.h"
#include "scrape/operator.h"
#include "scrape/scrape_options.h"
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
	JobRun **runs; /* one for each job */
	size_t run_count;
	OperatorJobs *operator_jobs; /* NULL before the first configuration */
	struct ScrapePages *pages;	 /* scrape_pages.h; NULL if none */
	TargetQueue changed;		 /* targets whose rows are to be stored */
	ScrapeTarget **storing;		 /* targets whose rows are being stored */
	size_t storing_count;
	int64_t rows_ns;   /* when rows were last stored, CLOCK_MONOTONIC */
	int64_t status_ns; /* when the status was last written */
	uint64_t reloads;  /* successful reloads of the configuration */
	uint64_t reloads_failed;
	bool config_good; /* the configuration that was read last is valid and in use */
	FiguresSnapshot figures;
	int64_t figures_ns; /* when figures are published next, CLOCK_MONOTONIC */
} Scraper;

/* Calls see for each running job. */
void scraper_each_run(const Scraper *scraper, void (*see)(void *context, JobRun *run),
					  void *context);

/* Does the work of all jobs that is due. Returns the time of the next call. */
int64_t scraper_tick(Scraper *scraper, int64_t now_ns);

/*
 * Replaces the configuration and owns the reference to the new one. Returns false on out of memory;
 * the old configuration then stays.
 */
bool scraper_adopt(Scraper *scraper, ScrapeConfig *config, int64_t now_ns);

/* Frees all jobs and their targets, except targets whose requests still run. */
void scraper_fini(Scraper *scraper);

/* Passes changed states to the thread that stores them, if that thread is idle. */
void scraper_store_rows(Scraper *scraper, int64_t now_ns);

#endif
