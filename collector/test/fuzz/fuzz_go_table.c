/*
 * fuzz_go_table.c
 *		Any bytes as Go's function table, asked for functions, files and lines.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/go_table.h"

#define TEXT UINT64_C(0x400000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const ElfSource source = { .fd = -1, .memory = data, .size_bytes = size };
	const ElfExtent section = { 0, size };
	const CfiInput input = { .machine = EM_X86_64,
							 .pclntab = { .data = data, .length = size },
							 .go_text = TEXT,
							 .code_start = TEXT,
							 .code_end = TEXT + UINT32_MAX };
	Pclntab layout;
	GoTable *table;

	if (!pclntab_open(&input, &layout) || go_table_make(&source, &section, &layout, &table) != 0)
		return 0;
	for (uint64_t address = TEXT - 1; address < TEXT + 256; address += 3)
	{
		GoFunction function;

		if (go_table_find(table, address, &function) &&
			(function.name[0] == '\0' || strlen(function.file) > size || function.line < 0 ||
			 function.start_line < 0))
			abort();
	}
	go_table_close(table);
	return 0;
}
