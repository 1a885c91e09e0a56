/*
 * listeners.c
 *		Opens listening sockets.
 */
#include "program/listeners.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

#define BACKLOG 1024

typedef struct Listening
{
	const ListenOptions *options;
	int *fds;
	size_t max;
	size_t *count;
} Listening;

static ExitCode
cannot_listen(const Listening *listening, const char *address, const char *reason, Failure *failure)
{
	failure_set(failure, EXIT_CONFIG, "could not listen");
	failure_detail(failure, "%s: %s.", address, reason);
	failure_hint(failure, "Set --%s to HOST:PORT with an address of this machine and a free port.",
				 listening->options->flag);
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
		int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

/* Returns true if only programs of this host can connect to the address. */
static bool
is_loopback(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *) address)->sin_addr.s_addr) >> 24 == 127;
	return address->ss_family == AF_INET6 &&
		   IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *) address)->sin6_addr);
}

/* Logs the actual address, because port 0 makes the kernel choose a port. */
static void
log_listener(const Listening *listening, int fd)
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
	log_event(LOG_INFO, listening->options->module, "listening", log_text("address", text));
	if (listening->options->is_open && !is_loopback(&address))
		log_event(LOG_INFO, listening->options->module,
				  "other hosts can read the page, which has no authentication",
				  log_text("address", text));
}

/* Listens on all addresses that a name resolves to. */
static ExitCode
listen_on(const Listening *listening, const char *address, Failure *failure)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	const char *colon = strrchr(address, ':');
	struct addrinfo *found = NULL;
	char host[NI_MAXHOST];
	bool bracketed;
	int err;

	if (colon == NULL)
		return cannot_listen(listening, address, "no port given", failure);
	if (colon - address >= NI_MAXHOST)
		return cannot_listen(listening, address, "the name is too long", failure);
	bracketed = address[0] == '[' && colon > address && colon[-1] == ']';
	snprintf(host, sizeof(host), "%.*s", (int) (colon - address) - 2 * bracketed,
			 address + bracketed);
	err = getaddrinfo(host[0] != '\0' ? host : NULL, colon + 1, &hints, &found);
	if (err != 0)
		return cannot_listen(listening, address, gai_strerror(err), failure);
	for (const struct addrinfo *at = found; at != NULL; at = at->ai_next)
	{
		int fd = -1;

		errno = EMFILE;
		if (*listening->count < listening->max)
			fd = open_listener(at);
		if (fd < 0)
		{
			err = errno;
			freeaddrinfo(found);
			return cannot_listen(listening, address, strerror(err), failure);
		}
		listening->fds[(*listening->count)++] = fd;
		log_listener(listening, fd);
	}
	freeaddrinfo(found);
	return EXIT_OK;
}

ExitCode
listeners_open(const ListenOptions *options, int *fds, size_t max, size_t *count, Failure *failure)
{
	const Listening listening = { options, fds, max, count };
	char *list = strdup(options->addresses);
	char *rest = NULL;
	ExitCode code = EXIT_OK;

	*count = 0;
	if (list == NULL)
		return failure_out_of_memory(failure);
	for (char *address = strtok_r(list, ",", &rest); code == EXIT_OK && address != NULL;
		 address = strtok_r(NULL, ",", &rest))
		code = listen_on(&listening, address, failure);
	free(list);
	if (code == EXIT_OK && *count == 0)
		code = cannot_listen(&listening, options->addresses, "it contains no address", failure);
	return code;
}
