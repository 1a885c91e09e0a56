/*
 * server.c
 *		Listening sockets, new connections, turns of the loop.
 */
#include "http_server/server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "http_server/intake.h"
#include "http_server/tls.h"
#include "http_server/traffic.h"
#include "program/descriptors.h"
#include "program/listeners.h"

#define TURN_MS		  250
#define EVENTS_A_TURN 64
#define ACCEPTS		  64

/* Descriptors reserved for files, new connections to the database, and clients that are refused. */
#define DESCRIPTORS_KEPT 64

/* Opens the sockets and watches them. */
static ExitCode
listen_on_all(Server *server, Failure *failure)
{
	const HostOptions *host = server->loop.options;
	const bool is_open = server->loop.host->writer == NULL && host->tokens == NULL &&
						 host->client_ca == NULL && !host->passes_login;
	const ListenOptions options = { host->listen, "listen", host->module, is_open };
	ExitCode code = listeners_open(&options, server->listeners, SERVER_LISTENERS_MAX,
								   &server->listener_count, failure);

	for (size_t i = 0; code == EXIT_OK && i < server->listener_count; i++)
	{
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = &server->listeners[i] };

		if (epoll_ctl(server->loop.epoll_fd, EPOLL_CTL_ADD, server->listeners[i], &event) != 0)
			code = failure_set(failure, EXIT_INTERNAL, "could not set up the receiver");
	}
	return code;
}

/* --- certificates and tokens --- */

static ExitCode
check_options(const HostOptions *options, Failure *failure)
{
	if ((options->cert != NULL) == (options->key != NULL) &&
		(options->client_ca == NULL || options->cert != NULL))
		return EXIT_OK;
	failure_set(failure, EXIT_CONFIG, "flags for TLS are incomplete");
	failure_detail(
		failure, "--tls-cert and --tls-key require each other, and --tls-client-ca requires both.");
	return failure->code;
}

ExitCode
server_reload(Server *server, Failure *failure)
{
	const HostOptions *options = server->loop.options;
	SSL_CTX *tls = NULL;
	Identities *identities = NULL;
	ExitCode code = check_options(options, failure);

	if (code == EXIT_OK && options->cert != NULL)
		code = tls_create(options->cert, options->key, options->client_ca, &tls, failure);
	if (code == EXIT_OK && options->tokens != NULL)
		code = identities_read(options->tokens, &identities, failure);
	if (code != EXIT_OK)
	{
		SSL_CTX_free(tls);
		return code;
	}
	SSL_CTX_free(server->tls); /* open connections keep their references */
	identities_free(server->loop.identities);
	server->tls = tls;
	server->loop.identities = identities;
	return EXIT_OK;
}

/*
 * Limits connections to the available descriptors: without one, accept() fails at once and would be
 * repeated in a busy loop.
 */
static void
limit_connections(Server *server)
{
	int64_t descriptors = descriptors_raise_limit();
	int64_t room = MAX(descriptors - DESCRIPTORS_KEPT, 1);

	server->connections_max = MIN(server->loop.options->max_connections, room);
	if (server->connections_max < server->loop.options->max_connections)
		log_event(LOG_WARNING, server->loop.options->module,
				  "the limit of open files allows fewer connections",
				  log_number("connections", server->connections_max),
				  log_number("open_files", descriptors));
}

ExitCode
server_init(Server *server, Host *host, Failure *failure)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = &host->wake_fd };
	ExitCode code;

	memset(server, 0, sizeof(*server));
	server->loop.host = host;
	server->loop.options = host->options;
	server->loop.now_ns = clock_ns(CLOCK_MONOTONIC);
	limit_connections(server);
	server->loop.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (server->loop.epoll_fd < 0 ||
		epoll_ctl(server->loop.epoll_fd, EPOLL_CTL_ADD, host->wake_fd, &event) != 0)
		return failure_set(failure, EXIT_INTERNAL, "could not set up the receiver");
	code = server_reload(server, failure);
	return code == EXIT_OK ? listen_on_all(server, failure) : code;
}

