/*
 * intake.h
 *		Calls as they come in: who may ask, how much of a body is held, where it goes then, and the
 *		way back.
 *
 * The loop's thread alone. What goes wrong with a call is answered here, by its connection's
 * protocol.
 */
#ifndef COLLECTOR_HTTP_SERVER_INTAKE_H
#define COLLECTOR_HTTP_SERVER_INTAKE_H

#include "http_server/connection.h"

/* --- for protocols (http1.c, http2.c) --- */

/* Returns false, and the call stays the caller's, if the connection may hold no more. */
bool intake_add(Connection *connection, Call *call);

/* The stream is gone, or its answer sent: the call is freed, now or when it comes back. */
void intake_drop(Connection *connection, Call *call);

/* All headers are there: false where the call is answered already, and its body is not wanted. */
bool intake_headers(Loop *loop, Call *call);

/* More of the body, of HTTP; of gRPC the frame around it goes. False as above. */
bool intake_body(Loop *loop, Call *call, const uint8_t *bytes, size_t length);

/* Ends the input: no more bytes follow. */
void intake_end_of_request(Loop *loop, Call *call);

/* --- for what is above them --- */

void intake_drop_all(Connection *connection);

/* Answers those that are away, or come, for too long. */
void intake_check(Connection *connection);

/* A call that was dispatched: its answer goes the way that it came. NULL: nobody waits for it. */
Connection *intake_take_back(Loop *loop, Call *call);

#endif
