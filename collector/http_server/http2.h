/*
 * http2.h
 *		HTTP/2 and gRPC, with nghttp2.
 */
#ifndef COLLECTOR_HTTP_SERVER_HTTP2_H
#define COLLECTOR_HTTP_SERVER_HTTP2_H

#include "http_server/http_connection.h"

extern const Protocol http2_protocol;

/* Begins HTTP/2 on a connection. Returns false if out of memory. */
bool http2_start(Connection *connection);
void http2_end(Connection *connection); /* accepts a connection without it */

/* Processes received bytes. */
void http2_read(Connection *connection, const uint8_t *bytes, size_t length);

/* Moves frames to the connection's output while there is room. */
void http2_write(Connection *connection);

/* Sends GOAWAY, so that the client opens no new streams. */
void http2_stop(Connection *connection);

#endif
