/*
 * stack_reader.h
 *		Reads the stacks of other processes' threads, each with a deadline.
 *
 * A page of a stack may be one that is filled when somebody likes to: a file's of a user-space file
 * system, or one that another process answers for (userfaultfd). The kernel then keeps the thread
 * that reads it, for good if need be. So the reading is a probe's (process/prober.h), whose thread
 * is left behind if it does not come back. Processes of the owner (process/owner.h) of the one that
 * held it up are not read again for a while, nor while PROBER_OWNER_STUCK threads are left behind
 * for the owner: others do not pay for it.
 *
 * Belongs to one thread.
 */
#ifndef COLLECTOR_STACK_READER_H
#define COLLECTOR_STACK_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/patience.h"

#define STACK_READER_OWNERS 64 /* that are left alone at a time; of more the oldest is forgotten */

/* The owner of a process of which a reading did not come back. */
typedef struct StalledOwner
{
	uint64_t owner; /* 0: none */
	Stall stall;
} StalledOwner;

typedef struct StackReader
{
	Prober *prober;
	StalledOwner stalled[STACK_READER_OWNERS];
	size_t next; /* that makes room for another one */
	uint64_t timeouts;
} StackReader;

/* One piece of a thread's stack. */
typedef struct StackRead
{
	uint32_t pid; /* of the process */
	uint32_t tid;
	uint64_t owner; /* of the process, if some reading did not come back; otherwise 0 */
	uint64_t address;
	size_t wanted_bytes;
	uint8_t *bytes;	   /* which the caller frees; NULL: none */
	size_t done_bytes; /* up to the first that could not be read */
	bool stuck;		   /* the reading did not come back */
} StackRead;

int stack_reader_init(StackReader *reader); /* 0 or -ENOMEM */
void stack_reader_fini(StackReader *reader);

/* Fills in bytes, done_bytes and stuck of all of them. */
void stack_reader_read(StackReader *reader, StackRead *reads, size_t count);

#endif
