/*
 * server.c
 *		Listening sockets, new connections, turns of the loop.
 */
#include "http_server/server.h"

#include <arpa/inet.h>
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

#define TURN_MS		  250
#define EVENTS_A_TURN 64
#define BACKLOG		  1024
#define ACCEPTS		  64

/* Descriptors reserved for files, new connections to the database, and clients that are refused. */
#define DESCRIPTORS_KEPT 64

/* --- listening --- */

static ExitCode
cannot_listen(const char *address, const char *reason, Failure *failure)
{
	failure_set(failure, EXIT_CONFIG, "could not listen");
	failure_detail(failure, "%s: %s.", address, reason);
	failure_hint(failure,
				 "Set --listen to HOST:PORT with an address of this machine and a free port.");
	return failure->code;
}

static int
open_listener(const struct addrinfo *address)
{
	const int on = 1;
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
		(address->ai_family == AF_INET6 &&
		 setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0) ||
		bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
	{
		close(fd);
		return -1;
	}
	return fd;
}

/* Logs the real address, because the port may have been 0. */
static void
log_listener(int fd)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	char host[64];
	char port[16];
	char text[96];

	if (getsockname(fd, (struct sockaddr *) &address, &length) != 0 ||
		getnameinfo((struct sockaddr *) &address, length, host, sizeof(host), port, sizeof(port),
					NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	snprintf(text, sizeof(text), "%s:%s", host, port);
	log_event(LOG_INFO, "receive", "listening", log_text("address", text));
}

/* Listens on all addresses of a name; an IPv6 address is in brackets. */
static ExitCode
listen_on(Server *server, const char *address, Failure *failure)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	const char *colon = strrchr(address, ':');
	struct addrinfo *found = NULL;
	struct epoll_event event = { .events = EPOLLIN };
	char host[NI_MAXHOST];
	bool bracketed;
	int err;
	int fd;

	if (colon == NULL)
		return cannot_listen(address, "no port given", failure);
	if (colon - address >= NI_MAXHOST)
		return cannot_listen(address, "the name is too long", failure);
	bracketed = address[0] == '[' && colon > address && colon[-1] == ']';
	snprintf(host, sizeof(host), "%.*s", (int) (colon - address) - 2 * bracketed,
			 address + bracketed);
	err = getaddrinfo(host[0] != '\0' ? host : NULL, colon + 1, &hints, &found);
	if (err != 0)
		return cannot_listen(address, gai_strerror(err), failure);
	for (const struct addrinfo *at = found; at != NULL; at = at->ai_next)
	{
		fd = server->listener_count < SERVER_LISTENERS_MAX ? open_listener(at) : -1;
		event.data.ptr = fd >= 0 ? &server->listeners[server->listener_count] : NULL;
		if (fd < 0 || epoll_ctl(server->loop.epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		{
			err = errno;
			freeaddrinfo(found);
			return cannot_listen(address, strerror(err), failure);
		}
		server->listeners[server->listener_count++] = fd;
		log_listener(fd);
	}
	freeaddrinfo(found);
	return EXIT_OK;
}

static ExitCode
listen_on_all(Server *server, Failure *failure)
{
	char *list = strdup(server->loop.options->listen);
	char *rest = NULL;
	ExitCode code = EXIT_OK;

	if (list == NULL)
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	for (char *address = strtok_r(list, ",", &rest); code == EXIT_OK && address != NULL;
		 address = strtok_r(NULL, ",", &rest))
		code = listen_on(server, address, failure);
	free(list);
	if (code == EXIT_OK && server->listener_count == 0)
		code = cannot_listen(server->loop.options->listen, "it contains no address", failure);
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
 * Limits connections to the available descriptors: accept() without one would be repeated in a busy
 * loop.
 */
static void
limit_connections(Server *server)
{
	int64_t descriptors = descriptors_raise_limit();
	int64_t room = MAX(descriptors - DESCRIPTORS_KEPT, 1);

	server->connections_max = MIN(server->loop.options->max_connections, room);
	if (server->connections_max < server->loop.options->max_connections)
		log_event(LOG_WARNING, "receive", "the limit of open files allows fewer connections",
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
		log_event(LOG_WARNING, "receive", "too many connections", log_text("peer", peer));
		client_release(client);
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

/* Accepts a limited number of connections per turn, so that existing ones are served in between. */
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
			if (errno == EMFILE || errno == ENFILE)
				log_event(LOG_WARNING, "receive", "out of file descriptors");
			return;
		}
		accept_one(server, fd, (struct sockaddr *) &address, length);
	}
}

static bool
is_listener(const Server *server, const void *pointer)
{
	return (const int *) pointer >= server->listeners &&
		   (const int *) pointer < server->listeners + SERVER_LISTENERS_MAX;
}

static void
server_check_all(Server *server)
{
	Connection *next;

	for (Connection *connection = server->loop.connections; connection != NULL; connection = next)
	{
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

	/* done last, because it closes connections that earlier events may refer to */
	if (gives_back)
		take_back(server);
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
