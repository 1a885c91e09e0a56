/*
 * server.h
 *		The loop: listening sockets, connections, and the calls that came by them.
 *
 * One thread. Nothing in it waits: sockets do not block, decoding is the workers', the database the
 * writer's.
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
	SSL_CTX *tls;	   /* NULL: clear text */
	Clients addresses; /* connections of each */
	int64_t connections_max;
} Server;

/* Opens sockets, reads certificates and tokens. To be given back in either case. */
ExitCode server_init(Server *server, Host *host, Failure *failure);
void server_fini(Server *server);

/* Certificates and tokens once more; with *failure all stays as it was. */
ExitCode server_reload(Server *server, Failure *failure);

/*
 * One turn: waits for events, that long and a quarter of a second at most; a signal ends the wait.
 * To be called that often, too.
 */
void server_turn(Server *server, int wait_ms);

/* No new connections and requests; those that are there are answered. */
void server_stop(Server *server);

#endif
