/*
 * go_addresses.h
 *		Addresses in Go's function table, which tables before Go 1.18 have instead of offsets.
 *
 * In a position-independent program the loader writes them, so they are in relocations.
 */
#ifndef COLLECTOR_GO_ADDRESSES_H
#define COLLECTOR_GO_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/elf_headers.h"

/* An address that the loader writes. */
typedef struct GoRelocation
{
	uint64_t place; /* offset in the table */
	uint64_t address;
} GoRelocation;

/* Zeroed: the loader writes none. */
typedef struct GoAddresses
{
	GoRelocation *relocations; /* by place */
	size_t count;
} GoAddresses;

/* Reads the relocations of a section. Returns 0 or -ENOMEM. */
int go_addresses_read(GoAddresses *addresses, const ElfSource *source, const Elf64_Shdr *section);
void go_addresses_fini(GoAddresses *addresses); /* accepts a zeroed one */

/*
 * Writes the addresses of a part of the table over words that were read from the file; bytes begin
 * at the part's offset.
 */
void go_addresses_apply(const GoAddresses *addresses, uint64_t offset, void *bytes, size_t length);

#endif
