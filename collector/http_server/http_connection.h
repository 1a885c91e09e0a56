/*
 * http_connection.h
 *		One socket: TLS or plain text, its output, and its protocol.
 *
 * Output is produced only as fast as the client reads it: while more than CONNECTION_OUT_MAX bytes
 * wait to be sent, nothing is read from the connection. A connection never waits without a
 * deadline.
 */
#ifndef COLLECTOR_HTTP_CONNECTION_H
#define COLLECTOR_HTTP_CONNECTION_H

#include <openssl/ssl.h>

#include "base/allowance.h"
#include "http_server/loop.h"

#define CONNECTION_OUT_MAX	   (64 * 1024)
/* Deadline of each: TLS handshake, first line, and headers. */
#define CONNECTION_GREETING_NS (INT64_C(10) * 1000000000)

typedef enum ConnectionState
{
	CONNECTION_HANDSHAKE, /* the TLS handshake is running */
	CONNECTION_SNIFF,	  /* the protocol is not known yet */
	CONNECTION_HTTP1,
	CONNECTION_HTTP2,
	CONNECTION_LINGER /* all output was sent; input is discarded until the client closes */
} ConnectionState;

/* The functions by which a protocol (http1.c, http2.c) sends the results of calls. */
typedef struct Protocol
{
	/* Sends the answer of a call. */
	void (*answer)(Connection *connection, Call *call);

	/* Resets a call whose client does not read the answer or does not end its request. */
	void (*abandon)(Connection *connection, Call *call);

	/* Sends a message before the answer. HTTP/2 only; otherwise NULL. */
	void (*answer_part)(Connection *connection, Call *call);

	/* Sets the call of a stream; NULL removes it from the stream. */
	void (*bind)(Connection *connection, int32_t stream, Call *call);

	/*
	 * Extends the client's window by bytes that a stream held and that were processed. HTTP/2 only;
	 * otherwise NULL.
	 */
	void (*read_on)(Connection *connection, Call *call, size_t bytes);
} Protocol;

struct Connection
{
	Connection *next;
	Connection *before;
	Loop *loop;
	Client *address;
	size_t charged; /* bytes charged for the connection and for the headers of its calls */
	char peer[64];
	char tenant[IDENTITY_TENANT_MAX]; /* tenant of the certificate; "": none */
	bool has_tenant;
	int fd;
	SSL *ssl;
	ConnectionState state;
	bool wants_write; /* TLS must write before it can proceed */
	bool is_dead;
	bool is_closing; /* the connection closes when all output was sent */
	bool has_ended;	 /* the client has shut down its sending side; it may still read */
	uint32_t events; /* events that epoll watches */
	int64_t deadline_ns;

	Call *calls; /* calls of this connection */
	unsigned call_count;

	uint8_t sniffed[24];
	size_t sniffed_length;
	const Protocol *protocol;	   /* NULL: not known yet */
	struct Http1 *http1;		   /* state of http1.c */
	struct nghttp2_session *http2; /* state of http2.c */
	Allowance control;			   /* allowance for HTTP/2 frames without content */

	Buffer out;
	size_t out_at; /* bytes sent so far */

	size_t charged_buffers; /* part of charged for the buffers of output and of HTTP/1.1's input */
};

/*
 * Creates a connection. On success it owns the socket and the reference to address; if it returns
 * NULL, the caller keeps both. tls NULL: plain text.
 */
Connection *connection_create(Loop *loop, int fd, SSL_CTX *tls, const char *peer, Client *address);

/*
 * Charges memory other than bodies: connections, headers, input and output buffers. The total is
 * limited to half of --max-memory, the sum for one address to a quarter. Beyond that returns false,
 * without charging.
 */
bool connection_charge(Connection *connection, size_t bytes);
void connection_discharge(Connection *connection, size_t bytes);

/*
 * Frees the connection. Call it after traffic_close(), which frees the calls and the protocol's
 * state.
 */
void connection_free(Connection *connection);

void connection_set_deadline(Connection *connection, int64_t after_ns);

/*
 * Continues the TLS handshake. Afterwards the protocol can be determined, or the connection is
 * dead.
 */
void connection_handshake(Connection *connection);

/*
 * Reads into the loop's buffer. Returns the number of bytes; 0: there is no input now, or the
 * client has shut down its side (has_ended), or the connection is dead.
 */
size_t connection_receive(Connection *connection);

bool connection_has_output(const Connection *connection);

/* Sends output until the socket accepts no more. */
void connection_send(Connection *connection);

/* Shuts down the sending side. */
void connection_shut_down(Connection *connection);

/* Sets the events that epoll reports. */
void connection_watch(Connection *connection, uint32_t events);

#endif
