/*
 * remote_memory.h
 *		Reads memory of a process with a deadline.
 *
 * Another process can decide when a page gets its content: it may be a page of a file on a network
 * or user-space file system, or one that a process itself provides (userfaultfd). And while a
 * process changes its mappings, no other process can read its memory. So each read is a probe
 * (process/prober.h). A caller that reads many places runs in one probe instead, and reads without
 * a patience.
 */
#ifndef COLLECTOR_REMOTE_MEMORY_H
#define COLLECTOR_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/patience.h"

#define REMOTE_PIECES_MAX 256

typedef struct RemoteMemory
{
	Patience *patience; /* must outlive this object; NULL: reads have no deadline, in a probe */
	uint32_t pid;
	bool stuck;		   /* a read did not return in time, so no further read is tried */
	uint64_t spent_ns; /* CPU time that threads of the patience's prober took for finished reads */
} RemoteMemory;

/* Several pieces of memory of one size. Each piece begins step bytes after the previous piece. */
typedef struct RemotePieces
{
	uint64_t address;
	uint64_t step;
	size_t piece_bytes;
	size_t count; /* at most REMOTE_PIECES_MAX */
} RemotePieces;

/*
 * Reads the pieces into bytes, one after the other, up to the first unreadable one. Returns the
 * number of bytes read.
 */
size_t remote_memory_read(RemoteMemory *memory, const RemotePieces *pieces, void *bytes);

/* One of several ranges that are read together. */
typedef struct RemoteRange
{
	uint64_t address;
	size_t bytes;
	bool had; /* result: all bytes of the range were read */
} RemoteRange;

/*
 * Reads the ranges into bytes, one after the other; bytes holds the sum of their sizes. An
 * unreadable range does not affect the others, and its bytes are zeroed.
 */
void remote_memory_gather(RemoteMemory *memory, RemoteRange *ranges, size_t count, void *bytes);

/* Returns the text of /proc/PID/maps, which the caller frees; NULL if it is unreadable. */
char *remote_memory_maps(RemoteMemory *memory, size_t limit_bytes);

#endif
