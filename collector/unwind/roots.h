/*
 * roots.h
 *		Functions at which a user stack begins: what tells a whole stack from a broken one.
 */
#ifndef COLLECTOR_ROOTS_H
#define COLLECTOR_ROOTS_H

typedef enum RootKind
{
	ROOT_NONE,
	ROOT_C,		  /* of a C library; a program may have a function of its own by that name */
	ROOT_RUNTIME, /* of a language's runtime, which nobody else has */
} RootKind;

/*
 * Whether anybody calls this function: the entry point of a process, a thread or a goroutine, or
 * what it runs through.
 */
RootKind root_function(const char *system_name);

#endif
