/*
 * loop.h
 *		What the loop's thread has, which serves all connections; nobody else's to touch.
 *
 * Layers, each of which knows those before it: connection (bytes of a socket), intake (calls: who
 * may ask, and what is held of it), http1 and http2 (bytes into calls, answers into bytes), traffic
 * (what an event of a connection means), server (sockets that listen, turns).
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
	int64_t now_ns; /* CLOCK_MONOTONIC, of this turn */
	Connection *connections;
	int64_t connection_count;
	Identities *identities; /* NULL: no tokens */
	Clients clients;		/* requests of each */
	size_t away_count;		/* calls that were dispatched */
	bool is_stopping;
	uint8_t buffer[LOOP_READ_BYTES]; /* what was read just now */
} Loop;

#endif
