/*
 * start_code.h
 *		Makes unwind rules for the code at the start and end of every program and library: those
 *		parts of the C library's and the compiler's start files that have no CFI.
 *
 * These are .init and .fini, and the functions that run before the first constructor and after the
 * last destructor. They touch pages for the first time, or pages that a child process must copy, so
 * starting and ending programs are often sampled in them.
 */
#ifndef COLLECTOR_START_CODE_H
#define COLLECTOR_START_CODE_H

#include "unwind/cfi/cfi_program.h"

/* Limit of the length of one function in start files. */
#define START_CODE_BYTES 96

/*
 * Returns the length of the function at the start of the section if all its instructions are those
 * of x86-64's start files; otherwise 0. *callee is the start-file function that it calls or jumps
 * to; 0 if it does neither.
 */
size_t start_code_length(const CfiSection *section, uint64_t *callee);

/*
 * Returns the length of the section's code if it is the first code of glibc's dynamic loader in a
 * process; otherwise 0. This code has no caller, but its CFI does not say so. It is treated like
 * start files' code.
 */
size_t loader_start_length(const CfiSection *section);

/*
 * Emits the rows of a function whose length start_code_length() has returned. Returns like
 * cfi_program_run().
 */
int start_code_rows(const CfiSection *section, CfiRowSink sink, void *context);

#endif
