/*
 * map_probe.c
 *		Opens a perf map inside of its process's root, and reads what has come since.
 */
#include "jit/map_probe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/open_file.h"
#include "process/proc_file.h"

#define STATUS_LIMIT_BYTES 16384

/* The last number of a line of /proc/PID/status, or its first one. */
static bool
status_number(const char *text, const char *key, bool last, uint32_t *number)
{
	const char *line = strstr(text, key);
	bool found = false;

	if (line == NULL)
		return false;
	line += strlen(key);
	while (*line == '\t' || *line == ' ')
	{
		char *end;
		unsigned long parsed = strtoul(line, &end, 10);

		if (end == line)
			break;
		*number = (uint32_t) parsed;
		found = true;
		if (!last)
			break;
		line = end;
	}
	return found;
}

/* Its number in its own namespace, and whose it is. */
static int
read_status(uint32_t pid, uint32_t *own_pid, uint32_t *user)
{
	char path[64];
	char *text;
	int result;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	result = proc_file_read(path, STATUS_LIMIT_BYTES, &text, NULL);
	if (result != 0)
		return result;
	if (!status_number(text, "\nNSpid:", true, own_pid) ||
		!status_number(text, "\nUid:", false, user))
		result = -EINVAL;
	free(text);
	return result;
}

/* The map as it is now. A descriptor or -errno. */
static int
open_map(uint32_t pid, struct stat *status)
{
	uint32_t own_pid;
	uint32_t user;
	char path[64];
	int result = read_status(pid, &own_pid, &user);
	int root;
	int fd;

	if (result != 0)
		return result;
	root = open_root(pid);
	if (root < 0)
		return root;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", own_pid);
	fd = open_file_inside(root, path, status);
	close(root);
	if (fd < 0 || status->st_uid == user || status->st_uid == 0)
		return fd;
	close(fd);
	return -EPERM;
}

/* From its beginning on. */
static void
begin_map(MapProbe *probe)
{
	probe->rewritten = probe->offset > 0;
	probe->offset = 0;
	probe->tail_length = 0;
}

/* There may be another file by now: a process that was started anew, or a snapshot. */
static int
follow_name(MapProbe *probe)
{
	struct stat status;
	int fd = open_map(probe->pid, &status);

	/* the process has ended, or removed it: what is open still counts */
	if (fd < 0)
		return probe->fd >= 0 ? 0 : fd;
	if (probe->fd >= 0 && status.st_dev == probe->device && status.st_ino == probe->inode)
	{
		close(fd);
		return 0;
	}
	if (probe->fd >= 0)
		close(probe->fd);
	probe->fd = fd;
	probe->device = status.st_dev;
	probe->inode = status.st_ino;
	begin_map(probe);
	return 0;
}

/* Does what was read stand there still? */
static bool
is_as_before(const MapProbe *probe)
{
	char tail[MAP_PROBE_TAIL];
	ssize_t length;

	if (probe->tail_length == 0)
		return true;
	length =
		pread(probe->fd, tail, probe->tail_length, (off_t) (probe->offset - probe->tail_length));
	return length == (ssize_t) probe->tail_length &&
		   memcmp(tail, probe->tail, probe->tail_length) == 0;
}

static void
run_map_probe(Probe *base)
{
	MapProbe *probe = (MapProbe *) base;
	struct stat status;
	ssize_t length;

	probe->length = 0;
	probe->rewritten = false;
	probe->more = false;
	probe->error = 0;
	if (probe->fd < 0 || probe->look_for_another)
		probe->error = follow_name(probe);
	if (probe->error != 0)
		return;
	if (fstat(probe->fd, &status) != 0)
	{
		probe->error = -errno;
		return;
	}
	/* who writes it anew empties it first: until there is something, the old one holds */
	if (status.st_size == 0)
		return;
	if ((uint64_t) status.st_size < probe->offset || !is_as_before(probe))
		begin_map(probe);
	length = pread(probe->fd, probe->bytes, MAP_PROBE_BYTES, (off_t) probe->offset);
	if (length < 0)
	{
		probe->error = -errno;
		return;
	}
	probe->length = (size_t) length;
	probe->offset += (uint64_t) length;
	probe->more = (uint64_t) status.st_size > probe->offset;
	if (length > 0)
	{
		probe->tail_length =
			(size_t) length < sizeof(probe->tail) ? (size_t) length : sizeof(probe->tail);
		memcpy(probe->tail, probe->bytes + length - probe->tail_length, probe->tail_length);
	}
}

static void
discard_map_probe(Probe *probe)
{
	map_probe_free((MapProbe *) probe);
}

MapProbe *
map_probe_create(uint32_t pid)
{
	MapProbe *probe = calloc(1, sizeof(*probe));

	if (probe == NULL)
		return NULL;
	probe->probe = (Probe){ .run = run_map_probe, .discard = discard_map_probe };
	probe->pid = pid;
	probe->fd = -1;
	return probe;
}

void
map_probe_free(MapProbe *probe)
{
	if (probe == NULL)
		return;
	if (probe->fd >= 0)
		close(probe->fd);
	free(probe->bytes);
	free(probe);
}

int
map_probe_read(Prober *prober, MapProbe *probe, char *bytes, uint64_t wait_ns)
{
	int result;

	probe->bytes = bytes;
	result = prober_run(prober, &probe->probe, wait_ns);
	if (result == 0)
		probe->bytes = NULL;
	return result;
}
