/*
 * perl_code.h
 *		Names of Perl's subroutines, out of the memory of the process that executes them.
 */
#ifndef COLLECTOR_PERL_CODE_H
#define COLLECTOR_PERL_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime_types.h"
#include "runtimes/common/runtime_code.h"
#include "unwind/remote_memory.h"

/*
 * Reads names, RUNTIME_CODES_MAX at most. Those that are not as sampled, or cannot be read, stay
 * without.
 */
void perl_codes_read(RemoteMemory *memory, const struct pfs_perl_layout *layout, CodeWanted *wanted,
					 size_t count);

/*
 * Finds the distance from the thread pointer to the word that has the thread's interpreter. key:
 * process address of the key's number. Returns false if the thread does not execute Perl.
 */
bool perl_place_find(RemoteMemory *memory, const struct pfs_perl_layout *layout, uint64_t key,
					 uint64_t thread_pointer, int32_t *offset);

#endif
