/*
 * python_layout.h
 *		Offsets in CPython's structures, by version: 3.6 to 3.15 on 64-bit machines.
 *
 * From 3.13 on _PyRuntime begins with the build's own table of offsets, whose order each version
 * extends. Before 3.13 the offsets are those of the version's headers. In builds without the
 * interpreter's lock (free-threaded) objects are longer, and from 3.14 on threads execute copies of
 * bytecode.
 */
#ifndef COLLECTOR_PYTHON_LAYOUT_H
#define COLLECTOR_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime_types.h"

/* The first version whose builds have a table of offsets. */
#define PYTHON_MINOR_OFFSETS 13

/* A build's table of offsets, cut to the words that are read. The first word is a magic number. */
#define PYTHON_OFFSETS_WORDS 94
#define PYTHON_OFFSETS_MAGIC "xdebugpy"

/* Limit of the bytes that are read of a code object. */
#define PYTHON_CODE_BYTES 160

typedef struct PythonLayout
{
	uint8_t minor; /* N of 3.N; 0: unknown */
	uint16_t state_thread_id;
	/* offsets in a code object; 0 if the version has no such field */
	uint16_t code_file;
	uint16_t code_name;
	uint16_t code_qualified;
	uint16_t code_first_line;
	uint16_t code_lines;
	uint16_t code_instructions; /* bytecode, from 3.11 on */
	uint16_t code_bytes;		/* bytes to read, up to the end of the lines field */
	/* offsets in an object, which is longer in a build without the interpreter's lock */
	uint16_t object_type;
	uint16_t object_length; /* length of a string, or of a bytes object */
	uint16_t bytes_data;
	/* offsets in a string */
	uint16_t string_state;
	uint8_t string_kind;		   /* bit of the state at which the width of characters begins */
	uint16_t string_ascii;		   /* place of the characters if all are ASCII */
	uint16_t string_compact;	   /* place of the characters otherwise */
	uint8_t marks;				   /* enum pfs_runtime_marks */
	struct pfs_python_layout walk; /* the part that the kernel's walk needs */
} PythonLayout;

/*
 * Finds the layout of a version whose _PyRuntime has no table of offsets; false if it is not known.
 */
bool python_layout_of_version(uint32_t minor, PythonLayout *layout);

/*
 * Reads the layout from a build's own table. Returns false if the table is of another version or
 * has impossible values.
 */
bool python_layout_of_offsets(uint32_t minor, const uint64_t words[PYTHON_OFFSETS_WORDS],
							  PythonLayout *layout);

/*
 * Computes the check of a code object (bpf/runtime_types.h) from its bytes and the hash of its
 * name.
 */
uint64_t python_layout_check(const PythonLayout *layout, const uint8_t *code, uint64_t name_hash);

#endif
