/*
 * stack_reader.h
 *		Reads the stacks of other processes' threads, the interpreter's included, each with a
 *		deadline.
 *
 * A page of a stack may be filled whenever another process likes: a file's page of a user-space
 * file system, or a page that another process provides (userfaultfd). The kernel then blocks the
 * thread that reads it, forever if need be. So a separate thread reads (process/prober.h), which is
 * left behind if it does not return. Processes of the same owner (process/owner.h) are then not
 * read for a while, nor while PROBER_OWNER_STUCK threads are left behind for the owner, so that
 * other owners do not pay for it.
 *
 * Belongs to one thread.
 */
#ifndef COLLECTOR_STACK_READER_H
#define COLLECTOR_STACK_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/patience.h"
#include "runtime_types.h"

/* limit of owners that are not read; the oldest is forgotten if there are more */
#define STACK_READER_OWNERS 64

/* The owner of a process that did not answer a read. */
typedef struct StalledOwner
{
	uint64_t owner; /* 0: unused */
	Stall stall;
} StalledOwner;

typedef struct StackReader
{
	Prober *prober;
	StalledOwner stalled[STACK_READER_OWNERS];
	size_t next; /* slot that is reused next */
	uint64_t timeouts;
} StackReader;

/* One piece of a thread's stack. */
typedef struct StackRead
{
	uint32_t pid; /* the process of the thread */
	uint32_t tid;
	/* owner of the process; 0 if it is not needed because every read returned so far */
	uint64_t owner;
	uint64_t address;
	size_t wanted_bytes;
	const struct pfs_runtime *runtime; /* interpreter of the process; NULL: none */
	uint64_t thread_pointer;		   /* for runtime */
	uint64_t sp;					   /* for runtime: the stack pointer of the innermost frame */
	uint8_t *bytes;					   /* owned by the caller; NULL: not read */
	size_t done_bytes;				   /* up to the first byte that could not be read */
	uint64_t *chain;				   /* section of a record, owned by the caller; NULL: none */
	size_t chain_words;
	bool stuck; /* the read did not return */
} StackRead;

int stack_reader_init(StackReader *reader); /* returns 0 or -ENOMEM */
void stack_reader_fini(StackReader *reader);

/* Fills in bytes, done_bytes, chain, chain_words and stuck of all reads. */
void stack_reader_read(StackReader *reader, StackRead *reads, size_t count);

#endif
