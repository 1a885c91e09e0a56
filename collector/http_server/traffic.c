/*
 * traffic.c
 *		Decides which protocol a connection uses, when it is read, and which deadline it has.
 */
#include "http_server/traffic.h"

#include <string.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "http_server/http1.h"
#include "http_server/http2.h"
#include "http_server/intake.h"

#define LINGER_NS	 (INT64_C(2) * 1000000000)
#define READS_A_TURN 4
#define HTTP2_HELLO	 "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define HELLO_BYTES	 24

void
traffic_close(Connection *connection)
{
	intake_drop_all(connection);
	http1_end(connection);
	http2_end(connection);
	connection_free(connection);
}

/* --- sending --- */

/*
 * Shuts down the sending side and waits for the client's end. Closing the socket with unread input
 * would send a reset, which may make the client lose the answer.
 */
static void
linger(Connection *connection)
{
	connection_shut_down(connection);
	connection->state = CONNECTION_LINGER;
	connection_set_deadline(connection, LINGER_NS);
	intake_drop_all(connection);
	/* If the client has ended its side, there is nothing to wait for. */
	connection->is_dead |= connection->has_ended;
}

/*
 * Closes a connection whose client has shut down its sending side. Complete HTTP/1.1 requests are
 * answered first; HTTP/2 does not allow half-open connections.
 */
static void
check_end(Connection *connection)
{
	if (!connection->has_ended)
		return;
	if (connection->state != CONNECTION_HTTP1)
		connection->is_dead = true;
	else if (!http1_is_waiting(connection))
		connection->is_closing = true;
}

/* Sets the deadline of a connection that has no output. */
static void
set_waiting_deadline(Connection *connection)
{
	const int64_t idle_ns = connection->loop->options->idle_ms * 1000000;

	if (connection->state == CONNECTION_HTTP1 && http1_is_in_head(connection))
		return; /* keep the deadline that was set when the headers began */
	if (connection->state == CONNECTION_HTTP1 || connection->state == CONNECTION_HTTP2)
		connection_set_deadline(connection, idle_ns);
}

/*
 * Sends until the output is empty, or the socket accepts no more; then waits for the socket's
 * event.
 */
static void
send_all(Connection *connection)
{
	bool had_output;

	/* Sending makes room for further output of the protocol. */
	do
	{
		if (connection->state == CONNECTION_HTTP2 && !connection->is_dead)
			http2_write(connection);
		if (connection->state == CONNECTION_HTTP1 && !connection->is_dead)
			http1_write(connection);
		had_output = connection_has_output(connection);
		connection_send(connection);
	} while (!connection->is_dead && had_output && !connection_has_output(connection));
}

/*
 * Returns false while an HTTP/1.1 request has no answer, so that pipelined input waits in the
 * socket.
 */
static bool
traffic_may_read(const Connection *connection)
{
	return !connection->has_ended &&
		   connection->out.length - connection->out_at < CONNECTION_OUT_MAX &&
		   !(connection->state == CONNECTION_HTTP1 && http1_has_more(connection));
}

static void
traffic_pump(Connection *connection)
{
	send_all(connection);
	if (connection->is_closing && !connection_has_output(connection) && !connection->is_dead &&
		connection->state != CONNECTION_LINGER)
		linger(connection);
	if (connection->is_dead)
		return;
	/* A socket is almost always writable, so EPOLLOUT is watched only if bytes wait. */
	connection_watch(connection, (traffic_may_read(connection) ? (uint32_t) EPOLLIN : 0) |
									 (connection_has_output(connection) || connection->wants_write
										  ? (uint32_t) EPOLLOUT
										  : 0));
}

/* Charges the present size of the buffers. A connection that exceeds its limit is closed. */
static void
charge_buffers(Connection *connection)
{
	const size_t now = connection->out.capacity +
					   (connection->state == CONNECTION_HTTP1 ? http1_held(connection) : 0);
	const size_t before = connection->charged_buffers;

	if (now <= before)
		connection_discharge(connection, before - now);
	else if (!connection_charge(connection, now - before))
	{
		metric_add(&connection->loop->host->metrics.requests_throttled_total, 1);
		connection->is_dead = true;
		return;
	}
	connection->charged_buffers = now;
}

