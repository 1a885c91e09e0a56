/*
 * worker_client.h
 *		The symbolizer's end of its worker process: starts it when needed, asks it, survives it.
 *
 * A worker that dies or does not answer in time is ended and counted; the next one starts at once,
 * after repeated failures, or one answer that did not come in time, after a growing pause in which
 * questions are refused. So no question takes longer than ANSWER_TIMEOUT_MS, whatever the worker
 * does, and those after it nothing.
 */
#ifndef COLLECTOR_WORKER_CLIENT_H
#define COLLECTOR_WORKER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/symbol_line.h"

typedef struct WorkerClient WorkerClient;

/* 0 or -ENOMEM. No process is started yet. */
int worker_client_create(WorkerClient **client);
void worker_client_free(WorkerClient *client); /* accepts NULL; ends the worker */

/* What the worker is to read; descriptors are -1 for none. */
typedef struct WorkerFiles
{
	int binary;
	int debug;		 /* its separate debug file */
	int alternative; /* supplement of the one that has DWARF */
	bool no_dwarf;	 /* symbol tables alone */
	bool raw_names;	 /* not demangled */
} WorkerFiles;

/*
 * Asks about addresses of a binary, whose number changes with its files, at most
 * WORKER_ADDRESSES_MAX. 0, and *answered tells of how many of them, from the first on and one
 * at least, there is an answer to take; -EAGAIN while no worker can be had; -EIO where the worker
 * failed with this question; another -errno that the worker answered.
 */
int worker_client_ask(WorkerClient *client, uint64_t binary, const WorkerFiles *files,
					  const uint64_t *addresses, uint32_t count, uint32_t *answered);

/*
 * The next answer of the last question: frames at the address, count 0 where nothing covers it.
 * Lines hold until the next call. 0, or an -errno that the worker answered.
 */
int worker_client_take(WorkerClient *client, SymbolLines *lines);

/* Asks about one address and takes the answer. */
int worker_client_lookup(WorkerClient *client, uint64_t binary, const WorkerFiles *files,
						 uint64_t address, SymbolLines *lines);

/* 0 where the file has this CRC-32, -EBADMSG where it has another; else as worker_client_ask. */
int worker_client_checksum(WorkerClient *client, int fd, uint32_t checksum);

void worker_client_end(WorkerClient *client); /* the next question starts another worker */

/* The process that runs now, or 0. Any thread. */
pid_t worker_client_pid(const WorkerClient *client);

uint64_t worker_client_failures(const WorkerClient *client);

#endif
