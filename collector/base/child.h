/*
 * child.h
 *		A program of ours that is started beside the one that runs, and tells by a pipe.
 */
#ifndef COLLECTOR_CHILD_H
#define COLLECTOR_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The path of a program in our own directory; false where it is not known, or too long. */
bool child_path(const char *program, char *path, size_t size);

/*
 * Starts it with a pipe as standard output, of which *output is the other end, not to be waited
 * for; standard error is ours, signals are as at the beginning. 0 or -errno.
 */
int child_start(const char *path, char *const *arguments, char *const *environment, pid_t *pid,
				int *output);

/* Kills it, and waits for its end a moment. False: the kernel holds it still. */
bool child_end(pid_t pid, int *status);

/*
 * Root becomes nobody; but in a user namespace that does not map nobody, where root is none outside
 * of it. 0 or -errno.
 */
int child_change_user(void);

/* No more than nobody's rights from now on, and an end with the thread that started us. */
int child_become_nobody(void);

#endif