void
traffic_go_on(Connection *connection)
{
	if (connection->state == CONNECTION_HTTP1)
		http1_go_on(connection);
	check_end(connection);
	if (!connection->is_dead)
		traffic_pump(connection);
	if (!connection->is_dead)
		charge_buffers(connection);
	if (connection->is_dead)
		traffic_close(connection);
}

void
traffic_stop(Connection *connection)
{
	if (connection->state == CONNECTION_HTTP2)
		http2_stop(connection);
	if (connection->state == CONNECTION_HTTP1)
		http1_stop(connection);
	if (connection->call_count == 0)
		connection->is_closing = true;
	traffic_pump(connection);
}

/* --- receiving --- */

static void feed(Connection *connection, const uint8_t *bytes, size_t length);

/* Determines the protocol: HTTP/2 begins with a text with which no HTTP/1.1 request begins. */
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
	/* 0x16 begins a handshake of TLS. */
	if (!is_http2 && connection->sniffed[0] == 0x16)
	{
		log_event(LOG_WARNING, connection->loop->options->module,
				  "a client used TLS, which is not configured", log_text("peer", connection->peer));
		connection->is_dead = true;
		return;
	}
	if (is_http2 ? !http2_start(connection) : !http1_start(connection))
	{
		connection->is_dead = true;
		return;
	}
	/* The protocol must also see the bytes that identified it. */
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
			http1_read(connection, bytes, length);
			break;
		case CONNECTION_HTTP2:
			http2_read(connection, bytes, length);
			break;
	}
}

void
traffic_handle(Connection *connection, uint32_t events)
{
	size_t length = 1;
	bool was_busy = connection->call_count > 0;
	/* epoll reports it until the socket is closed */
	bool has_gone = (events & (EPOLLHUP | EPOLLERR)) != 0;

	if (connection->state == CONNECTION_HANDSHAKE)
		connection_handshake(connection);
	if (connection->state != CONNECTION_HANDSHAKE && ((events & EPOLLIN) != 0 || has_gone))
	{
		/* The number of reads is limited, so that one client does not delay the others. */
		for (int i = 0; i < READS_A_TURN && length > 0 && !connection->is_dead &&
						(has_gone || traffic_may_read(connection));
			 i++)
		{
			length = connection_receive(connection);
			if (length > 0)
				feed(connection, connection->loop->buffer, length);
		}
		/* After the client's FIN, Linux reports a reset only by an event, while reads return 0. */
		connection->is_dead |= has_gone && connection->has_ended;
		check_end(connection);
	}
	connection->wants_write &= (events & EPOLLOUT) == 0;
	if (!connection->is_dead)
		traffic_pump(connection);
	if (!connection->is_dead)
		charge_buffers(connection);
	if (!connection->is_dead && !connection_has_output(connection) &&
		(was_busy || connection->call_count > 0 || connection->state == CONNECTION_HTTP2))
		set_waiting_deadline(connection);
	if (connection->is_dead)
		traffic_close(connection);
}

/* --- time --- */

/* Returns true if a call is arriving or being processed; answered calls do not count. */
static bool
is_busy(const Connection *connection)
{
	for (const Call *call = connection->calls; call != NULL; call = call->sibling)
		if (!call->is_refused)
			return true;
	return false;
}

void
traffic_check(Connection *connection)
{
	Loop *loop = connection->loop;

	intake_check(connection);
	/* Sending the beginning of the answer shows whether the client still exists. */
	if (connection->has_ended && connection->state == CONNECTION_HTTP1)
		http1_probe(connection);
	/* A connection with a call in progress is not idle. */
	if (is_busy(connection) && !connection_has_output(connection))
		set_waiting_deadline(connection);
	if (loop->now_ns > connection->deadline_ns)
	{
		if (connection->state != CONNECTION_LINGER)
			metric_add(&loop->host->metrics.connections_timed_out_total, 1);
		if (connection->state == CONNECTION_HTTP2 && !connection_has_output(connection) &&
			!connection->is_closing)
		{
			/*
			 * end it gracefully: a client that is about to send a request then opens another
			 * connection
			 */
			http2_stop(connection);
			connection->is_closing = true;
			connection_set_deadline(connection, LINGER_NS);
		}
		else
			connection->is_dead = true;
	}
	traffic_go_on(connection);
}
