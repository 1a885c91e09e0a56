/*
 * thread_place.h
 *		Finds the word that leads to the state of a thread in CPython.
 *
 * The words of all places that a C library may use are read. The right one leads to a state whose
 * thread has exactly this thread pointer.
 */
#ifndef COLLECTOR_THREAD_PLACE_H
#define COLLECTOR_THREAD_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtimes/common/beside_thread.h"
#include "runtimes/cpython/python_file.h"
#include "unwind/remote_memory.h"

/*
 * Returns false if no place was found: the thread never ran the interpreter, or the process's
 * memory is unreadable. is_first: the thread is the process's first one, whose variables have no
 * stack below them.
 */
bool thread_place_find(RemoteMemory *memory, const PythonFile *file, uint64_t thread_pointer,
					   bool is_first, ThreadPlace *place);

/*
 * Finds the distance of the variable from the thread pointer in the code that reads it in 3.15 and
 * later, of x86-64 or AArch64. Returns false if the file has no such code.
 */
bool thread_place_of_code(const PythonFile *file, int32_t *offset);

#endif
