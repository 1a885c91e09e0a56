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
	const char *addresses; /* HOST:PORT, separated by commas */
	const char *flag;	   /* name of the flag that has them, for the hint */
	const char *module;	   /* of the log; a literal */
	bool is_open;		   /* no authentication: log an address that other hosts reach */
} ListenOptions;

/*
 * Opens non-blocking sockets on all addresses of all names, at most max, and logs their addresses.
 * An IPv6 address is in brackets. Returns EXIT_OK, or EXIT_CONFIG or EXIT_INTERNAL with *failure
 * set. In either case fds contains *count open sockets.
 */
ExitCode listeners_open(const ListenOptions *options, int *fds, size_t max, size_t *count,
						Failure *failure);

#endif
