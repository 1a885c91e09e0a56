/*
 * pages.h
 *		/metrics, /-/healthy and /-/ready of a scraper, by the receiver's server.
 *
 * They are answered in the scraper's own loop: whoever asks whether it is alive is told by what is
 * to be alive, or by nobody.
 */
#ifndef COLLECTOR_SCRAPE_PAGES_H
#define COLLECTOR_SCRAPE_PAGES_H

#include "scrape/scraper.h"

typedef struct ScrapePages ScrapePages;

/* EXIT_OK, with *pages NULL where nobody asked for them, or with *failure. */
ExitCode scrape_pages_open(Scraper *scraper, ScrapePages **pages, Failure *failure);
void scrape_pages_close(ScrapePages *pages); /* accepts NULL */

/* Readable where there is something to do: a signal, or a turn of the pages. They may be NULL. */
int scrape_pages_fd(const ScrapePages *pages);
void scrape_pages_turn(ScrapePages *pages);

#endif
