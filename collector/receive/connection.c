/*
 * connection.c
 *		Bytes in, bytes out, deadlines.
 */
#include "receive/connection.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "receive/http2.h"
#include "receive/tls.h"

#define SECOND_NS	 INT64_C(1000000000)
#define GREETING_NS	 (10 * SECOND_NS) /* handshake, first request line, headers */
#define SENDING_NS	 (30 * SECOND_NS) /* a client that reads nothing */
#define LINGER_NS	 (2 * SECOND_NS)
#define READS_A_TURN 4
#define HTTP2_HELLO	 "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define HELLO_BYTES	 24

static void
set_deadline(Connection *connection, int64_t after_ns)
{
	connection->deadline_ns = connection->server->now_ns + after_ns;
}

static void
watch(Connection *connection, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = connection };

	if (events == connection->events)
		return;
	if (epoll_ctl(connection->server->epoll_fd, EPOLL_CTL_MOD, connection->fd, &event) != 0)
		connection->is_dead = true;
	connection->events = events;
}

Connection *
connection_create(Server *server, int fd, const char *peer, Client *address)
{
	Connection *connection = calloc(1, sizeof(Connection));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };

	if (connection == NULL)
		return NULL;
	connection->server = server;
	connection->fd = fd;
	connection->events = event.events;
	connection->state = CONNECTION_SNIFF;
	strncpy(connection->peer, peer, sizeof(connection->peer) - 1);
	if (server->tls != NULL)
	{
		connection->state = CONNECTION_HANDSHAKE;
		connection->ssl = SSL_new(server->tls);
		if (connection->ssl == NULL || SSL_set_fd(connection->ssl, fd) != 1)
		{
			SSL_free(connection->ssl);
			free(connection);
			return NULL;
		}
		SSL_set_accept_state(connection->ssl);
	}
	if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
	{
		SSL_free(connection->ssl);
		free(connection);
		return NULL;
	}
	connection->address = address;
	connection->next = server->connections;
	if (connection->next != NULL)
		connection->next->before = connection;
	server->connections = connection;
	server->connection_count++;
	atomic_fetch_add(&server->receiver->metrics.open_connections, 1);
	set_deadline(connection, GREETING_NS);
	return connection;
}

void
connection_close_now(Connection *connection)
{
	Server *server = connection->server;

	while (connection->calls != NULL)
		connection_drop_call(connection, connection->calls);
	nghttp2_session_del(connection->http2);
	SSL_free(connection->ssl);
	close(connection->fd);
	http1_fini(&connection->http1);
	buffer_fini(&connection->out);
	client_release(connection->address);
	if (connection->before != NULL)
		connection->before->next = connection->next;
	else
		server->connections = connection->next;
	if (connection->next != NULL)
		connection->next->before = connection->before;
	server->connection_count--;
	atomic_fetch_sub(&server->receiver->metrics.open_connections, 1);
	free(connection);
}

/* --- calls --- */

void
connection_add_call(Connection *connection, Call *call)
{
	call->connection = connection;
	call->since_ns = connection->server->now_ns;
	call->sibling = connection->calls;
	connection->calls = call;
	connection->call_count++;
}

void
connection_drop_call(Connection *connection, Call *call)
{
	Call **at = &connection->calls;

	while (*at != call)
		at = &(*at)->sibling;
	*at = call->sibling;
	connection->call_count--;
	if (connection->http2 != NULL)
		nghttp2_session_set_stream_user_data(connection->http2, call->stream, NULL);
	server_forget(connection->server, call);
}

void
connection_answer(Connection *connection, Call *call)
{
	if (connection->state == CONNECTION_HTTP2)
		http2_answer(connection, call);
	else
		http1_answer(connection, call);
}

void
connection_answer_part(Connection *connection, Call *call)
{
	http2_answer_part(connection, call);
}

void
connection_stop(Connection *connection)
{
	if (connection->state == CONNECTION_HTTP2)
		http2_stop(connection);
	connection->http1.keeps_alive = false;
	if (connection->call_count == 0)
		connection->is_closing = true;
	connection_pump(connection);
}

/* --- sending --- */

/* As write(), over TLS too. */
static ssize_t
send_bytes(Connection *connection, const char *bytes, size_t length)
{
	size_t sent;

	if (connection->ssl == NULL)
		return send(connection->fd, bytes, length, MSG_NOSIGNAL);
	ERR_clear_error();
	if (SSL_write_ex(connection->ssl, bytes, length, &sent) == 1)
		return (ssize_t) sent;
	switch (SSL_get_error(connection->ssl, 0))
	{
		case SSL_ERROR_WANT_WRITE:
		case SSL_ERROR_WANT_READ:
			errno = EAGAIN;
			return -1;
		default:
			errno = EPIPE;
			return -1;
	}
}

