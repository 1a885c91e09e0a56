/*
 * plt_code.h
 *		Unwind rules of AArch64's procedure linkage table, for which linkers write no CFI.
 *
 * Its stubs jump, so the return address remains in the link register. The first stub, which calls
 * the dynamic loader, and the one for thread-local variables push two registers before. Without
 * these rules the frame pointer, which is still the caller's, would make the walk skip the caller.
 */
#ifndef COLLECTOR_PLT_CODE_H
#define COLLECTOR_PLT_CODE_H

#include "unwind/cfi/cfi_program.h"

/* Emits the rows of the whole section. Returns what cfi_program_run() returns. */
int plt_code_rows(const CfiSection *plt, CfiRowSink sink, void *context);

#endif
