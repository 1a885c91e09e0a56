/*
 * connection.h
 *		One socket: TLS or clear text, what is to be sent, and which protocol is spoken on it.
 *
 * What a client does not read is not made: a connection with more than CONNECTION_OUT_MAX bytes to
 * send is not read from either. Whatever a connection waits for has a deadline.
 */
#ifndef COLLECTOR_HTTP_SERVER_CONNECTION_H
#define COLLECTOR_HTTP_SERVER_CONNECTION_H

#include <openssl/ssl.h>

#include "base/allowance.h"
#include "http_server/loop.h"

#define CONNECTION_OUT_MAX	   (64 * 1024)
#define CONNECTION_GREETING_NS (INT64_C(10) * 1000000000) /* handshake, first line, headers */

typedef enum ConnectionState
{
	CONNECTION_HANDSHAKE, /* TLS */
	CONNECTION_SNIFF,	  /* which protocol? */
	CONNECTION_HTTP1,
	CONNECTION_HTTP2,
	CONNECTION_LINGER /* all is said; what still comes is thrown away */
} ConnectionState;

/* How a protocol tells a client what became of its call: http1.c, http2.c. */
typedef struct Protocol
{
	/* The call has its answer. */
	void (*answer)(Connection *connection, Call *call);

	/* The client does not take the answer, or never ends its request: no more is sent or read. */
	void (*abandon)(Connection *connection, Call *call);

	/* It has a message, which is sent; its answer follows. HTTP/2's alone: NULL. */
	void (*answer_part)(Connection *connection, Call *call);

	/* Whose the stream is from now on; NULL: nobody's. */
	void (*bind)(Connection *connection, int32_t stream, Call *call);
} Protocol;

struct Connection
{
	Connection *next;
	Connection *before;
	Loop *loop;
	Client *address;
	size_t charged; /* bytes of the connection and of the headers of its calls */
	char peer[64];
	char tenant[IDENTITY_TENANT_MAX]; /* of the certificate; "": none */
	bool has_tenant;
	int fd;
	SSL *ssl;
	ConnectionState state;
	bool wants_write; /* TLS: before anything else */
	bool is_dead;
	bool is_closing; /* once all is sent */
	bool has_ended;	 /* the client sends nothing any more; it may still read */
	uint32_t events; /* that epoll watches */
	int64_t deadline_ns;

	Call *calls; /* of this connection */
	unsigned call_count;

	uint8_t sniffed[24];
	size_t sniffed_length;
	const Protocol *protocol;	   /* NULL: not known yet */
	struct Http1 *http1;		   /* http1.c's */
	struct nghttp2_session *http2; /* http2.c's, and … */
	Allowance control;			   /* … its frames that carry nothing */

	Buffer out;
	size_t out_at; /* sent so far */

	size_t charged_buffers; /* of charged: what waits to be sent, or to be read by HTTP/1.1 */
};

/* Takes a reference of address, and the socket; with NULL neither. tls NULL: clear text. */
Connection *connection_create(Loop *loop, int fd, SSL_CTX *tls, const char *peer, Client *address);

/*
 * Charges memory that is not a body's: connections, headers, what waits to be read or sent. All of
 * it together is within half of --max-memory, that of one address within a quarter; false, and
 * nothing charged, beyond that. Requests of other clients are not in its way.
 */
bool connection_charge(Connection *connection, size_t bytes);
void connection_discharge(Connection *connection, size_t bytes);

/* Its calls and what its protocol has are gone already: traffic_close. */
void connection_free(Connection *connection);

void connection_set_deadline(Connection *connection, int64_t after_ns);

/* Goes on with TLS's; after it the protocol can be sniffed, or the connection is dead. */
void connection_handshake(Connection *connection);

/*
 * Returns the number of bytes that were read into the loop's buffer; 0: nothing now, or the client
 * has ended its side (has_ended), or the connection is dead.
 */
size_t connection_receive(Connection *connection);

bool connection_has_output(const Connection *connection);

/* As much as the socket takes. */
void connection_send(Connection *connection);

/* No more is sent. */
void connection_shut_down(Connection *connection);

/* What epoll tells of from now on. */
void connection_watch(Connection *connection, uint32_t events);

#endif
