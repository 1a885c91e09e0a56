/*
 * scrape_pages.h
 *		Serves /metrics, /-/healthy and /-/ready of a scraper with the HTTP server of "receive".
 *
 * The scraper's own loop answers requests, so health checks of a scraper that hangs are not
 * answered.
 */
#ifndef COLLECTOR_SCRAPE_PAGES_H
#define COLLECTOR_SCRAPE_PAGES_H

#include "scrape/scraper.h"

typedef struct ScrapePages ScrapePages;

/* Returns EXIT_OK, with *pages NULL if no pages are configured; otherwise *failure is set. */
ExitCode scrape_pages_open(Scraper *scraper, ScrapePages **pages, Failure *failure);
void scrape_pages_close(ScrapePages *pages); /* accepts NULL */

/*
 * Returns a descriptor that is readable when there is work: a signal or a request. pages may be
 * NULL.
 */
int scrape_pages_fd(const ScrapePages *pages);
void scrape_pages_turn(ScrapePages *pages);

/* Publishes the figures of the page for the writer, which reports them to the database. */
void scrape_publish_figures(Scraper *scraper);

#endif
