/*
 * traffic.h
 *		Handles events and deadlines of a connection: TLS, choice of the protocol, input and
 *		output.
 */
#ifndef COLLECTOR_HTTP_SERVER_TRAFFIC_H
#define COLLECTOR_HTTP_SERVER_TRAFFIC_H

#include "http_server/http_connection.h"

/* Handles an event; the connection may be closed afterwards. */
void traffic_handle(Connection *connection, uint32_t events);

/*
 * Continues after an answer that came without an event: sends it, and processes pipelined input.
 * The connection may be closed afterwards.
 */
void traffic_go_on(Connection *connection);

/* Checks the deadlines of a connection and its calls; the connection may be closed afterwards. */
void traffic_check(Connection *connection);

/* Announces to the client that no further requests are accepted. */
void traffic_stop(Connection *connection);

/* Closes the connection at once, even if calls are running. */
void traffic_close(Connection *connection);

#endif
