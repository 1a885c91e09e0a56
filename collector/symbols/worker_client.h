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

/*
 * Frames at an address of a binary, by its DWARF: fd is the file, alt_fd its supplement or -1.
 * count 0 where DWARF does not cover it. symbol is NULL, or the name of the symbol that covers the
 * address, "" for none. Lines hold until the next call. 0; -ENOKEY where the symbol is wanted;
 * -ENODATA where there is no DWARF; -EAGAIN while no worker can be had; -EIO where the worker
 * failed with this question; another -errno that the worker answered.
 */
int worker_client_lookup(WorkerClient *client, uint64_t binary, int fd, int alt_fd,
						 uint64_t address, const char *symbol, SymbolLines *lines);

/* A symbol's name made readable, or as it is. Returns like worker_client_lookup. */
int worker_client_demangle(WorkerClient *client, const char *name, SymbolLines *lines);

void worker_client_end(WorkerClient *client); /* the next question starts another worker */

/* The process that runs now, or 0. Any thread. */
pid_t worker_client_pid(const WorkerClient *client);

uint64_t worker_client_failures(const WorkerClient *client);

#endif
