/*
 * asked.h
 *		A question of a client on its way: its call, and the session that answers it.
 */
#ifndef COLLECTOR_SERVE_ASKED_H
#define COLLECTOR_SERVE_ASKED_H

#include "http_server/service.h"
#include "serve/reader_pool.h"
#include "serve/serve_options.h"

typedef struct Serving
{
	Host host; /* first, so that services find the rest */
	const ServeOptions *options;
	ReaderPool pool;
	ServeMetrics metrics;
} Serving;

static inline Serving *
serving_of(Host *host)
{
	return (Serving *) host;
}

typedef struct Asked
{
	Serving *serving;
	Call *call;
	ReaderSession *session; /* NULL until the first query */
} Asked;

/*
 * Runs one query as the client. Returns its result, charged to the call's memory, to be freed by
 * the caller; NULL after answering the call with an error.
 */
Result *asked_query(Asked *asked, const Statement *statement);

/* Answers with an error, which is counted as a refusal. Returns false. */
bool asked_refuse(Asked *asked, GrpcCode code, const char *text);

/* Answers that memory is short: asks the client to retry. Returns false. */
bool asked_no_memory(Asked *asked);

/* Gives the session back. */
void asked_end(Asked *asked);

#endif
