/*
 * serve_options.h
 *		Options of the command "serve".
 */
#ifndef COLLECTOR_SERVE_OPTIONS_H
#define COLLECTOR_SERVE_OPTIONS_H

#include "http_server/host.h"
#include "program/common_flags.h"

#define SERVE_FLAGS_MAX 32

/* Who a client is, to the database. */
enum
{
	SERVE_AS_SERVER, /* the role of --db, or that of a token or certificate */
	SERVE_AS_LOGIN	 /* the user and password of Basic authentication */
};

typedef struct ServeOptions
{
	const char *database; /* libpq connection string */
	HostOptions host;
	int authenticate;	 /* SERVE_AS_* */
	int64_t connections; /* limit of connections to the database, each with a thread */
	int64_t query_ms;	 /* limit of a query */
	LogOptions log;
} ServeOptions;

/* Sets the defaults and fills in the flags, which point into options. Returns their number. */
size_t serve_flags(ServeOptions *options, Flag flags[SERVE_FLAGS_MAX]);

#endif
