/*
 * code_pages.h
 *		Keeps pages of one process that describe generated code, for a moment.
 *
 * A late walk reads such pages one by one, each with a deadline, which costs two context switches.
 * Waiting threads of a process mostly have equal frames, so they need the same pages.
 */
#ifndef COLLECTOR_CODE_PAGES_H
#define COLLECTOR_CODE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "process/exec_image.h"
#include "unwind/remote_memory.h"

typedef struct CodePages CodePages;

/* Makes an empty cache of code pages. Returns NULL if out of memory. */
CodePages *code_pages_create(void);
void code_pages_free(CodePages *pages); /* accepts NULL */

/* Begins a walk in a process. Drops pages of another process, and old ones. */
void code_pages_begin(CodePages *pages, const ExecImage *process, uint64_t now_ns);

/* Copies bytes at an address. Returns 0, or non-zero if they cannot be read. */
int code_pages_read(CodePages *pages, RemoteMemory *memory, uint64_t address, void *bytes,
					size_t count);

#endif
