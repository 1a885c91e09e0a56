/*
 * scrape_options.h
 *		The flags of the command "scrape".
 */
#ifndef COLLECTOR_SCRAPE_OPTIONS_H
#define COLLECTOR_SCRAPE_OPTIONS_H

#include <stdint.h>

#include "program/common_flags.h"
#include "spool/spool_options.h"

#define SCRAPE_CONCURRENCY_MAX 100000
#define SCRAPE_TARGETS_MAX	   10000000

typedef struct ScrapeOptions
{
	const char *database;	 /* libpq connection string */
	const char *config_file; /* NULL: not given */
	const char *node;		 /* name of this scraper, stored with losses */
	int64_t concurrency;	 /* maximum number of concurrent requests to targets */
	int64_t targets_max;	 /* limit of targets; each profile of a target counts */
	size_t body_max;		 /* limit of a profile as sent */
	size_t profile_max;		 /* limit of a profile after decompression */
	int64_t max_age_ms;		 /* limit of the age of samples */
	size_t held_max;		 /* limit of all profiles that wait to be decoded */
	size_t queue_bytes;
	SpoolOptions spool;
	int64_t stop_timeout_ms;
	const char *status_file; /* NULL: no status file */
	/* list of HOST:PORT of the pages, separated by commas; NULL: no pages */
	const char *listen;
	LogOptions log;
	char node_room[300]; /* default of node */
} ScrapeOptions;

/* Sets the defaults and describes the flags, which point into options. Returns their number. */
size_t scrape_flags(ScrapeOptions *options, Flag *flags);

#endif
