/*
 * proc_file.h
 *		What the kernel says about one process under /proc, read and parsed.
 *
 * Text comes from the kernel, but names in it come from processes: everything is bounds-checked.
 * All functions return 0 or -errno; a process that has ended gives -ENOENT or -ESRCH.
 */
#ifndef COLLECTOR_PROC_FILE_H
#define COLLECTOR_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The whole file as a string of its own, which the caller frees. -EFBIG beyond limit_bytes.
 * length may be NULL.
 */
int proc_file_read(const char *path, size_t limit_bytes, char **text, size_t *length);

/* The same from a descriptor, which stays open. */
int proc_file_read_from(int fd, size_t limit_bytes, char **text, size_t *length);

typedef struct ProcStat
{
	uint64_t start_ticks; /* since boot, USER_HZ */
	uint64_t arg_start;	  /* mm->arg_start; 0 without the right to see it */
} ProcStat;

int proc_stat_parse(const char *text, ProcStat *stat);
int proc_stat_read(uint32_t pid, ProcStat *stat);

/* One executable line of /proc/PID/maps. */
typedef struct ProcMapping
{
	uint64_t start;
	uint64_t end;
	uint64_t file_offset;
	dev_t device;
	ino_t inode; /* 0: no file behind it */
	/* as the process's mount namespace names it, without " (deleted)"; "" for none */
	const char *name;
	bool deleted;
} ProcMapping;

/*
 * Parses one line without its newline, in place: mapping->name points into line. *executable tells
 * its x bit.
 */
int proc_maps_parse_line(char *line, ProcMapping *mapping, bool *executable);

/*
 * Asks an open maps file for the first executable mapping that ends behind the address.
 * mapping->name points into name, which has PATH_MAX bytes. -ENOENT: there is none; -ESRCH: the
 * memory is gone. Kernels before 6.11 have no such question: -ENOTTY.
 */
int proc_maps_query(int fd, uint64_t address, char *name, size_t name_bytes, ProcMapping *mapping);

/* Cuts the kernel's " (deleted)" off a path; true where it was there. */
bool proc_cut_deleted(char *name);

/* Target of /proc/PID/exe without " (deleted)"; *deleted tells whether that was there. */
int proc_exe_read(uint32_t pid, char *path, size_t size, bool *deleted);

#define PROC_ENVIRONMENT_BYTES ((size_t) 128 * 1024)

/*
 * The variables that a process began with, and has where they were: a string each, then an empty
 * one; of more than PROC_ENVIRONMENT_BYTES those that are whole within. The caller frees it. NULL:
 * it cannot be read.
 */
char *proc_environment_read(uint32_t pid);

/*
 * Those of these names (a string each, then an empty one) that are among variables, in the same
 * form, as "NAME=value"; of a value the first PROC_VALUE_BYTES. The caller frees it. NULL without
 * memory.
 */
#define PROC_VALUE_BYTES 1024
char *proc_environment_filter(const char *variables, const char *names);

/*
 * What a process has in memory for itself: neither files nor what it shares. 0 where that cannot be
 * read.
 */
size_t proc_private_bytes(uint32_t pid);

#endif
