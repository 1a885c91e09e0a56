/*
 * worker_sandbox.h
 *		Gives up the rights of the worker process before it reads files that may be hostile.
 *
 *   1. It changes to user and group nobody if root started it.
 *   2. It enters an empty network namespace if the kernel allows that.
 *   3. It may open no file by name if the kernel has Landlock.
 *   4. It has no capability.
 *   5. It may make a few dozen system calls: on descriptors that it was sent and on its own memory.
 *      It can open nothing, so no path that a file names is followed: neither .gnu_debugaltlink
 *      nor .dwo nor .dwp.
 */
#ifndef COLLECTOR_WORKER_SANDBOX_H
#define COLLECTOR_WORKER_SANDBOX_H

#include <stdbool.h>

/*
 * Returns false if the worker must not continue. Logs if it could not stop being root: without
 * capabilities and without system calls that open files, little of root's power is left.
 */
bool worker_sandbox_enter(void);

#endif
