/*
 * python_file.h
 *		Recognizes files that contain CPython: its version, and the addresses that the agent needs.
 *
 * Programs that embed CPython have names of their own. From 3.10 on CPython's global state is a
 * section of its own in whatever program it is linked into. Up to 3.9 the file must be called
 * "python3.N" or "libpython3.N", because nothing else in it names the version.
 */
#ifndef COLLECTOR_PYTHON_FILE_H
#define COLLECTOR_PYTHON_FILE_H

#include <stdbool.h>

#include "files/elf_headers.h"
#include "runtimes/common/loop_code.h"
#include "runtimes/cpython/python_layout.h"

#define PYTHON_LOOPS 2 /* the loop, and its rarely executed code */

/* Facts about a Python interpreter, from its executable file or library. */
typedef struct PythonFile
{
	bool is_python;		 /* the file contains CPython's code and state */
	PythonLayout layout; /* minor 0: unknown version */
	uint64_t code_type;	 /* ELF virtual address of the type of code objects; 0: unknown */
	/* ELF virtual address of the function that reads the thread's state; 0: unknown */
	uint64_t state_code;
	uint8_t state_bytes[40];	  /* its first instructions */
	LoopCode loops[PYTHON_LOOPS]; /* only up to 3.10 */
} PythonFile;

/* Reads the facts from a file. name: its file name, with or without the directory. */
void python_file_read(const ElfSource *source, const char *name, PythonFile *file);

#endif
