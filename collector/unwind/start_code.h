/*
 * start_code.h
 *		Unwind rules of the code that every program and library begins and ends with: pieces of the
 *		C library's and the compiler's start files, which have no CFI.
 *
 * That is .init and .fini, and the functions that run before the first constructor and after the
 * last destructor. They touch pages that nobody has touched yet, or that a child process has to
 * copy, so a program that starts or ends is found in them again and again.
 */
#ifndef COLLECTOR_START_CODE_H
#define COLLECTOR_START_CODE_H

#include "unwind/cfi_program.h"

/* No such function is longer. */
#define START_CODE_BYTES 96

/*
 * Bytes of the function that begins with the section, where each of its instructions is one that
 * start files of x86-64 are made of; 0: another function. *callee is the one of the same kind that
 * it calls or goes on in, 0: none.
 */
size_t start_code_length(const CfiSection *section, uint64_t *callee);

/*
 * Bytes of the section's code where that is how glibc's dynamic loader begins a process; 0: other
 * code. Nobody calls it, which its CFI does not say. It counts as start code as well.
 */
size_t loader_start_length(const CfiSection *section);

/* The rows of such a function, as cfi_program_run gives them. */
int start_code_rows(const CfiSection *section, CfiRowSink sink, void *context);

#endif
