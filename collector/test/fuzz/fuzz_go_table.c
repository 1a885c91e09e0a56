/*
 * fuzz_go_table.c
 *		Any bytes as Go's function table and the module's data, asked for functions, inlined calls,
 *		files and lines; and as the program in which the module is searched.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/go_module.h"
#include "symbols/elf/go_table.h"

#define TEXT	   UINT64_C(0x400000)
#define FRAMES_MAX 8

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
	const GoModule module = { .table = TEXT, .names = TEXT + size, .text = TEXT };
	ElfExtent found;
	Pclntab layout;
	GoTable *table;

	(void) go_module_find_data(&source, &module, &found);
	if (!pclntab_open(&input, &layout) ||
		go_table_make(&source, &section, &section, &layout, &table) != 0)
		return 0;
	for (uint64_t address = TEXT - 1; address < TEXT + 256; address += 3)
	{
		GoFunction functions[FRAMES_MAX];
		int count = go_table_find(table, address, functions, FRAMES_MAX);

		if (count < 0 || count > FRAMES_MAX)
			abort();
		for (int i = 0; i < count; i++)
		{
			if (functions[i].name[0] == '\0' || strlen(functions[i].file) > size ||
				functions[i].line < 0 || functions[i].start_line < 0)
				abort();
		}
	}
	go_table_close(table);
	return 0;
}
