/*
 * python_code.h
 *		CPython's code objects, out of the memory of the process that runs them.
 *
 * An object is read a moment after it was sampled. By then it may be gone, and another one in its
 * place: it counts only if its check is that of the sample, before and after its strings are read.
 */
#ifndef COLLECTOR_PYTHON_CODE_H
#define COLLECTOR_PYTHON_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "runtimes/python_layout.h"
#include "unwind/remote_memory.h"

#define PYTHON_CODES_MAX   64			/* that are read together */
#define PYTHON_LINES_BYTES (256 * 1024) /* a longer table counts as absent */

/* What code is called, and its table of lines. */
typedef struct PythonCode
{
	char *name; /* NULL: it is not known */
	char *file;
	int32_t first_line;
	size_t lines_bytes;
	uint8_t *lines; /* NULL: it has none */
} PythonCode;

void python_code_fini(PythonCode *code);

typedef struct PythonCodeWanted
{
	uint64_t address;
	uint64_t check;	 /* PFS_PYTHON_CHECK */
	PythonCode code; /* out */
} PythonCodeWanted;

/*
 * Reads objects, PYTHON_CODES_MAX at most. type: address of the type of code objects, 0: not known.
 * Those that are not what was sampled, or not to be read, have no name. Strings are UTF-8, and cut
 * to CODE_TEXT_BYTES by who keeps them.
 */
void python_codes_read(RemoteMemory *memory, const PythonLayout *layout, uint64_t type,
					   PythonCodeWanted *wanted, size_t count);

#endif
