/*
 * file_probe.h
 *		Reads what was added to a file of a process, with a deadline, because the file may be on a
 *		file system that the process serves.
 */
#ifndef COLLECTOR_FILE_PROBE_H
#define COLLECTOR_FILE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "jit/code_files.h"
#include "process/prober.h"

#define FILE_PROBE_BYTES (256 * 1024) /* maximum length of one read */

/* Length of the end of the part that was read before. If it has changed, the file was rewritten. */
#define FILE_PROBE_TAIL 64

typedef struct FileProbe
{
	Probe probe;
	CodeFileOpen open;
	uint32_t pid;
	int fd; /* -1: the file must be opened; only the probe's thread uses it while the probe runs */
	dev_t device;
	ino_t inode;
	uint64_t offset; /* end of the part that was read, and start of the next read */
	uint64_t size;	 /* size at the last read; if the file has become shorter, it was rewritten */
	char tail[FILE_PROBE_TAIL];
	size_t tail_length;
	bool look_for_another; /* check whether another file is at the path now */
	/* The fields below are results of a read. */
	int error; /* 0 or -errno; -ENOENT or -EPERM if no file can be trusted */
	/* the file was rewritten: bytes are from its beginning, and everything read before is void */
	bool rewritten;
	bool more; /* the file has more bytes to read */
	/* The bytes were in the file by this moment (CLOCK_MONOTONIC); 0: not known. */
	uint64_t written_ns;
	uint64_t spent_ns; /* CPU time of the read; finding the file may take more of it than reading */
	size_t length;
	/* Buffer of FILE_PROBE_BYTES. The caller owns it; after a timeout, the probe does. */
	char *bytes;
} FileProbe;

/*
 * Makes a probe that reads a file of the process from its beginning. Returns NULL on out of memory.
 */
FileProbe *file_probe_create(CodeFileOpen open, uint32_t pid);
void file_probe_free(FileProbe *probe); /* accepts NULL */

/* Sets the offset of the next read, without comparing the tail. */
void file_probe_go_to(FileProbe *probe, uint64_t offset);

/*
 * Reads further bytes. Returns like prober_run(): if the result is not 0, probe and bytes belong to
 * the prober.
 */
int file_probe_read(Prober *prober, FileProbe *probe, char *bytes, uint64_t wait_ns);

#endif
