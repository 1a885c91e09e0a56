/*
 * v8_file.h
 *		Recognizes files that contain V8, and finds the layout of its objects.
 *
 * V8 is recognized by the constants for debuggers among the dynamic symbols. Node's own builds and
 * distributions' libnode have them.
 */
#ifndef COLLECTOR_V8_FILE_H
#define COLLECTOR_V8_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "files/elf_headers.h"
#include "runtimes/v8/v8_layout.h"

typedef struct V8File
{
	V8Layout layout;
	/* ELF virtual address of the sizes of bytecodes, three tables of one byte each; 0: unknown */
	uint64_t bytecode_sizes;
	uint32_t bytecode_count;
} V8File;

/* Returns false if the file does not contain V8. *is_known: its layout is supported. */
bool v8_file_read(const ElfSource *source, V8File *file, bool *is_known);

#endif
