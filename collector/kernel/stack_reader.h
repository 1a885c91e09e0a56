/*
 * stack_reader.h
 *		Reads the stacks of other processes' threads, and the chains of their interpreters, each
 *		with a deadline.
 *
 * Another process can decide when a page of a stack gets its content: it may be a page of a file on
 * a user-space file system, or one that the process itself provides (userfaultfd). Until then the
 * kernel blocks the thread that reads it, if need be forever. So a separate thread reads
 * (process/prober.h), and is left behind if it does not return. Then processes of the same owner
 * (process/owner.h) are not read for a while, nor while PROBER_OWNER_STUCK threads are left behind
 * for the owner, so that other owners are not affected.
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

/* Limit of owners that are not read; beyond it, the oldest entry is dropped. */
#define STACK_READER_OWNERS 64

/* The owner of a process that did not answer a read in time. */
typedef struct StalledOwner
{
	uint64_t owner; /* 0: the slot is free */
	Stall stall;
} StalledOwner;

typedef struct StackReader
{
	Prober *prober;
	StalledOwner stalled[STACK_READER_OWNERS];
	size_t next; /* index of the slot that is reused next */
	uint64_t timeouts;
} StackReader;

/* A read of one part of a thread's stack. */
typedef struct StackRead
{
	uint32_t pid; /* process of the thread */
	uint32_t tid;
	/* Owner of the process; 0 if it need not be known, because every read has returned so far. */
	uint64_t owner;
	uint64_t address;
	size_t wanted_bytes;
	const struct pfs_runtime *runtime; /* interpreter of the process; NULL: none */
	uint64_t thread_pointer;		   /* thread pointer, for the interpreter */
	/* stack pointer of the innermost frame, for the interpreter */
	uint64_t sp;
	/* address of a number that is read after the stack; 0: none is read */
	uint64_t number_address;
	uint64_t number;
	bool has_number; /* the number was read */
	uint8_t *bytes;	 /* owned by the caller; NULL: the stack is not read */
	/* number of bytes before the first one that could not be read */
	size_t done_bytes;
	/* the record's section for a chain, owned by the caller; NULL: no chain is read */
	uint64_t *chain;
	size_t chain_words;
	bool stuck; /* the read did not return in time */
} StackRead;

int stack_reader_init(StackReader *reader); /* returns 0 or -ENOMEM */
void stack_reader_fini(StackReader *reader);

/*
 * Fills in number, has_number, bytes, done_bytes, chain, chain_words and stuck of all reads.
 */
void stack_reader_read(StackReader *reader, StackRead *reads, size_t count);

#endif
