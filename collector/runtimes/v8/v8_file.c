/*
 * v8_file.c
 *		Reads symbols of V8.
 *
 * Files with V8 have tens of thousands of symbols, whose names are read together.
 */
#include "runtimes/v8/v8_file.h"

#include <stdlib.h>
#include <string.h>

#include "files/exported_symbol.h"
#include "symbols/elf/elf_file.h"

#define NAME_KNOWN V8_CONSTANT_PREFIX "SmiTagMask"
#define NAME_SIZES "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"

#define OBJECTS (1U << STT_OBJECT | 1U << STT_NOTYPE)

#define STRINGS_MAX	  ((uint64_t) 64 * 1024 * 1024)
#define SYMBOLS_STEP  256
#define BYTECODES_MAX 256

static const char *const version_names[] = { "_ZN2v88internal7Version6major_E",
											 "_ZN2v88internal7Version6minor_E",
											 "_ZN2v88internal7Version6build_E" };

typedef struct V8Reading
{
	ElfHeaders headers;
	ElfFile file;
	V8Constants constants;
	V8File *v8;
} V8Reading;

static bool
holds_v8(V8Reading *reading, const ElfSource *source)
{
	ExportedSymbol symbol;

	return elf_headers_read(&reading->headers, source) == 0 && reading->headers.is_64_bit &&
		   exported_symbol_find(&reading->headers, NAME_KNOWN, OBJECTS, &symbol);
}

/* Returns the number at an address; 0 if the file has no bytes there, because files omit zeros. */
static int32_t
number_at(V8Reading *reading, uint64_t address)
{
	int32_t number;

	return elf_headers_read_at(&reading->headers, address, &number, sizeof(number)) ? number : 0;
}

static void
note_symbol(V8Reading *reading, const ElfSymbol *symbol, const char *name)
{
	static const size_t prefix = sizeof(V8_CONSTANT_PREFIX) - 1;

	if (strncmp(name, V8_CONSTANT_PREFIX, prefix) == 0)
		v8_constants_note(&reading->constants, name + prefix, number_at(reading, symbol->address));
	else if (strcmp(name, NAME_SIZES) == 0 && symbol->size_bytes % 3 == 0 &&
			 symbol->size_bytes / 3 <= BYTECODES_MAX)
	{
		reading->v8->bytecode_sizes = symbol->address;
		reading->v8->bytecode_count = (uint32_t) (symbol->size_bytes / 3);
	}
	else
	{
		for (size_t i = 0; i < sizeof(version_names) / sizeof(version_names[0]); i++)
		{
			if (strcmp(name, version_names[i]) == 0)
				reading->constants.version[i] = (uint32_t) number_at(reading, symbol->address);
		}
	}
}

static void
v8_file_note_symbols(V8Reading *reading, ElfSymbolsKind kind)
{
	const ElfSymbols *table = &reading->file.symbols[kind];
	size_t length = (size_t) table->strings.size_bytes;
	ElfSymbol symbols[SYMBOLS_STEP];
	char *names;
	uint32_t count;

	if (table->count == 0 || length == 0 || length > STRINGS_MAX)
		return;
	names = malloc(length);
	if (names == NULL ||
		!elf_source_read(&reading->file.source, table->strings.offset, names, length))
	{
		free(names);
		return;
	}
	names[length - 1] = '\0';
	for (uint32_t at = 0;
		 (count = elf_file_read_symbols(&reading->file, kind, at, symbols, SYMBOLS_STEP)) > 0;
		 at += count)
	{
		for (uint32_t i = 0; i < count; i++)
		{
			if (symbols[i].section != SHN_UNDEF && symbols[i].name_offset < length)
				note_symbol(reading, &symbols[i], names + symbols[i].name_offset);
		}
	}
	free(names);
}

bool
v8_file_read(const ElfSource *source, V8File *v8, bool *is_known)
{
	V8Reading *reading = calloc(1, sizeof(*reading));
	bool found;

	memset(v8, 0, sizeof(*v8));
	*is_known = false;
	if (reading == NULL)
		return false;
	reading->v8 = v8;
	found = holds_v8(reading, source) && elf_file_init(&reading->file, source) == 0;
	if (found)
	{
		v8_file_note_symbols(reading, ELF_DYNSYM);
		/* some builds have the sizes of bytecodes in the other table alone */
		if (v8->bytecode_sizes == 0)
			v8_file_note_symbols(reading, ELF_SYMTAB);
		*is_known = v8_layout_of(&reading->constants, &v8->layout);
	}
	elf_file_fini(&reading->file);
	free(reading);
	return found;
}
