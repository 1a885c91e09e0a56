/*
 * serve_options.h
 *		Options of the command "serve".
 */
#ifndef COLLECTOR_SERVE_OPTIONS_H
#define COLLECTOR_SERVE_OPTIONS_H

#include "http_server/host.h"
#include "program/common_flags.h"

#define SERVE_FLAGS_MAX 32

/* The role as which the database runs the queries of a client. */
enum
{
	SERVE_AS_SERVER, /* the role of --db, or the one that the client's token or certificate gives */
	SERVE_AS_LOGIN	 /* the user of the client's Basic authentication */
};

typedef struct ServeOptions
{
	const char *database; /* libpq connection string */
	HostOptions host;
	int authenticate;	 /* SERVE_AS_* */
	int64_t connections; /* limit of connections to the database, each of which has a thread */
	int64_t query_ms;	 /* limit of the duration of a query */
	LogOptions log;
} ServeOptions;

/* Sets the defaults and fills in the flags, which point into options. Returns their number. */
size_t serve_flags(ServeOptions *options, Flag flags[SERVE_FLAGS_MAX]);

#endif
