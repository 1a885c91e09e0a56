/*
 * file_probe.h
 *		Reads on in a process's file with a deadline, because the file may be on a file system that
 *		the process serves.
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

/* End of the part that was read before; it shows whether a map was rewritten. */
#define FILE_PROBE_TAIL 64

typedef struct FileProbe
{
	Probe probe;
	CodeFileOpen open;
	uint32_t pid;
	int fd; /* -1: to be opened. Belongs to the probe while it runs */
	dev_t device;
	ino_t inode;
	uint64_t offset; /* end of the part that was read, and start of the next read */
	uint64_t size;	 /* size at the last read; a file that has become shorter was rewritten */
	char tail[FILE_PROBE_TAIL];
	size_t tail_length;
	bool look_for_another; /* check whether the path leads to another file */
	/* results */
	int error;		/* 0 or -errno; -ENOENT or -EPERM if no file can be trusted */
	bool rewritten; /* everything read before is void; the bytes are from the beginning */
	bool more;		/* there is more to read */
	/* the bytes existed in the file at this moment (CLOCK_MONOTONIC); 0 if not known */
	uint64_t written_ns;
	uint64_t spent_ns; /* CPU time used; finding the file may take more than reading it */
	size_t length;
	/* buffer of FILE_PROBE_BYTES; the caller owns it, but after a timeout the probe does */
	char *bytes;
} FileProbe;

/* Makes a probe for a file of the process, to be read from its beginning. NULL on out of memory. */
FileProbe *file_probe_create(CodeFileOpen open, uint32_t pid);
void file_probe_free(FileProbe *probe); /* accepts NULL */

/* Sets the offset of the next read, without comparing the tail. */
void file_probe_go_to(FileProbe *probe, uint64_t offset);

/*
 * Reads further bytes. Returns like prober_run(): unless it returns 0, probe and bytes no longer
 * belong to the caller.
 */
int file_probe_read(Prober *prober, FileProbe *probe, char *bytes, uint64_t wait_ns);

#endif
