/*
 * fuzz_go_table.c
 *		Any bytes as Go's function table and the module's data, from which functions, inlined calls,
 *		files and lines are read; and as the program in which the module is searched.
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

/* Looks up functions, then closes the table. */
static void
ask(GoTable *table, size_t size)
{
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
}

/* Looks up functions in a table of Go 1.16, in a file whose addresses lead back into it. */
static void
ask_1_16(const uint8_t *data, size_t size)
{
	struct
	{
		Elf64_Ehdr header;
		Elf64_Phdr segment;
	} headers = {
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
								 EV_CURRENT },
					.e_type = ET_EXEC,
					.e_machine = EM_X86_64,
					.e_version = EV_CURRENT,
					.e_phoff = sizeof(Elf64_Ehdr),
					.e_ehsize = sizeof(Elf64_Ehdr),
					.e_phentsize = sizeof(Elf64_Phdr),
					.e_phnum = 1 },
		.segment = { .p_type = PT_LOAD,
					 .p_vaddr = TEXT,
					 .p_filesz = sizeof(headers) + size,
					 .p_memsz = sizeof(headers) + size },
	};
	uint8_t *file = malloc(sizeof(headers) + size);
	const ElfSource source = { .fd = -1, .memory = file, .size_bytes = sizeof(headers) + size };
	const ElfExtent section = { sizeof(headers), size };
	GoAddresses addresses = { NULL, 0 };
	GoTable *table;

	if (file == NULL)
		abort();
	memcpy(file, &headers, sizeof(headers));
	memcpy(file + sizeof(headers), data, size);
	if (go_table_make_1_16(&source, &section, &addresses, &table) == 0)
		ask(table, size);
	free(file);
}

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

	ask_1_16(data, size);
	(void) go_module_find_data(&source, &module, &found);
	if (pclntab_open(&input, &layout) &&
		go_table_make(&source, &section, &section, &layout, &table) == 0)
		ask(table, size);
	return 0;
}
