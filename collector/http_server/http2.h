/*
 * http2.h
 *		HTTP/2 and gRPC over it, by nghttp2.
 */
#ifndef COLLECTOR_HTTP_SERVER_HTTP2_H
#define COLLECTOR_HTTP_SERVER_HTTP2_H

#include "http_server/connection.h"

extern const Protocol http2_protocol;

/* False without memory. */
bool http2_start(Connection *connection);
void http2_end(Connection *connection); /* accepts one that was not started */

/* Bytes that came. */
void http2_read(Connection *connection, const uint8_t *bytes, size_t length);

/* Moves frames into the connection's output, as far as there is room. */
void http2_write(Connection *connection);

/* GOAWAY: no new streams. */
void http2_stop(Connection *connection);

#endif
