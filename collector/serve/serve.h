/*
 * serve.h
 *		The sub-command "serve": answers queries of Grafana's Profiles Drilldown, and of its data
 *		source for Pyroscope, from the database, read-only.
 */
#ifndef COLLECTOR_SERVE_H
#define COLLECTOR_SERVE_H

#include "serve/serve_options.h"

/* Runs until SIGTERM or SIGINT; SIGHUP reads certificates and tokens again. */
ExitCode serve_run(const ServeOptions *options);

#endif
