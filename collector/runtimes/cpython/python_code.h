/*
 * python_code.h
 *		Reads CPython's code objects from the memory of the process that runs them.
 */
#ifndef COLLECTOR_PYTHON_CODE_H
#define COLLECTOR_PYTHON_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "runtimes/common/runtime_code.h"
#include "runtimes/cpython/python_layout.h"
#include "unwind/remote_memory.h"

#define PYTHON_LINES_BYTES (256 * 1024) /* a longer table counts as absent */

/*
 * Reads objects, RUNTIME_CODES_MAX at most. type: address of the type of code objects; 0: unknown.
 * Objects that have changed since the sample, or are unreadable, have no name. Strings are UTF-8;
 * the caller cuts them to CODE_TEXT_BYTES.
 */
void python_codes_read(RemoteMemory *memory, const PythonLayout *layout, uint64_t type,
					   CodeWanted *wanted, size_t count);

#endif
