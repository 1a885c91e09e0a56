/*
 * worker_client.h
 *		The symbolizer's end of its worker process: starts it when needed, asks it, survives it.
 *
 * Nobody waits for an answer beyond the asker's deadline. A worker that dies or does not answer in
 * time is ended and counted; the next one starts at once. What a question costs is charged to the
 * owners of its file, and once their allowance is used up they are refused, so that files of one
 * owner take nothing from those of others. Only a worker that does not start makes a growing pause.
 */
#ifndef COLLECTOR_WORKER_CLIENT_H
#define COLLECTOR_WORKER_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/file_identity.h"
#include "symbols/symbol_ask.h"
#include "symbols/symbol_line.h"

typedef struct WorkerClient WorkerClient;

/* memory_bytes: what the process may allocate. 0 or -ENOMEM. No process is started yet. */
int worker_client_create(size_t memory_bytes, WorkerClient **client);
void worker_client_free(WorkerClient *client); /* accepts NULL; ends the worker */

/* What the worker is to read; descriptors are -1 for none. */
typedef struct WorkerFiles
{
	int binary;
	int debug;					  /* its separate debug file */
	int alternative;			  /* supplement of the one that has DWARF */
	int table;					  /* its symbol table on disk, which it takes as it is opened */
	const FileIdentity *identity; /* of the binary as it was when it was opened; NULL: any */
	bool no_dwarf;				  /* symbol tables alone */
	bool raw_names;				  /* not demangled */
} WorkerFiles;

/*
 * Asks about addresses of a binary, whose number changes with its files, at most
 * WORKER_ADDRESSES_MAX. 0, and *answered is the number of those, from the first on and one at
 * least, that there is an answer to take of; -EINPROGRESS if there is none by the deadline; -EAGAIN
 * if the owners have used up their allowance, or no worker can be had; -EIO if the worker failed
 * with this question; another -errno that the worker answered.
 */
int worker_client_ask(WorkerClient *client, uint64_t binary, const WorkerFiles *files,
					  const uint64_t *addresses, uint32_t count, const SymbolAsk *terms,
					  uint32_t *answered);

/*
 * The next answer of the last question: frames at the address, count 0 if nothing covers it. Lines
 * hold until the next call. 0, or an -errno that the worker answered.
 */
int worker_client_take(WorkerClient *client, SymbolLines *lines);

/* Asks about one address and takes the answer. */
int worker_client_lookup(WorkerClient *client, uint64_t binary, const WorkerFiles *files,
						 uint64_t address, const SymbolAsk *terms, SymbolLines *lines);

/*
 * 0 if the file has this CRC-32, -EBADMSG if it has another; otherwise as worker_client_ask. A
 * question is a repeated one only if the binary that the file may belong to, the file and the
 * checksum are all the same: the answer about another file would prove nothing of this one.
 */
int worker_client_checksum(WorkerClient *client, uint64_t binary, int fd,
						   const FileIdentity *identity, uint32_t checksum, const SymbolAsk *terms);

/*
 * 0 if the files of two binaries have the same bytes, and the kernel vouches for changes of them
 * (no FUSE); -EBADMSG if not; otherwise as worker_client_ask. A question is a repeated one only if
 * both numbers are the same.
 */
int worker_client_compare(WorkerClient *client, uint64_t binary, int fd, uint64_t other,
						  int other_fd, const SymbolAsk *terms);

/*
 * Writes the symbol table that the worker has made of a binary to an empty file. 0; -EALREADY if it
 * came from disk; -ENOENT if there is none; otherwise as worker_client_ask.
 */
int worker_client_keep(WorkerClient *client, uint64_t binary, int fd, const SymbolAsk *terms);

/* Symbol tables that were taken from disk, and files there that were damaged. */
uint64_t worker_client_tables_loaded(const WorkerClient *client);
uint64_t worker_client_tables_damaged(const WorkerClient *client);

/* CPU time that the owner who owes least has used of its burst. */
int64_t worker_client_used(const WorkerClient *client, uint64_t owners);

/* Addresses that were not asked about because their owners' allowance was used up. */
uint64_t worker_client_refused(const WorkerClient *client);

/*
 * Addresses that were not asked about because no worker could be had: too many of them hang, or
 * none starts.
 */
uint64_t worker_client_unavailable(const WorkerClient *client);

/* Binaries whose debug information was left out because it would take too much memory. */
uint64_t worker_client_left_out(const WorkerClient *client);

/* Starts a worker if there is none and one can be had; the first question does so otherwise. */
void worker_client_start(WorkerClient *client);

void worker_client_end(WorkerClient *client); /* the next question starts another worker */

/* The process that runs now, or 0. Any thread. */
pid_t worker_client_pid(const WorkerClient *client);

uint64_t worker_client_failures(const WorkerClient *client);

#endif
