/*
 * elf_file.h
 *		Description of one ELF file, read without trusting the file.
 *
 * Everything is read by pread() or from memory, after a check against the file's size. Files are
 * not mapped, because a truncated mapping would end the process with SIGBUS and mapped pages would
 * count as its memory. Only small descriptions are kept; symbols and strings are read from the file
 * when needed. Supported are both ELF classes in this machine's byte order, executables and shared
 * objects.
 */
#ifndef COLLECTOR_ELF_FILE_H
#define COLLECTOR_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/elf_headers.h"

/* A part of the file and its ELF virtual address. */
typedef struct ElfRange
{
	uint64_t address;
	uint64_t offset;
	uint64_t size_bytes;
} ElfRange;

typedef enum ElfSectionKind
{
	ELF_SECTION_CODE,
	ELF_SECTION_PLT
} ElfSectionKind;

typedef struct ElfSection
{
	ElfRange range;
	ElfSectionKind kind;
	uint32_t entry_bytes;
} ElfSection;

typedef enum ElfSymbolsKind
{
	ELF_SYMTAB,
	ELF_DYNSYM,
	ELF_SYMBOLS_KINDS
} ElfSymbolsKind;

typedef struct ElfSymbols
{
	uint64_t offset;
	uint32_t count; /* 0: absent */
	ElfExtent strings;
} ElfSymbols;

/* Relocations of the dynamic linker; their symbols are in .dynsym. */
typedef struct ElfRelocations
{
	uint64_t offset;
	uint32_t count;
	bool addend;
} ElfRelocations;

#define ELF_RELOCATION_TABLES 2 /* .rel[a].plt and .rel[a].dyn */

/* Limits per table, above what linkers write; further entries are ignored. */
#define ELF_SYMBOLS_MAX		(4U << 20)
#define ELF_RELOCATIONS_MAX (1U << 20)

typedef struct ElfFile
{
	ElfSource source;
	uint16_t machine;
	bool is_64_bit;
	bool has_dwarf;
	uint32_t segment_count;
	uint32_t section_count;
	ElfRange *segments;	  /* executable PT_LOADs */
	ElfSection *sections; /* executable ones by address; those of a debug file have no bytes */
	ElfSymbols symbols[ELF_SYMBOLS_KINDS];
	ElfRelocations relocations[ELF_RELOCATION_TABLES];
	ElfExtent debug_link;	  /* .gnu_debuglink */
	ElfExtent debug_alt_link; /* .gnu_debugaltlink */
	ElfExtent debug_data;	  /* .gnu_debugdata: an ELF file compressed by xz */
	ElfBuildId build_id;
} ElfFile;

/* A symbol of either ELF class. */
typedef struct ElfSymbol
{
	uint64_t address;
	uint64_t size_bytes;
	uint32_t name_offset;
	uint16_t section; /* SHN_… */
	uint8_t type;	  /* STT_… */
	uint8_t binding;  /* STB_… */
} ElfSymbol;

/*
 * Describes the file. Tables outside of the file count as absent. Returns 0; -ENOEXEC if it is not
 * a usable ELF file; -ENOMEM. elf_file_fini() frees the description; it also accepts a zeroed
 * ElfFile.
 */
int elf_file_init(ElfFile *file, const ElfSource *source);

/* Like elf_file_init(), but also accepts a supplement of DWARF (elf_headers_read_supplement()). */
int elf_file_init_supplement(ElfFile *file, const ElfSource *source);
void elf_file_fini(ElfFile *file);

/*
 * Converts a file offset to an ELF virtual address. Returns false if no executable PT_LOAD covers
 * the offset.
 */
bool elf_file_address(const ElfFile *file, uint64_t offset, uint64_t *address);

/* Returns the executable section that covers an address, or NULL. */
const ElfSection *elf_file_section(const ElfFile *file, uint64_t address);

/* Reads up to count symbols from an index on. Returns the number read. */
uint32_t elf_file_read_symbols(const ElfFile *file, ElfSymbolsKind kind, uint32_t index,
							   ElfSymbol *symbols, uint32_t count);

/*
 * Finds the first defined symbol of a name and one of the types (a set of 1 << STT_…). Returns
 * false if there is none.
 */
bool elf_file_find_symbol(const ElfFile *file, ElfSymbolsKind kind, const char *name,
						  uint32_t types, ElfSymbol *found);

/* Like elf_file_find_symbol(), but searches .dynsym and then .symtab. */
bool elf_file_find_any_symbol(const ElfFile *file, const char *name, uint32_t types,
							  ElfSymbol *found);

/*
 * Finds the name of the dynamic symbol whose relocation fills a slot of the global offset table.
 * Returns false if there is none.
 */
bool elf_file_slot_symbol(const ElfFile *file, uint64_t slot, char *name, size_t size_bytes);

#endif
