/*
 * server.h
 *		The loop: listening sockets, connections and their calls.
 *
 * One thread, which never blocks: sockets are non-blocking, workers decode, and the writer talks to
 * the database.
 */
#ifndef COLLECTOR_HTTP_SERVER_SERVER_H
#define COLLECTOR_HTTP_SERVER_SERVER_H

#include <openssl/ssl.h>

#include "http_server/loop.h"

#define SERVER_LISTENERS_MAX 16

typedef struct Server
{
	Loop loop;
	int listeners[SERVER_LISTENERS_MAX];
	size_t listener_count;
	SSL_CTX *tls;	   /* NULL: plain text */
	Clients addresses; /* by address, for connections */
	int64_t connections_max;
} Server;

/*
 * Opens the sockets, and reads certificates and tokens. Returns EXIT_OK, or another code with
 * *failure set. Call server_fini() in either case.
 */
ExitCode server_init(Server *server, Host *host, Failure *failure);
void server_fini(Server *server);

/* Reads certificates and tokens again; on failure, with *failure set, the old ones remain. */
ExitCode server_reload(Server *server, Failure *failure);

/*
 * Runs one turn: waits for events, for at most wait_ms and at most a quarter of a second; a signal
 * ends the wait. The caller must not pause longer than that between turns.
 */
void server_turn(Server *server, int wait_ms);

/* Takes no new connections and requests, and answers the current ones. */
void server_stop(Server *server);

#endif
