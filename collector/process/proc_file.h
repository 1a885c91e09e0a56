/*
 * proc_file.h
 *		Reads and parses files of one process under /proc.
 *
 * The kernel writes the text, but processes choose names in it, so every access is bounds-checked.
 * All functions return 0 or -errno; -ENOENT or -ESRCH if the process has exited.
 */
#ifndef COLLECTOR_PROC_FILE_H
#define COLLECTOR_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads a whole file into a NUL-terminated string that the caller frees. -EFBIG beyond limit_bytes.
 * length may be NULL.
 */
int proc_file_read(const char *path, size_t limit_bytes, char **text, size_t *length);

/* Like proc_file_read(), but from a descriptor, which stays open. */
int proc_file_read_from(int fd, size_t limit_bytes, char **text, size_t *length);

typedef struct ProcStat
{
	uint32_t parent_pid;
	uint64_t start_ticks; /* since boot, USER_HZ */
	uint64_t arg_start;	  /* mm->arg_start; 0 without the right to see it */
} ProcStat;

int proc_stat_parse(const char *text, ProcStat *stat);
int proc_stat_read(uint32_t pid, ProcStat *stat);

/* One line of /proc/PID/maps of executable memory. */
typedef struct ProcMapping
{
	uint64_t start;
	uint64_t end;
	uint64_t file_offset;
	dev_t device;
	ino_t inode; /* 0 if there is no file */
	/* path in the process's mount namespace without " (deleted)"; "" if none */
	const char *name;
	bool deleted;
} ProcMapping;

/*
 * Parses a line, without its newline, in place: mapping->name points into line. *executable is its
 * x bit. Returns 0 or -errno.
 */
int proc_maps_parse_line(char *line, ProcMapping *mapping, bool *executable);

/*
 * Queries an open maps file for the first executable mapping that ends after the address.
 * mapping->name points to name, which must have PATH_MAX bytes. -ENOENT if no mapping follows;
 * -ESRCH if the process has given up its memory; -ENOTTY before Linux 6.11.
 */
int proc_maps_query(int fd, uint64_t address, char *name, size_t name_bytes, ProcMapping *mapping);

/* Removes the kernel's suffix " (deleted)" from a path. Returns true if the path had it. */
bool proc_cut_deleted(char *name);

/*
 * Reads the target of /proc/PID/exe without " (deleted)"; *deleted is true if the target had this
 * suffix.
 */
int proc_exe_read(uint32_t pid, char *path, size_t size, bool *deleted);

#define PROC_ENVIRONMENT_BYTES ((size_t) 128 * 1024)

/*
 * Reads the initial environment of a process, as far as it was not overwritten: its complete
 * strings within PROC_ENVIRONMENT_BYTES, ended by an empty string. The caller frees the result.
 * Returns NULL if the environment cannot be read.
 */
char *proc_environment_read(uint32_t pid);

/*
 * Selects the variables with the given names from an environment. Both lists, and the result, are
 * strings ended by an empty string. Each value is cut to PROC_VALUE_BYTES. The caller frees the
 * result. NULL on out of memory.
 */
#define PROC_VALUE_BYTES 1024
char *proc_environment_filter(const char *variables, const char *names);

/*
 * Returns the resident memory of a process that is neither files nor shared memory; 0 if it cannot
 * be read.
 */
size_t proc_private_bytes(uint32_t pid);

#endif
