/*
 * listeners.h
 *		Listening sockets.
 */
#ifndef COLLECTOR_LISTENERS_H
#define COLLECTOR_LISTENERS_H

#include <stdbool.h>
#include <stddef.h>

#include "program/failure.h"

typedef struct ListenOptions
{
	const char *addresses; /* list of HOST:PORT, separated by commas */
	const char *flag;	   /* flag that set the addresses, for the hint */
	const char *module;	   /* module of log lines; a string literal */
	/* there is no authentication, so log a warning for an address that other hosts can reach */
	bool is_open;
} ListenOptions;

/*
 * Opens non-blocking sockets on all addresses of all names, at most max, and logs their addresses.
 * An IPv6 address is in brackets. Returns EXIT_OK, or EXIT_CONFIG or EXIT_INTERNAL with *failure
 * set. In either case fds contains *count open sockets.
 */
ExitCode listeners_open(const ListenOptions *options, int *fds, size_t max, size_t *count,
						Failure *failure);

#endif