static void
send_out(Connection *connection)
{
	Buffer *out = &connection->out;
	bool moves = true;

	if (out->failed)
		connection->is_dead = true;
	while (moves && !connection->is_dead && connection->out_at < out->length)
	{
		ssize_t sent = send_bytes(connection, out->bytes + connection->out_at,
								  out->length - connection->out_at);

		if (sent > 0)
		{
			connection->out_at += (size_t) sent;
			set_deadline(connection, SENDING_NS);
		}
		else if (sent < 0 && errno == EINTR)
			continue;
		else if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			connection->is_dead = true;
		else
			moves = false;
	}
	if (connection->out_at == out->length)
	{
		buffer_fini(out); /* a thousand idle connections keep none */
		*out = (Buffer){ NULL };
		connection->out_at = 0;
	}
}

/* All is said: whoever still sends shall not lose the answer to a reset. */
static void
linger(Connection *connection)
{
	if (connection->ssl != NULL)
		SSL_shutdown(connection->ssl);
	shutdown(connection->fd, SHUT_WR);
	connection->state = CONNECTION_LINGER;
	set_deadline(connection, LINGER_NS);
	while (connection->calls != NULL)
		connection_drop_call(connection, connection->calls);
}

static bool
has_output(const Connection *connection)
{
	return connection->out_at < connection->out.length;
}

/* What the connection waits for by itself, where nothing is to be sent. */
static void
set_waiting_deadline(Connection *connection)
{
	const int64_t idle_ns = connection->server->options->idle_ms * 1000000;

	if (connection->state == CONNECTION_HTTP1 && connection->http1.in.length > 0 &&
		connection->call_count == 0)
		return; /* within headers: as long as since they began */
	if (connection->state == CONNECTION_HTTP1 || connection->state == CONNECTION_HTTP2)
		set_deadline(connection, idle_ns);
}

/* Until there is none, or the socket takes no more: then an event of it is waited for. */
static void
send_all(Connection *connection)
{
	bool had_output;

	do
	{
		if (connection->state == CONNECTION_HTTP2 && !connection->is_dead)
			http2_write(connection);
		had_output = has_output(connection);
		send_out(connection);
	} while (!connection->is_dead && connection->state == CONNECTION_HTTP2 && had_output &&
			 !has_output(connection));
}

/* What is behind a request that is not answered yet waits in the socket. */
static bool
may_read(const Connection *connection)
{
	return connection->out.length - connection->out_at < CONNECTION_OUT_MAX &&
		   !(connection->state == CONNECTION_HTTP1 && connection->http1.state == HTTP1_WAIT &&
			 connection->http1.in.length > 0);
}

void
connection_pump(Connection *connection)
{
	send_all(connection);
	if (connection->is_closing && !has_output(connection) && !connection->is_dead &&
		connection->state != CONNECTION_LINGER)
		linger(connection);
	if (connection->is_dead)
		return;
	watch(connection,
		  (may_read(connection) ? (uint32_t) EPOLLIN : 0) |
			  (has_output(connection) || connection->wants_write ? (uint32_t) EPOLLOUT : 0));
}

void
connection_go_on(Connection *connection)
{
	if (connection->state == CONNECTION_HTTP1)
		http1_go_on(connection);
	if (!connection->is_dead)
		connection_pump(connection);
}

/* --- receiving --- */

static void
handshake(Connection *connection)
{
	char text[256];
	int result;

	ERR_clear_error();
	result = SSL_do_handshake(connection->ssl);
	connection->wants_write = false;
	if (result == 1)
	{
		connection->has_tenant =
			tls_client_name(connection->ssl, connection->tenant, sizeof(connection->tenant));
		connection->state = CONNECTION_SNIFF;
		return;
	}
	switch (SSL_get_error(connection->ssl, result))
	{
		case SSL_ERROR_WANT_WRITE:
			connection->wants_write = true;
			return;
		case SSL_ERROR_WANT_READ:
			return;
		default:
			break;
	}
	tls_error_text(text, sizeof(text));
	metric_add(&connection->server->receiver->metrics.tls_failures_total, 1);
	log_event(LOG_WARNING, "receive", "TLS handshake failed", log_text("peer", connection->peer),
			  log_text("detail", text));
	connection->is_dead = true;
}

