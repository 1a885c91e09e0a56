/*
 * http_connection.c
 *		Receives and sends bytes, with or without TLS.
 */
#include "http_server/http_connection.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "http_server/tls.h"

#define SENDING_NS (INT64_C(30) * 1000000000) /* deadline for a client that does not read */

/* Approximate memory of an idle connection, mostly nghttp2's tables or OpenSSL's buffers. */
#define CONNECTION_BYTES ((size_t) 16 * 1024)
#define TLS_BYTES		 ((size_t) 16 * 1024)

void
connection_set_deadline(Connection *connection, int64_t after_ns)
{
	connection->deadline_ns = connection->loop->now_ns + after_ns;
}

void
connection_watch(Connection *connection, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = connection };

	/* Most calls do not change the events, so this saves a system call. */
	if (events == connection->events)
		return;
	if (epoll_ctl(connection->loop->epoll_fd, EPOLL_CTL_MOD, connection->fd, &event) != 0)
		connection->is_dead = true;
	connection->events = events;
}

bool
connection_charge(Connection *connection, size_t bytes)
{
	Host *host = connection->loop->host;
	const size_t limit = host->memory.limit_bytes;

	/*
	 * All connections get half of the memory and one address a quarter, so that requests have room.
	 */
	if (atomic_load(&host->metrics.connection_bytes) + bytes > limit / 2 ||
		!client_charge(connection->address, bytes, limit / 4))
		return false;
	atomic_fetch_add(&host->metrics.connection_bytes, bytes);
	pool_add(&host->memory, bytes);
	connection->charged += bytes;
	return true;
}

void
connection_discharge(Connection *connection, size_t bytes)
{
	Host *host = connection->loop->host;

	atomic_fetch_sub(&host->metrics.connection_bytes, bytes);
	pool_release(&host->memory, bytes);
	client_discharge(connection->address, bytes);
	connection->charged -= bytes;
}

Connection *
connection_create(Loop *loop, int fd, SSL_CTX *tls, const char *peer, Client *address)
{
	Connection *connection = calloc(1, sizeof(Connection));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };

	if (connection == NULL)
		return NULL;
	connection->loop = loop;
	connection->address = address;
	connection->fd = fd;
	connection->events = event.events;
	connection->state = CONNECTION_SNIFF;
	strncpy(connection->peer, peer, sizeof(connection->peer) - 1);
	if (tls != NULL)
	{
		connection->state = CONNECTION_HANDSHAKE;
		connection->ssl = SSL_new(tls);
		if (connection->ssl == NULL || SSL_set_fd(connection->ssl, fd) != 1)
		{
			SSL_free(connection->ssl);
			free(connection);
			return NULL;
		}
		SSL_set_accept_state(connection->ssl);
	}
	/* On failure, the caller closes the descriptor and releases the address. */
	if (!connection_charge(connection, CONNECTION_BYTES + (tls != NULL ? TLS_BYTES : 0)))
	{
		SSL_free(connection->ssl);
		free(connection);
		return NULL;
	}
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
	{
		connection_discharge(connection, connection->charged);
		SSL_free(connection->ssl);
		free(connection);
		return NULL;
	}
	connection->next = loop->connections;
	if (connection->next != NULL)
		connection->next->before = connection;
	loop->connections = connection;
	loop->connection_count++;
	atomic_fetch_add(&loop->host->metrics.open_connections, 1);
	connection_set_deadline(connection, CONNECTION_GREETING_NS);
	return connection;
}

void
connection_free(Connection *connection)
{
	Loop *loop = connection->loop;

	SSL_free(connection->ssl);
	close(connection->fd);
	buffer_fini(&connection->out);
	connection_discharge(connection, connection->charged);
	client_release(connection->address);
	if (connection->before != NULL)
		connection->before->next = connection->next;
	else
		loop->connections = connection->next;
	if (connection->next != NULL)
		connection->next->before = connection->before;
	loop->connection_count--;
	atomic_fetch_sub(&loop->host->metrics.open_connections, 1);
	free(connection);
}

/* --- sending --- */

/* Like write(), also over TLS. */
static ssize_t
send_bytes(Connection *connection, const char *bytes, size_t length)
{
	size_t sent;

	if (connection->ssl == NULL)
		return send(connection->fd, bytes, length, MSG_NOSIGNAL);
	/*
	 * SSL_get_error() reads the error queue of the thread, which must be empty before the
	 * operation.
	 */
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

void
connection_send(Connection *connection)
{
	Buffer *out = &connection->out;
	bool moves = true;

	/* A buffer that could not grow lacks bytes. */
	if (out->failed)
		connection->is_dead = true;
	while (moves && !connection->is_dead && connection->out_at < out->length)
	{
		ssize_t sent = send_bytes(connection, out->bytes + connection->out_at,
								  out->length - connection->out_at);

		if (sent > 0)
		{
			connection->out_at += (size_t) sent;
			connection_set_deadline(connection, SENDING_NS);
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
		buffer_fini(out); /* free the buffer, so that a thousand idle connections hold no buffers */
		*out = (Buffer){ NULL };
		connection->out_at = 0;
	}
}

bool
connection_has_output(const Connection *connection)
{
	return connection->out_at < connection->out.length;
}

void
connection_shut_down(Connection *connection)
{
	/* This sends close_notify, but does not wait for that of the client. */
	if (connection->ssl != NULL)
		SSL_shutdown(connection->ssl);
	shutdown(connection->fd, SHUT_WR);
}

/* --- receiving --- */

void
connection_handshake(Connection *connection)
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
	metric_add(&connection->loop->host->metrics.tls_failures_total, 1);
	log_event(LOG_WARNING, connection->loop->options->module, "TLS handshake failed",
			  log_text("peer", connection->peer), log_text("detail", text));
	connection->is_dead = true;
}

size_t
connection_receive(Connection *connection)
{
	Loop *loop = connection->loop;
	ssize_t got;
	size_t length;

	if (connection->ssl != NULL)
	{
		ERR_clear_error();
		if (SSL_read_ex(connection->ssl, loop->buffer, sizeof(loop->buffer), &length) == 1)
			return length;
		switch (SSL_get_error(connection->ssl, 0))
		{
			case SSL_ERROR_WANT_READ:
				return 0;
			/* TLS 1.3 may have to send a message, such as a key update, before it can read. */
			case SSL_ERROR_WANT_WRITE:
				connection->wants_write = true;
				return 0;
			case SSL_ERROR_ZERO_RETURN:
				connection->has_ended = true;
				return 0;
			default:
				connection->is_dead = true;
				return 0;
		}
	}
	got = recv(connection->fd, loop->buffer, sizeof(loop->buffer), 0);
	if (got > 0)
		return (size_t) got;
	if (got == 0)
		connection->has_ended = true;
	else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
		connection->is_dead = true;
	return 0;
}
