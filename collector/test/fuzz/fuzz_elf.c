/*
 * fuzz_elf.c
 *		All parts of an ELF file that the collector itself reads: headers, notes, symbols, stubs,
 *		strings, variables with labels.
 *
 * fuzz_dwarf reads DWARF.
 */
#include <stddef.h>
#include <stdint.h>

#include "files/compiler.h"
#include "runtimes/cpython/python_file.h"
#include "runtimes/luajit/luajit_file.h"
#include "runtimes/perl/perl_file.h"
#include "runtimes/php/php_file.h"
#include "runtimes/ruby/ruby_file.h"
#include "runtimes/v8/v8_file.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/mini_debug.h"
#include "symbols/elf/symbol_table.h"
#include "symbols/elf/unnamed_functions.h"
#include "threads/label_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
look_up(const ElfFile *file)
{
	const ElfFile *files[] = { file };
	char name[SYMBOL_NAME_MAX_BYTES];
	SymbolTable *table;
	uint64_t start;

	if (symbol_table_create(files, 1, &table) != 0)
		return;
	for (uint32_t i = 0; i < file->section_count; i++)
	{
		const ElfRange *range = &file->sections[i].range;

		for (uint64_t at = 0; at < range->size_bytes && at < 512; at += 8)
			(void) symbol_table_find(table, files, range->address + at, name, &start);
	}
	symbol_table_free(table);
}

static void
find_unnamed(const ElfFile *file)
{
	char name[UNNAMED_TEXT_BYTES];
	char system_name[UNNAMED_TEXT_BYTES];
	UnnamedFunctions *functions;

	if (unnamed_functions_read(file, 128U << 20, &functions) != 0)
		return;
	for (uint32_t i = 0; i < file->section_count; i++)
		for (uint64_t at = 0; at < file->sections[i].range.size_bytes && at < 512; at += 8)
			(void) unnamed_functions_find(functions, file, file->sections[i].range.address + at,
										  name, system_name);
	unnamed_functions_free(functions);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ElfSource source = { .fd = -1, .memory = data, .size_bytes = size };
	struct pfs_label_place place;
	PythonFile python;
	PerlFile perl;
	PhpFile php;
	RubyFile ruby = { 0 };
	LuajitFile luajit;
	V8File v8;
	bool is_known;
	LoopCode loops[RUBY_LOOPS] = { 0 };
	char compiler[COMPILER_BYTES];
	MiniDebug mini;
	uint64_t address;
	ElfFile file;

	compiler_read(&source, compiler);
	compiler_parse_comment((const char *) data, size, compiler);
	if (elf_file_init(&file, &source) != 0)
		return 0;
	for (uint64_t offset = 0; offset < size; offset += 512)
		(void) elf_file_address(&file, offset, &address);
	look_up(&file);
	find_unnamed(&file);
	if (mini_debug_open(&file, 128U << 20, &mini))
		look_up(&mini.file);
	mini_debug_close(&mini);
	elf_file_fini(&file);
	label_place_read(&source, size % 2 == 0 ? "python3.9" : "profstore.so", &place);
	python_file_read(&source, "python3.9", &python);
	(void) perl_file_read(&source, &perl);
	(void) php_file_read(&source, &php);
	(void) ruby_file_read(&source, &ruby, loops);
	(void) luajit_file_read(&source, &luajit);
	(void) v8_file_read(&source, &v8, &is_known);
	return 0;
}
