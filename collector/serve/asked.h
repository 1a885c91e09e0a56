/*
 * asked.h
 *		A client's question while it is processed: its call, and the session that answers it.
 */
#ifndef COLLECTOR_SERVE_ASKED_H
#define COLLECTOR_SERVE_ASKED_H

#include "http_server/service.h"
#include "serve/reader_pool.h"
#include "serve/serve_options.h"

typedef struct Serving
{
	Host host; /* must be the first field, so that services can find the others from it */
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
	ReaderSession *session; /* NULL: no query has been run yet */
} Asked;

/*
 * Runs one query as the client. Returns its result, charged to the call's memory, to be freed by
 * the caller; NULL after answering the call with an error.
 */
Result *asked_query(Asked *asked, const Statement *statement);

/* Answers with an error, which is counted as a refusal. Returns false. */
bool asked_refuse(Asked *asked, GrpcCode code, const char *text);

/* Answers that memory is short, and asks the client to retry. Returns false. */
bool asked_no_memory(Asked *asked);

/*
 * Ends a question: charges its answer, which is good or an error, to memory until the client has
 * it, gives the session back, and returns the call to the loop.
 */
void asked_end(Asked *asked, bool is_good);

/* Counts an answer that is sent. Implements ServiceTable.answered. */
void asked_answered(Host *host);

#endif
