/*
 * http_client.h
 *		Runs many HTTP requests in one thread, with libcurl and limits.
 *
 * A request ends with its answer, its deadline or an error, whichever comes first; its callback is
 * called within http_client_step(). No request waits for another. Each body is limited, as is the
 * sum of all bodies; a body counts until a thread, which may be any, frees it. Errors contain
 * neither secrets nor passwords of URLs.
 *
 * If the settings require an OAuth 2.0 token, the token is requested first, within the request's
 * deadline. Requests with equal settings share a token until it expires.
 */
#ifndef COLLECTOR_HTTP_CLIENT_H
#define COLLECTOR_HTTP_CLIENT_H

#include "http_client/http_request.h"

typedef struct HttpClient HttpClient;
typedef struct HttpTransfer HttpTransfer;

/* Makes a client whose bodies may have held_max bytes in total. Returns 0 or -ENOMEM. */
int http_client_create(size_t held_max, HttpClient **client);
void http_client_free(HttpClient *client); /* ends running requests with an error; accepts NULL */

/*
 * Starts a request. Returns NULL if out of memory; other failures are passed to on_end in the next
 * step.
 */
HttpTransfer *http_client_start(HttpClient *client, const HttpRequest *request);
void http_transfer_cancel(HttpTransfer *transfer);

/* Continues a transfer that may_read has paused. A callback must not call this function. */
void http_transfer_resume(HttpTransfer *transfer);

/* Advances all requests. Waits at most wait_ms for their events, a wake-up, or fd (-1: none). */
void http_client_step(HttpClient *client, int64_t wait_ms, int fd);

/* Ends a wait. Any thread. */
void http_client_wake(HttpClient *client);
size_t http_client_held(const HttpClient *client); /* bytes of all bodies */

void http_body_free(HttpBody *body); /* any thread; accepts a zeroed body */

/* Returns a copy of a URL without its password, for the log; the caller frees it. */
char *http_url_public(const char *url);

#endif
