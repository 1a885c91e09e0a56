/*
 * remote_memory.c
 *		Probes that read another process's memory. What they read is theirs until they are done.
 */
#include "unwind/remote_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "process/proc_file.h"

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
	char *text; /* NULL: it cannot be read */
} MapsProbe;

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
	memory->stuck = patience_run(memory->patience, &probe->probe, WAIT_NS) != 0;
	if (memory->stuck)
		return 0;
	done = probe->done;
	memcpy(bytes, probe->bytes, done);
	free(probe);
	return done;
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
