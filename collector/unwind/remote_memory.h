/*
 * remote_memory.h
 *		Memory of a process, read with a deadline.
 *
 * A page of it may be one that is filled when somebody likes to: a file's of a network or
 * user-space file system, or one that another process answers for (userfaultfd). And while it
 * changes its mappings nobody else sees them.
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
	Patience *patience; /* outlives it */
	uint32_t pid;
	bool stuck; /* a reading did not come back: no other is tried */
} RemoteMemory;

/* So many pieces of so many bytes each; each begins step bytes behind the one before. */
typedef struct RemotePieces
{
	uint64_t address;
	uint64_t step;
	size_t piece_bytes;
	size_t count; /* REMOTE_PIECES_MAX at most */
} RemotePieces;

/*
 * Reads the pieces one behind the other into bytes, up to the first that cannot be read. Returns
 * how many bytes that are.
 */
size_t remote_memory_read(RemoteMemory *memory, const RemotePieces *pieces, void *bytes);

/* One of several places that are read together. */
typedef struct RemoteRange
{
	uint64_t address;
	size_t bytes;
	bool had; /* out: all of it was read */
} RemoteRange;

/*
 * Reads the ranges one behind the other into bytes, which holds the sum of their bytes. Whether a
 * range could be read does not depend on the others.
 */
void remote_memory_gather(RemoteMemory *memory, RemoteRange *ranges, size_t count, void *bytes);

/* /proc/PID/maps, which the caller frees; NULL where it cannot be read. */
char *remote_memory_maps(RemoteMemory *memory, size_t limit_bytes);

#endif
