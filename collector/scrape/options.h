/*
 * options.h
 *		The flags of "scrape".
 */
#ifndef COLLECTOR_SCRAPE_OPTIONS_H
#define COLLECTOR_SCRAPE_OPTIONS_H

#include <stdint.h>

#include "base/common_flags.h"

#define SCRAPE_CONCURRENCY_MAX 100000
#define SCRAPE_TARGETS_MAX	   10000000

typedef struct ScrapeOptions
{
	const char *database;	 /* libpq connection string */
	const char *config_file; /* NULL: not given */
	const char *node;		 /* of losses */
	int64_t concurrency;	 /* requests to targets at once */
	int64_t targets_max;	 /* by profile */
	size_t body_max;		 /* bytes of one profile as it is sent */
	size_t profile_max;		 /* the same unpacked */
	int64_t max_age_ms;		 /* of samples */
	size_t held_max;		 /* bytes of all that wait to be read */
	size_t queue_bytes;
	int64_t stop_timeout_ms;
	const char *status_file; /* NULL: none */
	const char *listen;		 /* HOST:PORT, several separated by commas, of pages; NULL: none */
	LogOptions log;
	char node_room[300]; /* default of node */
} ScrapeOptions;

/* Sets the defaults and describes the flags, which point into options; their number. */
size_t scrape_flags(ScrapeOptions *options, Flag *flags);

#endif
