/*
 * connection.h
 *		One socket: TLS or clear text, what is to be sent, and the protocol that is spoken on it.
 *
 * What a client does not read is not made: a connection with more than CONNECTION_OUT_MAX bytes to
 * send is not read from either. Whatever a connection waits for has a deadline.
 */
#ifndef COLLECTOR_RECEIVE_CONNECTION_H
#define COLLECTOR_RECEIVE_CONNECTION_H

#include <nghttp2/nghttp2.h>

#include "base/allowance.h"
#include "receive/http1.h"
#include "receive/server.h"

#define CONNECTION_OUT_MAX (64 * 1024)

typedef enum ConnectionState
{
	CONNECTION_HANDSHAKE, /* TLS */
	CONNECTION_SNIFF,	  /* which protocol? */
	CONNECTION_HTTP1,
	CONNECTION_HTTP2,
	CONNECTION_LINGER /* all is said; what still comes is thrown away */
} ConnectionState;

struct Connection
{
	Connection *next;
	Connection *before;
	Server *server;
	Client *address;
	char peer[64];
	char tenant[IDENTITY_TENANT_MAX]; /* of the certificate; "": none */
	bool has_tenant;
	int fd;
	SSL *ssl;
	ConnectionState state;
	bool wants_write; /* TLS: before anything else */
	bool is_dead;
	bool is_closing; /* once all is sent */
	uint32_t events; /* that epoll watches */
	int64_t deadline_ns;
	Allowance control; /* frames that carry nothing */

	Call *calls; /* of this connection */
	unsigned call_count;

	uint8_t sniffed[24];
	size_t sniffed_length;
	Http1 http1;
	nghttp2_session *http2;

	Buffer out;
	size_t out_at; /* sent so far */
};

Connection *connection_create(Server *server, int fd, const char *peer, Client *address);
void connection_close_now(Connection *connection);

/* After an event; the connection may be closed then. */
void connection_handle(Connection *connection, uint32_t events);

/* Sends what there is, and sets what is waited for. */
void connection_pump(Connection *connection);

/* After an answer that came by itself: what waited behind it is looked at. */
void connection_go_on(Connection *connection);

/* Its time is up? */
void connection_check(Connection *connection);

/* A call of it has its answer. */
void connection_answer(Connection *connection, Call *call);

/* It has a message, and is not answered yet: HTTP/2's. */
void connection_answer_part(Connection *connection, Call *call);

void connection_add_call(Connection *connection, Call *call);
void connection_drop_call(Connection *connection, Call *call);

/* Tells the client that no more requests are taken. */
void connection_stop(Connection *connection);

#endif
