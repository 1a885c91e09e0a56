/*
 * loop.h
 *		State of the loop's thread, which serves all connections. No other thread may use it.
 *
 * The layers, each of which uses only earlier ones: connection (bytes of a socket), intake
 * (authentication and memory of calls), http1 and http2 (bytes to calls, answers to bytes), traffic
 * (events of a connection), server (listening sockets, turns).
 */
#ifndef COLLECTOR_HTTP_SERVER_LOOP_H
#define COLLECTOR_HTTP_SERVER_LOOP_H

#include "http_server/clients.h"
#include "http_server/host.h"

#define LOOP_READ_BYTES (64 * 1024)

typedef struct Connection Connection;

typedef struct Loop
{
	Host *host;
	const HostOptions *options;
	int epoll_fd;
	int64_t now_ns; /* CLOCK_MONOTONIC at the start of the current turn */
	Connection *connections;
	int64_t connection_count;
	Identities *identities; /* NULL: there is no file of tokens */
	Clients clients;		/* keyed by client; for requests */
	size_t away_count;		/* number of dispatched calls */
	bool is_stopping;
	uint8_t buffer[LOOP_READ_BYTES]; /* input of the current connection */
} Loop;

#endif
