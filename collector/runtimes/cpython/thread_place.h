/*
 * thread_place.h
 *		The place of a thread's state in CPython, as a distance from the thread pointer.
 *
 * No layout of a libc or a build is assumed: words around the thread pointer are read, and the
 * right one leads to a state whose thread has exactly this pointer.
 */
#ifndef COLLECTOR_THREAD_PLACE_H
#define COLLECTOR_THREAD_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtimes/cpython/python_file.h"
#include "unwind/remote_memory.h"

/*
 * False if none was found: the thread never ran the interpreter, or the process has no memory to
 * be read. is_first: the thread is the process's first one, beside whose variables no stack lies.
 */
bool thread_place_find(RemoteMemory *memory, const PythonFile *file, uint64_t thread_pointer,
					   bool is_first, int32_t *offset);

/*
 * The distance of the variable from the thread pointer, by the code that reads it in 3.15 and
 * later, of x86-64 or AArch64. Returns false if the file has no such code.
 */
bool thread_place_of_code(const PythonFile *file, int32_t *offset);

#endif
