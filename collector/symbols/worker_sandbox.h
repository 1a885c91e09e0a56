/*
 * worker_sandbox.h
 *		What the worker process may do from the moment on in which it reads foreign bytes.
 *
 * 1. It is nobody, where root started it.
 * 2. It has a network of its own, which is empty, where the kernel lets it.
 * 3. It may name no file, where the kernel has Landlock.
 * 4. It has no capability.
 * 5. It may make a few dozen system calls: those on descriptors that it was sent, and on its own
 *    memory. It can open nothing, so libdw follows no path that a file names: neither
 *    .gnu_debugaltlink nor .dwo nor .dwp.
 */
#ifndef COLLECTOR_WORKER_SANDBOX_H
#define COLLECTOR_WORKER_SANDBOX_H

#include <stdbool.h>

/*
 * False where it may not go on. What it could not give up of root is logged: without capabilities
 * and without system calls that name files little is left of it.
 */
bool worker_sandbox_enter(void);

#endif
