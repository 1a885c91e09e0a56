/*
 * plt_code.h
 *		Makes unwind rules for AArch64's procedure linkage table, for which linkers write no CFI.
 *
 * Its stubs jump, so the return address stays in the link register. Two stubs push two registers
 * first: the one that calls the dynamic loader, and the one for thread-local variables. Without
 * these rules the walk would follow the frame pointer, which is still the caller's, and so skip the
 * caller.
 */
#ifndef COLLECTOR_PLT_CODE_H
#define COLLECTOR_PLT_CODE_H

#include "unwind/cfi/cfi_program.h"

/* Emits the rows of the whole section. Returns like cfi_program_run(). */
int plt_code_rows(const CfiSection *plt, CfiRowSink sink, void *context);

#endif
