/*
 * perl_code.h
 *		Reads names of Perl's subroutines from the memory of the process that executes them.
 */
#ifndef COLLECTOR_PERL_CODE_H
#define COLLECTOR_PERL_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime_types.h"
#include "runtimes/common/beside_thread.h"
#include "runtimes/common/runtime_code.h"
#include "unwind/remote_memory.h"

/*
 * Reads at most RUNTIME_CODES_MAX names. Frames that have changed since the sample, or are
 * unreadable, get no name.
 */
void perl_codes_read(RemoteMemory *memory, const struct pfs_perl_layout *layout, CodeWanted *wanted,
					 size_t count);

/* Returns whether one of the stacks of the interpreter at this address is the program's stack. */
bool perl_stacks_fit(RemoteMemory *memory, const struct pfs_perl_layout *layout,
					 uint64_t interpreter);

/*
 * Finds the place of the word with the thread's interpreter. key: process address of the key's
 * number. Returns false if the thread does not execute Perl.
 */
bool perl_place_find(RemoteMemory *memory, const struct pfs_perl_layout *layout, uint64_t key,
					 uint64_t thread_pointer, ThreadPlace *place);

#endif
