/*
 * start_code.h
 *		Unwind rules of the code at the start and end of every program and library: parts of the C
 *		library's and the compiler's start files, which have no CFI.
 *
 * These are .init and .fini, and the functions that run before the first constructor and after the
 * last destructor. They touch pages for the first time, or pages that a child process must copy, so
 * starting and ending programs are often sampled in them.
 */
#ifndef COLLECTOR_START_CODE_H
#define COLLECTOR_START_CODE_H

#include "unwind/cfi/cfi_program.h"

/* Limit of the length of a function in start files. */
#define START_CODE_BYTES 96

/*
 * Returns the length of the function at the start of the section if all its instructions are those
 * of x86-64's start files; otherwise 0. *callee is the function of the same kind that it calls or
 * jumps to, 0 if none.
 */
size_t start_code_length(const CfiSection *section, uint64_t *callee);

/*
 * Returns the length of the section's code if it is the first code of glibc's dynamic loader in a
 * process; otherwise 0. It has no caller, which its CFI does not state. It counts as start code as
 * well.
 */
size_t loader_start_length(const CfiSection *section);

/*
 * Emits the rows of a function whose length start_code_length() has returned. Returns what
 * cfi_program_run() returns.
 */
int start_code_rows(const CfiSection *section, CfiRowSink sink, void *context);

#endif
