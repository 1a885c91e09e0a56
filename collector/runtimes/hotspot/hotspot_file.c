/*
 * hotspot_file.c
 *		Reads symbols of HotSpot.
 */
#include "runtimes/hotspot/hotspot_file.h"

#include <elf.h>
#include <string.h>

#include "symbols/elf/elf_file.h"

#define FILE_NAME  "libjvm.so"
#define NAME_BYTES 64
#define SYMBOLS	   64 /* symbols that are read together */
#define OBJECTS	   (1U << STT_OBJECT | 1U << STT_NOTYPE)

static const char *const export_names[HOTSPOT_EXPORTS] = {
	[HOTSPOT_STRUCTS] = "gHotSpotVMStructs",
	[HOTSPOT_STRUCT_STRIDE] = "gHotSpotVMStructEntryArrayStride",
	[HOTSPOT_STRUCT_TYPE] = "gHotSpotVMStructEntryTypeNameOffset",
	[HOTSPOT_STRUCT_FIELD] = "gHotSpotVMStructEntryFieldNameOffset",
	[HOTSPOT_STRUCT_IS_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
	[HOTSPOT_STRUCT_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
	[HOTSPOT_STRUCT_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
	[HOTSPOT_TYPES] = "gHotSpotVMTypes",
	[HOTSPOT_TYPE_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	[HOTSPOT_TYPE_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
	[HOTSPOT_TYPE_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
};

static bool
is_named_so(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash != NULL ? slash + 1 : path, FILE_NAME) == 0;
}

/* Stores the address if the symbol is an exported variable. Returns whether it is one. */
static bool
note_export(const ElfFile *file, const ElfSymbol *symbol, uint64_t exports[HOTSPOT_EXPORTS])
{
	char name[NAME_BYTES];

	if (symbol->section == SHN_UNDEF || (OBJECTS >> symbol->type & 1) == 0 ||
		!elf_source_string(&file->source, &file->symbols[ELF_DYNSYM].strings, symbol->name_offset,
						   name, sizeof(name)))
		return false;
	for (int i = 0; i < HOTSPOT_EXPORTS; i++)
	{
		if (exports[i] == 0 && strcmp(name, export_names[i]) == 0)
		{
			exports[i] = symbol->address;
			return true;
		}
	}
	return false;
}

static bool
find_exports(const ElfFile *file, uint64_t exports[HOTSPOT_EXPORTS])
{
	ElfSymbol symbols[SYMBOLS];
	uint32_t at = 0;
	uint32_t count;
	int found = 0;

	while ((count = elf_file_read_symbols(file, ELF_DYNSYM, at, symbols, SYMBOLS)) > 0)
	{
		for (uint32_t i = 0; i < count; i++)
			found += note_export(file, &symbols[i], exports);
		at += count;
	}
	return found == HOTSPOT_EXPORTS;
}

bool
hotspot_file_read(const ElfSource *source, const char *name, HotSpotFile *hotspot)
{
	ElfHeaders headers;
	ElfFile file;

	memset(hotspot, 0, sizeof(*hotspot));
	if (!is_named_so(name) || elf_headers_read(&headers, source) != 0)
		return false;
	memset(&file, 0, sizeof(file));
	hotspot->is_known = headers.is_64_bit && headers.machine == EM_X86_64 &&
						elf_file_init(&file, source) == 0 && find_exports(&file, hotspot->exports);
	elf_file_fini(&file);
	return true;
}
