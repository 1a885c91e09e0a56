/*
 * http_client.h
 *		Runs many HTTP requests in one thread, with libcurl and limits.
 *
 * A request ends with its answer, its deadline or an error, whichever is first, and reports that to
 * a callback within http_client_step(). No request waits for another. Each body is limited, as is
 * the sum of all bodies: a body counts until it is freed, by any thread. Errors contain neither
 * secrets nor passwords of URLs.
 *
 * If the settings demand an OAuth 2.0 token it is requested first, within the request's deadline.
 * Requests with equal settings share a token until it expires.
 */
#ifndef COLLECTOR_HTTP_CLIENT_H
#define COLLECTOR_HTTP_CLIENT_H

#include "http_client/http_request.h"

typedef struct HttpClient HttpClient;
typedef struct HttpTransfer HttpTransfer;

/* held_max: limit of the bytes of all bodies. Returns 0 or -ENOMEM. */
int http_client_create(size_t held_max, HttpClient **client);
void http_client_free(HttpClient *client); /* ends running requests with an error; accepts NULL */

/*
 * Starts a request. Returns NULL if out of memory; other failures are passed to on_end in the next
 * step.
 */
HttpTransfer *http_client_start(HttpClient *client, const HttpRequest *request);
void http_transfer_cancel(HttpTransfer *transfer);

/* Continues a transfer that may_read has paused. Must not be called by a callback. */
void http_transfer_resume(HttpTransfer *transfer);

/* Advances all requests; waits at most wait_ms for their events, a wake-up or fd (-1: none). */
void http_client_step(HttpClient *client, int64_t wait_ms, int fd);

/* Ends a wait. Any thread. */
void http_client_wake(HttpClient *client);
size_t http_client_held(const HttpClient *client); /* bytes of all bodies */

void http_body_free(HttpBody *body); /* any thread; accepts a zeroed body */

/* Returns a copy of a URL without its password, for the log; the caller frees it. */
char *http_url_public(const char *url);

#endif
