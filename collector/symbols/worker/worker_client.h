/*
 * worker_client.h
 *		The symbolizer's side of its worker process: starts the worker, asks it, ends it.
 *
 * A question never waits beyond its deadline. A worker that crashes or does not answer in time is
 * ended and counted; the next one starts at once. The cost of a question is charged to the owners
 * of its file. Owners whose allowance is used up are refused, so that their files take no time from
 * those of other owners. If workers do not start, the pause between attempts grows.
 */
#ifndef COLLECTOR_WORKER_CLIENT_H
#define COLLECTOR_WORKER_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/elf/file_identity.h"
#include "symbols/worker/name_style.h"
#include "symbols/worker/symbol_ask.h"
#include "symbols/worker/symbol_line.h"

typedef struct WorkerClient WorkerClient;

/*
 * Makes a client; memory_bytes is the memory that the worker may allocate. Starts no process yet.
 * Returns 0 or -ENOMEM.
 */
int worker_client_create(size_t memory_bytes, WorkerClient **client);
void worker_client_free(WorkerClient *client); /* accepts NULL; ends the worker */

/* Descriptors of the files that the worker reads; -1: none. */
typedef struct WorkerFiles
{
	int binary;
	int debug;					  /* its separate debug file */
	int alternative;			  /* supplement of the file that has DWARF */
	int package;				  /* package of its split units */
	int table;					  /* symbol table on disk, read when the binary is opened */
	const FileIdentity *identity; /* identity of the binary when it was opened; NULL: any */
	bool no_dwarf;				  /* use symbol tables only */
	bool raw_names;				  /* not demangled */
	NameStyle style;			  /* must be equal in all questions about the binary */
} WorkerFiles;

/*
 * Asks about at most WORKER_ADDRESSES_MAX addresses of a binary; binary is a number that changes
 * with its files. Returns 0 and sets *answered to the number of answers to take, at least 1, in the
 * order of the addresses; -EINPROGRESS if there is no answer by the deadline; -EAGAIN if the owners
 * have used up their allowance or no worker can be started; -EIO if the worker failed with this
 * question; -ENOLINK if it wants the file of worker_client_wanted() first; another -errno from the
 * worker.
 */
int worker_client_ask(WorkerClient *client, uint64_t binary, const WorkerFiles *files,
					  const uint64_t *addresses, uint32_t count, const SymbolAsk *terms,
					  uint32_t *answered);

/* The file of a split unit (.dwo). */
typedef struct WorkerWanted
{
	uint64_t id;
	const char *path; /* not checked: a file named it */
} WorkerWanted;

/* Returns the file that the last question needs. The path is valid until the next question. */
WorkerWanted worker_client_wanted(const WorkerClient *client);

/*
 * Gives the worker the file of a split unit of a binary; -1: there is none. The caller keeps the
 * descriptor. Returns 0; -ESTALE if the binary is not open; otherwise an error of
 * worker_client_ask().
 */
int worker_client_add_split(WorkerClient *client, uint64_t binary, uint64_t id, int fd,
							const SymbolAsk *terms);

/*
 * Reads the next answer to the last question: the frames at the address, count 0 if nothing covers
 * it. Lines are valid until the next call. Returns 0; -ENOMEM with those lines that fitted into the
 * worker's memory; another -errno from the worker.
 */
int worker_client_take(WorkerClient *client, SymbolLines *lines);

/*
 * Returns 0 if the file has this CRC-32, -EBADMSG if it has another; otherwise an error of
 * worker_client_ask(). A question counts as repeated only if the number of the binary, the file and
 * the checksum are all equal: the answer about another file would prove nothing about this one.
 */
int worker_client_checksum(WorkerClient *client, uint64_t binary, int fd,
						   const FileIdentity *identity, uint32_t checksum, const SymbolAsk *terms);

/*
 * Returns 0 if the files of two binaries have equal bytes and the kernel notices changes of them
 * (no FUSE); -EBADMSG if not; otherwise an error of worker_client_ask(). A question counts as
 * repeated only if both numbers are equal.
 */
int worker_client_compare(WorkerClient *client, uint64_t binary, int fd, uint64_t other,
						  int other_fd, const SymbolAsk *terms);

/*
 * Demangles a name of at most WORKER_NAME_BYTES that belongs to no binary; hash identifies the
 * question. The line is valid until the next question. Returns 0, -ENAMETOOLONG, or an error of
 * worker_client_ask().
 */
int worker_client_demangle(WorkerClient *client, const char *name, uint64_t hash, NameStyle style,
						   const SymbolAsk *terms, SymbolLines *lines);

/*
 * Writes the worker's symbol table of a binary to an empty file. Returns 0; -EALREADY if it came
 * from disk; -ENOENT if there is none; otherwise an error of worker_client_ask().
 */
int worker_client_keep(WorkerClient *client, uint64_t binary, int fd, const SymbolAsk *terms);

/*
 * Return the number of symbol tables that were read from disk, and of those whose file was damaged.
 */
uint64_t worker_client_tables_loaded(const WorkerClient *client);
uint64_t worker_client_tables_damaged(const WorkerClient *client);

/* Returns the CPU time, in ns, that the owner with the smallest debt has used of its burst. */
int64_t worker_client_used(const WorkerClient *client, uint64_t owners);

/*
 * Returns the number of addresses that were not looked up because their owners' allowance was used
 * up.
 */
uint64_t worker_client_refused(const WorkerClient *client);

/*
 * Returns the number of addresses that were not looked up because no worker could be started: too
 * many are stuck, or none starts.
 */
uint64_t worker_client_unavailable(const WorkerClient *client);

/*
 * Returns the number of binaries whose debug information was left out because it would take too
 * much memory.
 */
uint64_t worker_client_left_out(const WorkerClient *client);

/*
 * Starts a worker if there is none and one can be started. Otherwise the first question tries
 * again.
 */
void worker_client_start(WorkerClient *client);

void worker_client_end(WorkerClient *client); /* the next question starts another worker */

/* Returns the process ID of the worker, or 0. Any thread may call it. */
pid_t worker_client_pid(const WorkerClient *client);

uint64_t worker_client_failures(const WorkerClient *client);

#endif
