/*
 * metrics_page.h
 *		A small HTTP server for /metrics, on a thread of its own.
 *
 * The agent uses this server because its program is built without the libraries of http_server. It
 * answers GET and HEAD of HTTP/1, closes each connection after one answer, and has no
 * authentication. It limits the number of connections and requests per second, and the bytes and
 * time of a request. No other thread waits for this one.
 */
#ifndef COLLECTOR_METRICS_PAGE_H
#define COLLECTOR_METRICS_PAGE_H

#include "program/failure.h"
#include "program/figures.h"

typedef struct MetricsPage MetricsPage;

typedef struct MetricsPageOptions
{
	const char *listen; /* list of HOST:PORT, separated by commas */
	const char *part;	/* prefix of names after profstore_; also the module of the log */
	FiguresFill fill;	/* called by the page's thread */
	void *context;
} MetricsPageOptions;

/* Starts the server. Returns EXIT_OK; EXIT_CONFIG or EXIT_INTERNAL with *failure set. */
ExitCode metrics_page_start(const MetricsPageOptions *options, MetricsPage **page,
							Failure *failure);
void metrics_page_stop(MetricsPage *page); /* accepts NULL */

#endif
