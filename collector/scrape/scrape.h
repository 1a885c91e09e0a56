/*
 * scrape.h
 *		The command "scrape": fetches profiles from targets until it is stopped.
 */
#ifndef COLLECTOR_SCRAPE_H
#define COLLECTOR_SCRAPE_H

#include "scrape/scrape_options.h"

/* Runs until stopped and logs why it ended. Returns the process's exit code. */
ExitCode scrape_run(const ScrapeOptions *options);

#endif
