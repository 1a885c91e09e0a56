/*
 * roots.h
 *		Functions at which user stacks begin. A stack that ends in one of them is complete.
 */
#ifndef COLLECTOR_ROOTS_H
#define COLLECTOR_ROOTS_H

typedef enum RootKind
{
	ROOT_NONE,
	/* a function of a C library; a program may have another function with this name */
	ROOT_C,
	ROOT_RUNTIME, /* a function of a language's runtime; no other function has this name */
} RootKind;

/*
 * Returns the kind of root for a function: an entry point of a process, a thread or a goroutine, or
 * a function on its way to the program's code. Returns ROOT_NONE for others.
 */
RootKind root_function(const char *system_name);

#endif
