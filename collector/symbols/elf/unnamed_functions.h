/*
 * unnamed_functions.h
 *		Functions of a binary without symbols: where each begins, and by which it is recognized in
 *		another build.
 *
 * The unwind information (.eh_frame) has an entry for each function, which strip does not remove.
 *
 * A function has up to two keys of 48 bits each: the masked hash of its code (masked_hash.h), and
 * the hash of its code and that of both its neighbours. A key is given only if no other function of
 * the file has it, so functions of two builds with an equal key are one function. A function
 * without either has a key of its build and address, which no function of another build has.
 */
#ifndef COLLECTOR_UNNAMED_FUNCTIONS_H
#define COLLECTOR_UNNAMED_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf/elf_file.h"

/* Limits of a file. A larger section is not read; functions of more code have no hashes. */
#define UNNAMED_CFI_MAX_BYTES	   (UINT64_C(32) << 20)
#define UNNAMED_CODE_MAX_BYTES	   (UINT64_C(64) << 20)
#define UNNAMED_FUNCTION_MAX_BYTES (UINT64_C(1) << 20)

#define UNNAMED_TEXT_BYTES 64

typedef struct UnnamedFunctions UnnamedFunctions;

/*
 * Reads the functions of a file. room_bytes is the memory that the process may allocate; the list
 * takes an eighth of it at most. Returns 0; -ENOENT if the file has no usable unwind information;
 * -ENOMEM.
 */
int unnamed_functions_read(const ElfFile *file, size_t room_bytes, UnnamedFunctions **functions);
void unnamed_functions_free(UnnamedFunctions *functions); /* accepts NULL */

/*
 * Finds the function, or the stub of a PLT, that covers an address in the file. Sets name to its
 * start, "+0x1540", and system_name to name, "#" and the keys: "o" and 12 hexadecimal digits (own
 * code), "n" (with its neighbours), or "b" (build). Returns false if none covers the address.
 */
bool unnamed_functions_find(const UnnamedFunctions *functions, const ElfFile *file,
							uint64_t address, char name[UNNAMED_TEXT_BYTES],
							char system_name[UNNAMED_TEXT_BYTES]);

#endif
