/*
 * metrics_page.h
 *		A small HTTP server for /metrics, on a thread of its own.
 *
 * The agent serves its page by this and not by http_server, whose libraries its program does not
 * have. It answers GET and HEAD of HTTP/1, closes each connection after one answer, and has no
 * authentication. Connections, requests per second, bytes and time of a request are limited. No
 * other thread waits for it.
 */
#ifndef COLLECTOR_METRICS_PAGE_H
#define COLLECTOR_METRICS_PAGE_H

#include "program/failure.h"
#include "program/figures.h"

typedef struct MetricsPage MetricsPage;

typedef struct MetricsPageOptions
{
	const char *listen; /* HOST:PORT, separated by commas */
	const char *part;	/* prefix of names after profstore_; also the module of the log */
	FiguresFill fill;	/* called by the page's thread */
	void *context;
} MetricsPageOptions;

/* Returns EXIT_OK, or EXIT_CONFIG or EXIT_INTERNAL with *failure set. */
ExitCode metrics_page_start(const MetricsPageOptions *options, MetricsPage **page,
							Failure *failure);
void metrics_page_stop(MetricsPage *page); /* accepts NULL */

#endif
