/*
 * server.h
 *		The loop: listening sockets, connections, and the calls that came by them.
 *
 * One thread. Nothing in it waits: sockets do not block, decoding is the workers', the database the
 * writer's.
 */
#ifndef COLLECTOR_RECEIVE_SERVER_H
#define COLLECTOR_RECEIVE_SERVER_H

#include <openssl/ssl.h>

#include "receive/clients.h"
#include "receive/receiver.h"

#define SERVER_LISTENERS_MAX 16
#define SERVER_READ_BYTES	 (64 * 1024)

typedef struct Connection Connection;

typedef struct Server
{
	Receiver *receiver;
	const ReceiveOptions *options;
	int epoll_fd;
	int listeners[SERVER_LISTENERS_MAX];
	size_t listener_count;
	SSL_CTX *tls;			/* NULL: clear text */
	Identities *identities; /* NULL: no tokens */
	Clients addresses;		/* connections of each */
	Clients clients;		/* requests of each */
	Connection *connections;
	int64_t connection_count;
	int64_t connections_max;
	size_t away_count; /* calls that were dispatched */
	int64_t now_ns;	   /* CLOCK_MONOTONIC, of this turn */
	bool is_stopping;
	uint8_t buffer[SERVER_READ_BYTES]; /* what was read just now */
} Server;

/* Opens sockets, reads certificates and tokens. To be given back in either case. */
ExitCode server_init(Server *server, Receiver *receiver, Failure *failure);
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

/* --- for protocols (http1.c, http2.c) --- */

/* All headers are there: false where the call is answered already, and its body is not wanted. */
bool server_headers(Server *server, Call *call);

/* More of the body, of HTTP; of gRPC the frame around it goes. False as above. */
bool server_body(Server *server, Call *call, const uint8_t *bytes, size_t length);

/* Nothing more comes. */
void server_end_of_request(Server *server, Call *call);

/* The connection or the stream is gone: the call is freed, now or when it comes back. */
void server_forget(Server *server, Call *call);

/* A call is away, or comes, for too long: it is answered where it is so. */
void server_check(Server *server, Call *call);

#endif
