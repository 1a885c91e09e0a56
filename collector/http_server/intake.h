/*
 * intake.h
 *		Incoming calls: authentication, limits of bodies, dispatch, and the way of the answer
 *		back.
 *
 * The loop's thread alone. Errors of a call are answered here, through its connection's protocol.
 */
#ifndef COLLECTOR_HTTP_SERVER_INTAKE_H
#define COLLECTOR_HTTP_SERVER_INTAKE_H

#include "http_server/connection.h"

/* Bytes that a service gets at once of a stream without messages. */
#define INTAKE_PART_BYTES ((size_t) 1024 * 1024)

/* --- for protocols (http1.c, http2.c) --- */

/* Adds a call. Returns false, and the caller keeps the call, if the connection may hold no more. */
bool intake_add(Connection *connection, Call *call);

/*
 * The stream was closed or its answer sent: frees the call now, or when it comes back from another
 * thread.
 */
void intake_drop(Connection *connection, Call *call);

/*
 * Called when all headers were read. Returns false if the call is answered already and its body not
 * needed.
 */
bool intake_headers(Loop *loop, Call *call);

/*
 * Takes a part of the body; for gRPC, without its prefixes. Returns false if the call is answered
 * already and the rest of its body not needed.
 */
bool intake_body(Loop *loop, Call *call, const uint8_t *bytes, size_t length);

/* Called at the end of the request. */
void intake_end_of_request(Loop *loop, Call *call);

/* --- functions for rooms above --- */

void intake_drop_all(Connection *connection);

/* Answers calls that have been waiting or arriving for too long. */
void intake_check(Connection *connection);

/*
 * Takes back a dispatched call and sends its answer. Returns its connection; NULL if the client has
 * left.
 */
Connection *intake_take_back(Loop *loop, Call *call);

#endif
