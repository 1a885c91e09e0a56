/*
 * roots.h
 *		Functions at which a user stack begins, which prove that a stack is complete.
 */
#ifndef COLLECTOR_ROOTS_H
#define COLLECTOR_ROOTS_H

typedef enum RootKind
{
	ROOT_NONE,
	ROOT_C,		  /* of a C library; a program may have its own function with that name */
	ROOT_RUNTIME, /* of a language's runtime; no other function has the name */
} RootKind;

/*
 * Returns the kind of root for a function: an entry point of a process, a thread or a goroutine, or
 * a function on its way to the program's code. Returns ROOT_NONE for others.
 */
RootKind root_function(const char *system_name);

#endif
