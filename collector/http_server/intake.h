/*
 * intake.h
 *		Incoming calls: authentication, limits of bodies, dispatch to workers, and the return of the
 *		answer.
 *
 * Belongs to the loop's thread. Errors of a call are answered here, through the protocol of its
 * connection.
 */
#ifndef COLLECTOR_HTTP_SERVER_INTAKE_H
#define COLLECTOR_HTTP_SERVER_INTAKE_H

#include "http_server/http_connection.h"

/* A service gets up to this many bytes at once of a stream without messages. */
#define INTAKE_PART_BYTES ((size_t) 1024 * 1024)

/* --- for protocols (http1.c, http2.c) --- */

/*
 * Adds a call to a connection. Returns false if the connection must have no more calls; the caller
 * then keeps the call.
 */
bool intake_add(Connection *connection, Call *call);

/*
 * Call it when the stream was closed or its answer sent. Frees the call now, or when another thread
 * gives it back.
 */
void intake_drop(Connection *connection, Call *call);

/*
 * Called when all headers were read. Returns false if the call was answered already, so that its
 * body is not needed.
 */
bool intake_headers(Loop *loop, Call *call);

/*
 * Receives a part of the body (for gRPC without prefixes). Returns false if the call was answered
 * already, so that the rest of its body is not needed.
 */
bool intake_body(Loop *loop, Call *call, const uint8_t *bytes, size_t length);

/* Called at the end of the request. */
void intake_end_of_request(Loop *loop, Call *call);

/* --- functions for rooms above --- */

void intake_drop_all(Connection *connection);

/* Answers calls that have been waiting or arriving for too long. */
void intake_check(Connection *connection);

/*
 * Removes a call that was given back from the dispatched ones, and sends its answer. Returns its
 * connection; NULL if the client has disconnected.
 */
Connection *intake_take_back(Loop *loop, Call *call);

#endif
