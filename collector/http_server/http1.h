/*
 * http1.h
 *		HTTP/1.1, as far as it is needed: one request at a time, the next is looked at when the
 *		answer is sent.
 */
#ifndef COLLECTOR_HTTP_SERVER_HTTP1_H
#define COLLECTOR_HTTP_SERVER_HTTP1_H

#include "http_server/connection.h"

extern const Protocol http1_protocol;

/* False without memory. */
bool http1_start(Connection *connection);
void http1_end(Connection *connection); /* accepts one that was not started */

/* Bytes that came. */
void http1_read(Connection *connection, const uint8_t *bytes, size_t length);

/* What came behind a request, now that it is answered. */
void http1_go_on(Connection *connection);

/* Returns the bytes of the buffer for input that is not read yet. */
size_t http1_held(const Connection *connection);

/* Within headers of a request, of which there is no call yet. */
bool http1_is_in_head(const Connection *connection);

/* Something came behind a request that is not answered yet. */
bool http1_has_more(const Connection *connection);

/* A request came whole and has no answer yet. */
bool http1_is_waiting(const Connection *connection);

/*
 * Sends the first bytes of the answer, which are the same for all of them: a client that is gone
 * resets the connection, one that reads goes on to wait.
 */
void http1_probe(Connection *connection);

/* No request after this one. */
void http1_stop(Connection *connection);

#endif
