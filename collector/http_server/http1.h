/*
 * http1.h
 *		HTTP/1.1 with one request at a time: a pipelined request is parsed after the answer to
 *		the previous one was sent.
 */
#ifndef COLLECTOR_HTTP_SERVER_HTTP1_H
#define COLLECTOR_HTTP_SERVER_HTTP1_H

#include "http_server/http_connection.h"

extern const Protocol http1_protocol;

/* Begins HTTP/1.1 on a connection. Returns false if out of memory. */
bool http1_start(Connection *connection);
void http1_end(Connection *connection); /* accepts a connection without it */

/* Processes received bytes. */
void http1_read(Connection *connection, const uint8_t *bytes, size_t length);

/* Processes pipelined bytes after the answer was sent. */
void http1_go_on(Connection *connection);

/* Appends the next part of a large answer, if the output is empty. */
void http1_write(Connection *connection);

/* Returns the size of the buffer of unparsed input. */
size_t http1_held(const Connection *connection);

/* Returns true while the headers of a request are incomplete, so that it has no call yet. */
bool http1_is_in_head(const Connection *connection);

/* Returns true if input waits for an answer, or for a worker that has a part of the body. */
bool http1_has_more(const Connection *connection);

/* Returns true if a complete request has no answer yet, or if its answer is being sent. */
bool http1_is_waiting(const Connection *connection);

/*
 * Sends the first bytes of the answer, which are equal for all answers. If the client is gone, its
 * host resets the connection; otherwise the client continues to wait.
 */
void http1_probe(Connection *connection);

/* Makes the connection close after the current request. */
void http1_stop(Connection *connection);

#endif
