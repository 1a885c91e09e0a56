/*
 * child.h
 *		Starts and ends other programs of this package as child processes.
 */
#ifndef COLLECTOR_CHILD_H
#define COLLECTOR_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Writes the path of a program, which is relative to this executable's directory; returns false if
 * that directory is unknown or the path is longer than size.
 */
bool child_path(const char *program, char *path, size_t size);

/* A program to start. The lists end with NULL. */
typedef struct ChildProgram
{
	const char *path;
	char *const *arguments;
	char *const *environment;
} ChildProgram;

/*
 * Reserves the low descriptor numbers. Call it before any file of another user is opened: otherwise
 * the first start of a child reserves them, and that child inherits the low descriptors that are
 * already open. Returns 0 or -errno.
 */
int child_reserve(void);

/*
 * Starts a program whose standard descriptor "number" is a copy of our descriptor "given". It
 * inherits our other standard descriptors and no further descriptor; all its signals are at their
 * defaults. Returns 0 or -errno.
 */
int child_start_with(const ChildProgram *program, int given, int number, pid_t *pid);

/*
 * Like child_start_with(), but makes a pipe the child's standard output and stores its read end,
 * non-blocking and owned by the caller, in *output.
 */
int child_start(const ChildProgram *program, pid_t *pid, int *output);

/*
 * Kills the child and waits for its end, for up to REAP_TRIES * REAP_PAUSE_NS. Returns false if the
 * child still exists after that time.
 */
bool child_end(pid_t pid, int *status);

/* Frees the memory of a killed child that has not ended. Does nothing before Linux 5.15. */
void child_release_memory(pid_t pid);

/*
 * Changes from root to nobody. In a user namespace that does not map nobody, stays root, which has
 * no rights outside of that namespace. Returns 0 or -errno.
 */
int child_change_user(void);

/*
 * Drops all capabilities and, if this process runs as root, changes to nobody; makes the kernel
 * kill the process when the thread that started it ends. Returns 0 or -errno.
 */
int child_become_nobody(void);

#endif
