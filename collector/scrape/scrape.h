/*
 * scrape.h
 *		The sub-command "scrape": fetches profiles from targets until told to stop.
 */
#ifndef COLLECTOR_SCRAPE_H
#define COLLECTOR_SCRAPE_H

#include "scrape/options.h"

/* Runs to the end and logs why it ended; the process's exit code. */
ExitCode scrape_run(const ScrapeOptions *options);

#endif
