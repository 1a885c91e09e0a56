/*
 * traffic.h
 *		What events and time do to a connection: TLS, which protocol, bytes to it and from it.
 */
#ifndef COLLECTOR_HTTP_SERVER_TRAFFIC_H
#define COLLECTOR_HTTP_SERVER_TRAFFIC_H

#include "http_server/connection.h"

/* After an event; the connection may be closed then. */
void traffic_handle(Connection *connection, uint32_t events);

/* After an answer that came by itself: it is sent; what waited behind it is looked at. As above. */
void traffic_go_on(Connection *connection);

/* Is its time up, or that of its calls? As above. */
void traffic_check(Connection *connection);

/* Tells the client that no more requests are taken. */
void traffic_stop(Connection *connection);

/* At once, whatever is under way. */
void traffic_close(Connection *connection);

#endif
