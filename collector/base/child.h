/*
 * child.h
 *		A program of ours that is started beside the one that runs.
 */
#ifndef COLLECTOR_CHILD_H
#define COLLECTOR_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The path of a program in our own directory; false where it is not known, or too long. */
bool child_path(const char *program, char *path, size_t size);

/* Each list ends with NULL. */
typedef struct ChildProgram
{
	const char *path;
	char *const *arguments;
	char *const *environment;
} ChildProgram;

/*
 * Reserves the low descriptors. Called before files of others are opened; otherwise the first start
 * of a child does it, which then has copies of low descriptors that were open already. 0 or -errno.
 */
int child_reserve(void);

/*
 * Starts a program that has a descriptor of ours under the number of a standard one, the other
 * standard ones of ours, and never another one. Signals are as at the beginning. 0 or -errno.
 */
int child_start_with(const ChildProgram *program, int given, int number, pid_t *pid);

/*
 * Like child_start_with(), but gives it a pipe as standard output, of which *output is the other
 * end, not to be waited for.
 */
int child_start(const ChildProgram *program, pid_t *pid, int *output);

/* Kills it, and waits for its end a moment. False: the kernel holds it still. */
bool child_end(pid_t pid, int *status);

/*
 * Frees the memory of a child that was killed, but is held by the kernel still. Without effect on
 * kernels before 5.15.
 */
void child_release_memory(pid_t pid);

/*
 * Root becomes nobody; but in a user namespace that does not map nobody, where root is none outside
 * of it. 0 or -errno.
 */
int child_change_user(void);

/* No more than nobody's rights from now on, and an end with the thread that started us. */
int child_become_nobody(void);

#endif
