/*
 * file_probe.c
 *		Opens a file of a process and reads the bytes that were added since the last read.
 */
#include "jit/file_probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * The kernel sets file times to the time of its last tick. Ticks are 1 to 10 ms apart, and in a
 * virtual machine with 4 ms ticks file times were up to 8 ms late.
 */
#define CLOCK_LATE_NS INT64_C(25000000)

/* Restarts at the beginning of the file. */
static void
begin_file(FileProbe *probe)
{
	probe->rewritten = probe->offset > 0;
	probe->offset = 0;
	probe->size = 0;
	probe->tail_length = 0;
}

/*
 * Opens the file that is at the path if it is not the open one: the process may have restarted, or
 * written a new snapshot.
 */
static int
follow_file(FileProbe *probe)
{
	struct stat status;
	int fd = probe->open(probe->pid, &status);

	/* the process has exited or removed the file, so read on in the open one */
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
	begin_file(probe);
	return 0;
}

/* Returns true if the end of the part that was read before is unchanged. */
static bool
file_probe_is_as_before(const FileProbe *probe)
{
	char tail[FILE_PROBE_TAIL];
	ssize_t length;

	if (probe->tail_length == 0)
		return true;
	length =
		pread(probe->fd, tail, probe->tail_length, (off_t) (probe->offset - probe->tail_length));
	return length == (ssize_t) probe->tail_length &&
		   memcmp(tail, probe->tail, probe->tail_length) == 0;
}

/*
 * Returns the moment (CLOCK_MONOTONIC) by which the file had its present content; 0 if the file's
 * time is unusable.
 */
static uint64_t
written_by(const struct stat *status)
{
	int64_t now_ns = clock_ns(CLOCK_REALTIME);
	int64_t ago_ns;

	if (status->st_mtim.tv_sec < 0 || status->st_mtim.tv_sec > now_ns / NS_PER_S)
		return 0;
	ago_ns = now_ns - status->st_mtim.tv_sec * NS_PER_S - status->st_mtim.tv_nsec - CLOCK_LATE_NS;
	now_ns = clock_ns(CLOCK_MONOTONIC);
	return ago_ns <= 0 || ago_ns >= now_ns ? 0 : (uint64_t) (now_ns - ago_ns);
}

/*
 * Reads the next part. If the file has become shorter, or the end of the part that was read has
 * changed, the file was rewritten and is read from its beginning.
 */
static void
file_probe_read_file(FileProbe *probe)
{
	struct stat status;
	size_t bytes;
	ssize_t length;

	probe->length = 0;
	probe->rewritten = false;
	probe->more = false;
	probe->written_ns = 0;
	probe->error = 0;
	if (probe->fd < 0 || probe->look_for_another)
		probe->error = follow_file(probe);
	if (probe->error != 0)
		return;
	if (fstat(probe->fd, &status) != 0)
	{
		probe->error = -errno;
		return;
	}
	/* a writer truncates the file before it rewrites it, so keep the old content until then */
	if (status.st_size == 0)
		return;
	if ((uint64_t) status.st_size < probe->size || !file_probe_is_as_before(probe))
		begin_file(probe);
	probe->size = (uint64_t) status.st_size;
	/*
	 * do not read beyond the size that fstat() returned, because the file's time belongs to that
	 * size
	 */
	bytes = probe->size > probe->offset ? probe->size - probe->offset : 0;
	length = pread(probe->fd, probe->bytes, bytes < FILE_PROBE_BYTES ? bytes : FILE_PROBE_BYTES,
				   (off_t) probe->offset);
	if (length < 0)
	{
		probe->error = -errno;
		return;
	}
	probe->written_ns = written_by(&status);
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
run_file_probe(Probe *base)
{
	FileProbe *probe = (FileProbe *) base;
	int64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	file_probe_read_file(probe);
	probe->spent_ns = (uint64_t) (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns);
}

static void
discard_file_probe(Probe *probe)
{
	file_probe_free((FileProbe *) probe);
}

FileProbe *
file_probe_create(CodeFileOpen open, uint32_t pid)
{
	FileProbe *probe = calloc(1, sizeof(*probe));

	if (probe == NULL)
		return NULL;
	/* The probe's thread may outlive a timeout, so the probe frees itself then (discard). */
	probe->probe =
		(Probe){ .run = run_file_probe, .discard = discard_file_probe, .subject.pid = pid };
	probe->open = open;
	probe->pid = pid;
	probe->fd = -1;
	return probe;
}

void
file_probe_free(FileProbe *probe)
{
	if (probe == NULL)
		return;
	if (probe->fd >= 0)
		close(probe->fd);
	free(probe->bytes);
	free(probe);
}

void
file_probe_go_to(FileProbe *probe, uint64_t offset)
{
	probe->offset = offset;
	/* The bytes before the new offset are not the ones that tail holds. */
	probe->tail_length = 0;
}

int
file_probe_read(Prober *prober, FileProbe *probe, char *bytes, uint64_t wait_ns)
{
	int result;

	probe->bytes = bytes;
	/* For the limit of hanging calls per device; before the first open, the device is unknown. */
	probe->probe.subject.device = probe->fd >= 0 ? probe->device : 0;
	result = prober_run(prober, &probe->probe, wait_ns);
	/*
	 * The caller owns the buffer again; after a timeout the probe keeps it, because its thread
	 * writes to it.
	 */
	if (result == 0)
		probe->bytes = NULL;
	return result;
}
