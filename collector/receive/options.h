/*
 * options.h
 *		What "receive" can be told by flags.
 */
#ifndef COLLECTOR_RECEIVE_OPTIONS_H
#define COLLECTOR_RECEIVE_OPTIONS_H

#include "base/common_flags.h"

#define RECEIVE_FLAGS_MAX 32

typedef struct ReceiveOptions
{
	const char *database; /* libpq connection string */
	const char *listen;	  /* HOST:PORT, several separated by commas */
	const char *cert;	  /* PEM files; NULL: no TLS */
	const char *key;
	const char *client_ca; /* whoever connects must have a certificate of it; NULL: nobody */
	const char *tokens;	   /* file of bearer tokens and tenants; NULL: none */
	const char *drop;	   /* attributes that become no labels, see otlp/labels.h */
	size_t max_message;	   /* bytes of a request, unpacked */
	size_t max_memory;	   /* of requests that are under way */
	size_t queue_bytes;	   /* of batches that wait for the database */
	int64_t max_connections;
	int64_t client_connections; /* of one address */
	int64_t client_requests;	/* a second, of one tenant or address */
	int64_t client_series;		/* in an hour, of one tenant or address */
	int64_t workers;
	int64_t answer_ms;	/* until whoever waits is told to come again */
	int64_t idle_ms;	/* until a connection without requests is closed */
	int64_t max_age_ms; /* of samples */
	bool keep_times;
	LogOptions log;
} ReceiveOptions;

/* Sets the defaults and describes the flags, which point into options; their number. */
size_t receive_flags(ReceiveOptions *options, Flag flags[RECEIVE_FLAGS_MAX]);

#endif
