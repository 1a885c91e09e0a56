/*
 * file_probe.h
 *		Reads on in a file by which a process tells of its code, with a deadline: the file is the
 *		process's, and may be on a file system of its own making.
 */
#ifndef COLLECTOR_FILE_PROBE_H
#define COLLECTOR_FILE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "jit/code_files.h"
#include "process/prober.h"

#define FILE_PROBE_BYTES (256 * 1024) /* that are read at once */

/* The end of what was read before: whether it stands there still tells a map that was rewritten. */
#define FILE_PROBE_TAIL 64

typedef struct FileProbe
{
	Probe probe;
	CodeFileOpen open;
	uint32_t pid;
	int fd; /* of the file as far as it is known; -1: to be opened. The probe's while it runs */
	dev_t device;
	ino_t inode;
	uint64_t offset; /* up to which it was read, or where reading is to begin */
	uint64_t size;	 /* that it had; one that has become shorter is written anew */
	char tail[FILE_PROBE_TAIL];
	size_t tail_length;
	bool look_for_another; /* is there another file by now? */
	/* what comes out */
	int error;			 /* -errno: there is no file, or none that counts */
	bool rewritten;		 /* all that was read is void; what follows begins the file */
	bool more;			 /* there is more to read at once */
	uint64_t written_ns; /* CLOCK_MONOTONIC by when what was read stood there; 0: nobody knows */
	uint64_t spent_ns;	 /* CPU time that it took: to find the file may be more than to read it */
	size_t length;
	char
		*bytes; /* room for FILE_PROBE_BYTES, lent for a reading; the probe's where it comes late */
} FileProbe;

/* A probe of the process's file, which was never read. NULL without memory. */
FileProbe *file_probe_create(CodeFileOpen open, uint32_t pid);
void file_probe_free(FileProbe *probe); /* accepts NULL */

/* The next reading is to begin there; what lies between need not be as it was. */
void file_probe_go_to(FileProbe *probe, uint64_t offset);

/*
 * Reads on into bytes. As prober_run: but for 0 neither probe nor bytes are the caller's any more.
 */
int file_probe_read(Prober *prober, FileProbe *probe, char *bytes, uint64_t wait_ns);

#endif
