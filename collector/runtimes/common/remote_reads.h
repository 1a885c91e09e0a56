/*
 * remote_reads.h
 *		A list of places in a process's memory that are read together.
 */
#ifndef COLLECTOR_REMOTE_READS_H
#define COLLECTOR_REMOTE_READS_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/remote_memory.h"

/* Zeroed: empty. */
typedef struct RemoteReads
{
	RemoteRange *ranges;
	size_t *places; /* offset in content of each read */
	size_t count;
	size_t room;
	size_t bytes;
	uint8_t *content; /* NULL: no memory was read */
} RemoteReads;

/* Empties the list without releasing its memory. */
void remote_reads_clear(RemoteReads *reads);
void remote_reads_fini(RemoteReads *reads);

/*
 * Appends a read and returns its number; SIZE_MAX if out of memory. Zero bytes, or an address
 * outside user space, make an empty read.
 */
size_t remote_reads_add(RemoteReads *reads, uint64_t address, size_t bytes);

void remote_reads_run(RemoteReads *reads, RemoteMemory *memory);

/*
 * Returns the bytes read at a place; NULL if they could not be read. They are valid until the list
 * changes.
 */
const uint8_t *remote_reads_get(const RemoteReads *reads, size_t number);

#endif