void
server_fini(Server *server)
{
	while (server->loop.connections != NULL)
		traffic_close(server->loop.connections);
	for (size_t i = 0; i < server->listener_count; i++)
		close(server->listeners[i]);
	SSL_CTX_free(server->tls);
	identities_free(server->loop.identities);
	clients_free(&server->loop.clients);
	clients_free(&server->addresses);
	/* A server that was not initialized is zeroed. */
	if (server->loop.epoll_fd > 0)
		close(server->loop.epoll_fd);
}

static void
take_back(Server *server)
{
	Call *call = host_collect(server->loop.host);

	while (call != NULL)
	{
		Call *next = call->next;
		Connection *connection = intake_take_back(&server->loop, call);

		if (connection != NULL)
			traffic_go_on(connection);
		call = next;
	}
}

/* --- turns --- */

/* Accepts a connection, or closes it at once if the limits of connections are reached. */
static void
accept_one(Server *server, int fd, const struct sockaddr *address, socklen_t length)
{
	const int on = 1;
	char peer[64] = "";
	Client *client;

	metric_add(&server->loop.host->metrics.connections_total, 1);
	getnameinfo(address, length, peer, sizeof(peer), NULL, 0, NI_NUMERICHOST);
	client = clients_take(&server->addresses, peer);
	if (client == NULL || server->loop.connection_count >= server->connections_max ||
		client_references(client) > server->loop.options->client_connections ||
		connection_create(&server->loop, fd, server->tls, peer, client) == NULL)
	{
		metric_add(&server->loop.host->metrics.connections_refused_total, 1);
		log_event(LOG_WARNING, server->loop.options->module, "too many connections",
				  log_text("peer", peer));
		client_release(client);
		close(fd);
		return;
	}
	/* Answers are small, and must not wait for Nagle's algorithm. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

/*
 * Accepts a limited number of connections in one turn, so that existing connections are served in
 * between.
 */
static void
accept_some(Server *server, int listener)
{
	for (int i = 0; i < ACCEPTS; i++)
	{
		struct sockaddr_storage address;
		socklen_t length = sizeof(address);
		int fd =
			accept4(listener, (struct sockaddr *) &address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
		{
			/* The connection stays in the kernel's queue until a descriptor is free. */
			if (errno == EMFILE || errno == ENFILE)
				log_event(LOG_WARNING, server->loop.options->module, "out of file descriptors");
			return;
		}
		accept_one(server, fd, (struct sockaddr *) &address, length);
	}
}

static bool
is_listener(const Server *server, const void *pointer)
{
	/* An event carries only a pointer, so a listener is recognized by its address. */
	return (const int *) pointer >= server->listeners &&
		   (const int *) pointer < server->listeners + SERVER_LISTENERS_MAX;
}

static void
server_check_all(Server *server)
{
	Connection *next;

	for (Connection *connection = server->loop.connections; connection != NULL; connection = next)
	{
		/* traffic_check() may free the connection. */
		next = connection->next;
		traffic_check(connection);
	}
	clients_sweep(&server->loop.clients, server->loop.now_ns);
	clients_sweep(&server->addresses, server->loop.now_ns);
}

void
server_turn(Server *server, int wait_ms)
{
	struct epoll_event events[EVENTS_A_TURN];
	int64_t before_ns = server->loop.now_ns;
	bool gives_back = false;
	int count = epoll_wait(server->loop.epoll_fd, events, EVENTS_A_TURN, MIN(wait_ms, TURN_MS));

	server->loop.now_ns = clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < count; i++)
	{
		void *pointer = events[i].data.ptr;

		if (pointer == &server->loop.host->wake_fd)
			gives_back = true;
		else if (is_listener(server, pointer))
			accept_some(server, *(int *) pointer);
		else
			traffic_handle(pointer, events[i].events);
	}

	/* Do this last, because it may close connections to which earlier events refer. */
	if (gives_back)
		take_back(server);
	/* Deadlines are checked once in TURN_MS, even if events end turns earlier. */
	if (server->loop.now_ns / (TURN_MS * NS_PER_MS) != before_ns / (TURN_MS * NS_PER_MS))
		server_check_all(server);
}

void
server_stop(Server *server)
{
	server->loop.is_stopping = true;
	for (size_t i = 0; i < server->listener_count; i++)
		close(server->listeners[i]);
	server->listener_count = 0;
	for (Connection *connection = server->loop.connections; connection != NULL;
		 connection = connection->next)
		traffic_stop(connection);
}
