/*
 * go_module.h
 *		Finds, through the description of the module, the data to which functions of a Go program
 *		refer.
 *
 * Offsets of trees of inlined calls are relative to an address (go:func.*) whose symbol is
 * stripped. The runtime reads this address from a variable (runtime.firstmoduledata), which begins
 * with the address of the function table.
 */
#ifndef COLLECTOR_GO_MODULE_H
#define COLLECTOR_GO_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "files/elf_headers.h"

/* Words of the description that are known before it is found. */
typedef struct GoModule
{
	uint64_t table; /* ELF virtual address of the function table */
	uint64_t names; /* ELF virtual address of the names in the function table */
	uint64_t text;	/* ELF virtual address to which the addresses of functions are relative */
	bool is_1_18;	/* Go 1.18 or 1.19: the description lacks two words before the data */
} GoModule;

/*
 * Finds the part of the file from go:func.* to the end of its segment. Returns false if the file
 * has no such description.
 */
bool go_module_find_data(const ElfSource *source, const GoModule *module, ElfExtent *data);

#endif
