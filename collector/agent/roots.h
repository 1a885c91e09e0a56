/*
 * roots.h
 *		Functions at which a user stack begins: what tells a whole stack from a broken one.
 */
#ifndef COLLECTOR_ROOTS_H
#define COLLECTOR_ROOTS_H

#include <stdbool.h>

/*
 * True where nobody calls this function: the entry point of a process, a thread or a goroutine, or
 * what it runs through.
 */
bool root_function(const char *system_name);

#endif