/* Bytes that were read; 0: nothing now. The connection is dead where it has ended. */
static size_t
receive_bytes(Connection *connection)
{
	Server *server = connection->server;
	ssize_t got;
	size_t length;

	if (connection->ssl != NULL)
	{
		ERR_clear_error();
		if (SSL_read_ex(connection->ssl, server->buffer, sizeof(server->buffer), &length) == 1)
			return length;
		switch (SSL_get_error(connection->ssl, 0))
		{
			case SSL_ERROR_WANT_READ:
				return 0;
			case SSL_ERROR_WANT_WRITE:
				connection->wants_write = true;
				return 0;
			default:
				connection->is_dead = true;
				return 0;
		}
	}
	got = recv(connection->fd, server->buffer, sizeof(server->buffer), 0);
	if (got > 0)
		return (size_t) got;
	if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
		connection->is_dead = true;
	return 0;
}

static void feed(Connection *connection, const uint8_t *bytes, size_t length);

/* HTTP/2 begins with words that no request of HTTP/1.1 does. */
static void
sniff(Connection *connection, const uint8_t *bytes, size_t length)
{
	size_t room = HELLO_BYTES - connection->sniffed_length;
	size_t taken = length < room ? length : room;
	bool is_http2;

	memcpy(connection->sniffed + connection->sniffed_length, bytes, taken);
	connection->sniffed_length += taken;
	is_http2 = memcmp(connection->sniffed, HTTP2_HELLO, connection->sniffed_length) == 0;
	if (is_http2 && connection->sniffed_length < HELLO_BYTES)
		return;
	connection->state = is_http2 ? CONNECTION_HTTP2 : CONNECTION_HTTP1;
	if (!is_http2 && connection->sniffed[0] == 0x16)
	{
		log_event(LOG_WARNING, "receive", "a client speaks TLS where none is configured",
				  log_text("peer", connection->peer));
		connection->is_dead = true;
		return;
	}
	if (is_http2 && !http2_start(connection))
	{
		connection->is_dead = true;
		return;
	}
	feed(connection, connection->sniffed, connection->sniffed_length);
	if (taken < length)
		feed(connection, bytes + taken, length - taken);
}

static void
feed(Connection *connection, const uint8_t *bytes, size_t length)
{
	switch (connection->state)
	{
		case CONNECTION_HANDSHAKE:
		case CONNECTION_LINGER:
			break;
		case CONNECTION_SNIFF:
			sniff(connection, bytes, length);
			break;
		case CONNECTION_HTTP1:
			if (connection->http1.in.length == 0 && connection->call_count == 0)
				set_deadline(connection, GREETING_NS);
			http1_read(connection, bytes, length);
			break;
		case CONNECTION_HTTP2:
			http2_read(connection, bytes, length);
			break;
	}
}

void
connection_handle(Connection *connection, uint32_t events)
{
	size_t length = 1;
	bool was_busy = connection->call_count > 0;
	bool has_gone = (events & (EPOLLHUP | EPOLLERR)) != 0; /* told until it is read */

	if (connection->state == CONNECTION_HANDSHAKE)
		handshake(connection);
	if (connection->state != CONNECTION_HANDSHAKE && ((events & EPOLLIN) != 0 || has_gone))
	{
		for (int i = 0; i < READS_A_TURN && length > 0 && !connection->is_dead &&
						(has_gone || may_read(connection));
			 i++)
		{
			length = receive_bytes(connection);
			if (length > 0)
				feed(connection, connection->server->buffer, length);
		}
	}
	connection->wants_write &= (events & EPOLLOUT) == 0;
	if (!connection->is_dead)
		connection_pump(connection);
	if (!connection->is_dead && !has_output(connection) &&
		(was_busy || connection->call_count > 0 || connection->state == CONNECTION_HTTP2))
		set_waiting_deadline(connection);
	if (connection->is_dead)
		connection_close_now(connection);
}

/* A call is coming, or its answer made: those that are answered count no more. */
static bool
is_busy(const Connection *connection)
{
	for (const Call *call = connection->calls; call != NULL; call = call->sibling)
		if (!call->is_refused)
			return true;
	return false;
}

void
connection_check(Connection *connection)
{
	Server *server = connection->server;
	Call *next;

	for (Call *call = connection->calls; call != NULL; call = next)
	{
		next = call->sibling;
		server_check(server, call);
	}
	if (is_busy(connection) && !has_output(connection))
		set_waiting_deadline(connection);
	if (server->now_ns > connection->deadline_ns)
	{
		if (connection->state != CONNECTION_LINGER)
			metric_add(&server->receiver->metrics.connections_timed_out_total, 1);
		if (connection->state == CONNECTION_HTTP2 && !has_output(connection) &&
			!connection->is_closing)
		{
			/* politely: a client that is about to ask opens another connection */
			http2_stop(connection);
			connection->is_closing = true;
			set_deadline(connection, LINGER_NS);
		}
		else
			connection->is_dead = true;
	}
	if (!connection->is_dead)
		connection_go_on(connection);
	if (connection->is_dead)
		connection_close_now(connection);
}
