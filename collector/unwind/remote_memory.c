/*
 * remote_memory.c
 *		Reads another process's memory under a deadline. While a call runs, it owns the memory for
 *		its results.
 */
#include "unwind/remote_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "process/proc_file.h"

/* limit of the time for which the calling thread, the walker, waits */
#define WAIT_NS UINT64_C(50000000)

typedef struct MemoryProbe
{
	Probe probe;
	uint32_t pid;
	RemotePieces pieces;
	size_t done;
	uint8_t bytes[];
} MemoryProbe;

typedef struct MapsProbe
{
	Probe probe;
	uint32_t pid;
	size_t limit_bytes;
	char *text; /* NULL: the text was unreadable */
} MapsProbe;

/* Reads the pieces, in the prober's thread. */
static void
run_memory(Probe *probe)
{
	MemoryProbe *memory = (MemoryProbe *) probe;
	const RemotePieces *pieces = &memory->pieces;
	const struct iovec local = { memory->bytes, pieces->count * pieces->piece_bytes };
	struct iovec remote[REMOTE_PIECES_MAX];
	ssize_t result;

	for (size_t i = 0; i < pieces->count; i++)
		remote[i] = (struct iovec){ (void *) (uintptr_t) (pieces->address + i * pieces->step),
									pieces->piece_bytes };
	/*
	 * One call reads all pieces. It stops before the first piece with an unreadable page, and then
	 * returns the number of bytes of the pieces before it; -1 if the first piece has one.
	 */
	result = process_vm_readv((pid_t) memory->pid, &local, 1, remote, pieces->count, 0);
	memory->done = result > 0 ? (size_t) result : 0;
}

static void
discard_memory(Probe *probe)
{
	free((MemoryProbe *) probe);
}

size_t
remote_memory_read(RemoteMemory *memory, const RemotePieces *pieces, void *bytes)
{
	MemoryProbe *probe;
	size_t done;

	if (memory->stuck)
		return 0;
	probe = malloc(sizeof(*probe) + pieces->count * pieces->piece_bytes);
	if (probe == NULL)
		return 0;
	probe->probe =
		(Probe){ .run = run_memory, .discard = discard_memory, .subject.pid = memory->pid };
	probe->pid = memory->pid;
	probe->pieces = *pieces;
	/*
	 * After a timeout the probe still belongs to the thread that runs it, which frees it with
	 * discard. So neither its bytes nor its pointer may be used.
	 */
	memory->stuck = patience_run(memory->patience, &probe->probe, WAIT_NS) != 0;
	if (memory->stuck)
		return 0;
	done = probe->done;
	memcpy(bytes, probe->bytes, done);
	free(probe);
	return done;
}

typedef struct GatherProbe
{
	Probe probe;
	uint32_t pid;
	size_t count;
	size_t length; /* sum of the lengths of all ranges */
	uint8_t *bytes;
	RemoteRange ranges[];
} GatherProbe;

/*
 * Reads ranges, beginning with first, until one is unreadable, and marks those that were read.
 * Returns the number of ranges read. Nothing is readable at address 0, which callers give if there
 * is no object, so that needs no call.
 */
static size_t
gather_from(GatherProbe *gather, size_t first, size_t offset)
{
	struct iovec remote[REMOTE_PIECES_MAX];
	struct iovec local = { gather->bytes + offset, 0 };
	size_t count = 0;
	size_t done = 0;
	ssize_t result;

	for (; count < REMOTE_PIECES_MAX && first + count < gather->count; count++)
	{
		const RemoteRange *range = &gather->ranges[first + count];

		if (range->address == 0 && range->bytes != 0)
			break;
		remote[count] = (struct iovec){ (void *) (uintptr_t) range->address, range->bytes };
		local.iov_len += range->bytes;
	}
	if (count == 0)
		return 0;
	result = process_vm_readv((pid_t) gather->pid, &local, 1, remote, count, 0);
	for (size_t i = 0; i < count; i++)
	{
		RemoteRange *range = &gather->ranges[first + i];

		/*
		 * The kernel transfers whole ranges in order: the first one that the result does not cover
		 * is unreadable, and the ranges after it were not tried.
		 */
		if (result < 0 || (size_t) result < done + range->bytes)
			return i;
		done += range->bytes;
		range->had = true;
	}
	return count;
}

/* Reads all ranges; those after an unreadable one in a further call. */
static void
run_gather(Probe *probe)
{
	GatherProbe *gather = (GatherProbe *) probe;
	size_t offset = 0;
	size_t at = 0;

	while (at < gather->count)
	{
		size_t read = gather_from(gather, at, offset);
		/*
		 * A call ends at its limit of REMOTE_PIECES_MAX ranges, at the last range, or at an
		 * unreadable range. The next call begins after the unreadable range, so one such range
		 * costs one call.
		 */
		size_t next = read < REMOTE_PIECES_MAX ? at + read + 1 : at + read;

		/* skip the unreadable range */
		for (; at < next && at < gather->count; at++)
			offset += gather->ranges[at].bytes;
	}
}

static void
discard_gather(Probe *probe)
{
	free(((GatherProbe *) probe)->bytes);
	free((GatherProbe *) probe);
}

void
remote_memory_gather(RemoteMemory *memory, RemoteRange *ranges, size_t count, void *bytes)
{
	GatherProbe *probe =
		memory->stuck || count == 0 ? NULL : malloc(sizeof(*probe) + count * sizeof(*ranges));

	for (size_t i = 0; i < count; i++)
		ranges[i].had = false;
	if (probe == NULL)
		return;
	probe->probe =
		(Probe){ .run = run_gather, .discard = discard_gather, .subject.pid = memory->pid };
	probe->pid = memory->pid;
	probe->count = count;
	probe->length = 0;
	memcpy(probe->ranges, ranges, count * sizeof(*ranges));
	for (size_t i = 0; i < count; i++)
		probe->length += ranges[i].bytes;
	/* zeroed, because all bytes are copied to the caller, including those of unreadable ranges */
	probe->bytes = calloc(1, probe->length);
	if (probe->bytes == NULL)
	{
		free(probe);
		return;
	}
	memory->stuck = patience_run(memory->patience, &probe->probe, WAIT_NS) != 0;
	if (memory->stuck)
		return;
	memcpy(ranges, probe->ranges, count * sizeof(*ranges));
	memcpy(bytes, probe->bytes, probe->length);
	discard_gather(&probe->probe);
}

static void
run_maps(Probe *probe)
{
	MapsProbe *maps = (MapsProbe *) probe;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", maps->pid);
	if (proc_file_read(path, maps->limit_bytes, &maps->text, NULL) != 0)
		maps->text = NULL;
}

static void
discard_maps(Probe *probe)
{
	free(((MapsProbe *) probe)->text);
	free((MapsProbe *) probe);
}

char *
remote_memory_maps(RemoteMemory *memory, size_t limit_bytes)
{
	MapsProbe *probe = memory->stuck ? NULL : calloc(1, sizeof(*probe));
	char *text;

	if (probe == NULL)
		return NULL;
	probe->probe = (Probe){ .run = run_maps, .discard = discard_maps, .subject.pid = memory->pid };
	probe->pid = memory->pid;
	probe->limit_bytes = limit_bytes;
	memory->stuck = patience_run(memory->patience, &probe->probe, WAIT_NS) != 0;
	if (memory->stuck)
		return NULL;
	text = probe->text;
	free(probe);
	return text;
}
