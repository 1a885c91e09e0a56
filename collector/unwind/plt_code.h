/*
 * plt_code.h
 *		Unwind rules of the procedure linkage table of AArch64, for which linkers write no CFI.
 *
 * Its stubs jump, so the return address remains in the link register. The first one, which calls
 * the dynamic loader, and the one of thread-local variables push two registers before. Without
 * these rules the frame pointer, which is still the caller's, would lead past the caller.
 */
#ifndef COLLECTOR_PLT_CODE_H
#define COLLECTOR_PLT_CODE_H

#include "unwind/cfi_program.h"

/* The rows of the whole section, as cfi_program_run gives them. */
int plt_code_rows(const CfiSection *plt, CfiRowSink sink, void *context);

#endif
