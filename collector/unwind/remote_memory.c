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

#include "base/clock.h"
#include "process/proc_file.h"

/* limit of the time for which the calling thread, the walker, waits */
#define WAIT_NS UINT64_C(50000000)

typedef struct MemoryProbe
{
	Probe probe;
	uint32_t pid;
	RemotePieces pieces;
	size_t done;
	uint64_t spent_ns;
	uint8_t bytes[];
} MemoryProbe;

typedef struct MapsProbe
{
	Probe probe;
	uint32_t pid;
	size_t limit_bytes;
	char *text; /* NULL: the text was unreadable */
	uint64_t spent_ns;
} MapsProbe;

/* Returns the CPU time that this thread has taken since it had taken begun_ns. */
static uint64_t
spent_since(int64_t begun_ns)
{
	return (uint64_t) (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns);
}

/*
 * Reads the pieces with one call. It stops before the first piece with an unreadable page, and then
 * returns the number of bytes of the pieces before it; -1 if the first piece has one.
 */
static size_t
read_pieces(uint32_t pid, const RemotePieces *pieces, void *bytes)
{
	const struct iovec local = { bytes, pieces->count * pieces->piece_bytes };
	struct iovec remote[REMOTE_PIECES_MAX];
	ssize_t result;

	for (size_t i = 0; i < pieces->count; i++)
		remote[i] = (struct iovec){ (void *) (uintptr_t) (pieces->address + i * pieces->step),
									pieces->piece_bytes };
	result = process_vm_readv((pid_t) pid, &local, 1, remote, pieces->count, 0);
	return result > 0 ? (size_t) result : 0;
}

/* Runs in the prober's thread. */
static void
run_memory(Probe *probe)
{
	MemoryProbe *memory = (MemoryProbe *) probe;
	int64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	memory->done = read_pieces(memory->pid, &memory->pieces, memory->bytes);
	memory->spent_ns = spent_since(begun_ns);
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
	if (memory->patience == NULL)
		return read_pieces(memory->pid, pieces, bytes);
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
	memory->spent_ns += probe->spent_ns;
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
	uint64_t spent_ns;
	RemoteRange ranges[];
} GatherProbe;

/*
 * Reads ranges until one is unreadable, and marks those that were read. Returns the number of
 * ranges read. Nothing is readable at address 0, which callers give if there is no object, so that
 * needs no call.
 */
static size_t
read_ranges_from(uint32_t pid, RemoteRange *ranges, size_t range_count, uint8_t *bytes)
{
	struct iovec remote[REMOTE_PIECES_MAX];
	struct iovec local = { bytes, 0 };
	size_t count = 0;
	size_t done = 0;
	ssize_t result;

	for (; count < REMOTE_PIECES_MAX && count < range_count; count++)
	{
		const RemoteRange *range = &ranges[count];

		if (range->address == 0 && range->bytes != 0)
			break;
		remote[count] = (struct iovec){ (void *) (uintptr_t) range->address, range->bytes };
		local.iov_len += range->bytes;
	}
	if (count == 0)
		return 0;
	result = process_vm_readv((pid_t) pid, &local, 1, remote, count, 0);
	for (size_t i = 0; i < count; i++)
	{
		/*
		 * The kernel transfers whole ranges in order: the first one that the result does not cover
		 * is unreadable, and the ranges after it were not tried.
		 */
		if (result < 0 || (size_t) result < done + ranges[i].bytes)
			return i;
		done += ranges[i].bytes;
		ranges[i].had = true;
	}
	return count;
}

/* Reads all ranges; those after an unreadable one in a further call. */
static void
read_ranges(uint32_t pid, RemoteRange *ranges, size_t count, uint8_t *bytes)
{
	size_t at = 0;

	while (at < count)
	{
		size_t read = read_ranges_from(pid, &ranges[at], count - at, bytes);
		/*
		 * A call ends at its limit of REMOTE_PIECES_MAX ranges, at the last range, or at an
		 * unreadable range. The next call begins after the unreadable range, so one such range
		 * costs one call.
		 */
		size_t next = read < REMOTE_PIECES_MAX ? at + read + 1 : at + read;

		for (; at < next && at < count; at++)
		{
			if (!ranges[at].had)
				memset(bytes, 0, ranges[at].bytes);
			bytes += ranges[at].bytes;
		}
	}
}

/* Runs in the prober's thread. */
static void
run_gather(Probe *probe)
{
	GatherProbe *gather = (GatherProbe *) probe;
	int64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	read_ranges(gather->pid, gather->ranges, gather->count, gather->bytes);
	gather->spent_ns = spent_since(begun_ns);
}

static void
discard_gather(Probe *probe)
{
	free(((GatherProbe *) probe)->bytes);
	free((GatherProbe *) probe);
}

/* Like read_ranges(), in a probe. */
static void
probe_ranges(RemoteMemory *memory, RemoteRange *ranges, size_t count, void *bytes)
{
	GatherProbe *probe = malloc(sizeof(*probe) + count * sizeof(*ranges));

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
	probe->bytes = malloc(probe->length);
	if (probe->bytes == NULL)
	{
		free(probe);
		return;
	}
	memory->stuck = patience_run(memory->patience, &probe->probe, WAIT_NS) != 0;
	if (memory->stuck)
		return;
	memory->spent_ns += probe->spent_ns;
	memcpy(ranges, probe->ranges, count * sizeof(*ranges));
	memcpy(bytes, probe->bytes, probe->length);
	discard_gather(&probe->probe);
}

void
remote_memory_gather(RemoteMemory *memory, RemoteRange *ranges, size_t count, void *bytes)
{
	for (size_t i = 0; i < count; i++)
		ranges[i].had = false;
	if (memory->stuck || count == 0)
		return;
	if (memory->patience == NULL)
		read_ranges(memory->pid, ranges, count, bytes);
	else
		probe_ranges(memory, ranges, count, bytes);
}

static char *
read_maps(uint32_t pid, size_t limit_bytes)
{
	char path[64];
	char *text;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	return proc_file_read(path, limit_bytes, &text, NULL) == 0 ? text : NULL;
}

static void
run_maps(Probe *probe)
{
	MapsProbe *maps = (MapsProbe *) probe;
	int64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	maps->text = read_maps(maps->pid, maps->limit_bytes);
	maps->spent_ns = spent_since(begun_ns);
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
	MapsProbe *probe;
	char *text;

	if (memory->stuck)
		return NULL;
	if (memory->patience == NULL)
		return read_maps(memory->pid, limit_bytes);
	probe = calloc(1, sizeof(*probe));
	if (probe == NULL)
		return NULL;
	probe->probe = (Probe){ .run = run_maps, .discard = discard_maps, .subject.pid = memory->pid };
	probe->pid = memory->pid;
	probe->limit_bytes = limit_bytes;
	memory->stuck = patience_run(memory->patience, &probe->probe, WAIT_NS) != 0;
	if (memory->stuck)
		return NULL;
	text = probe->text;
	memory->spent_ns += probe->spent_ns;
	free(probe);
	return text;
}
