/*
 * http_client.h
 *		Many requests at once, in one thread: libcurl behind bounds.
 *
 * A request ends by its answer, its deadline or an error, whichever comes first, and tells so by a
 * callback from within http_client_step. None waits for another one. Bodies are bounded each, and
 * all that are held by http_client's budget: a body counts until it is given back, by any thread.
 * Neither URLs' passwords nor secrets are in errors.
 *
 * Where the settings ask for a token (OAuth 2.0) it is had first, within the request's deadline;
 * requests with equal settings share one until it expires.
 */
#ifndef COLLECTOR_HTTP_CLIENT_H
#define COLLECTOR_HTTP_CLIENT_H

#include "http_client/http_request.h"

typedef struct HttpClient HttpClient;
typedef struct HttpTransfer HttpTransfer;

/* 0 or -ENOMEM. held_max: bytes of all bodies. */
int http_client_create(size_t held_max, HttpClient **client);
void http_client_free(HttpClient *client); /* ends what runs, with an error; accepts NULL */

/* NULL where memory is out. Any other failure is told by on_end, in the next step. */
HttpTransfer *http_client_start(HttpClient *client, const HttpRequest *request);
void http_transfer_cancel(HttpTransfer *transfer);

/* Goes on with a transfer that may_read has paused; not to be called by a callback. */
void http_transfer_resume(HttpTransfer *transfer);

/* Goes on with all requests; waits at most so long, for them, a wake-up or fd (-1: none). */
void http_client_step(HttpClient *client, int64_t wait_ms, int fd);

/* Ends a wait, from any thread. */
void http_client_wake(HttpClient *client);
size_t http_client_held(const HttpClient *client); /* bytes of bodies */

void http_body_free(HttpBody *body); /* a zeroed one, too; from any thread */

/* A URL without a password, as it may stand in the log; to be freed by the caller. */
char *http_url_public(const char *url);

#endif
