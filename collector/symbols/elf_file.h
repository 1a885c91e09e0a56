/*
 * elf_file.h
 *		What the collector needs to know of one ELF file, read without trusting it.
 *
 * Everything is read with pread (or from memory) and checked against the file's size first: a
 * mapped file that someone truncates would end the process with SIGBUS, and mapped pages would
 * count as its memory. Only little descriptions are kept; symbols and strings stay in the file and
 * are read when asked for. ELF of both classes, in this machine's byte order, executables and
 * shared objects.
 */
#ifndef COLLECTOR_ELF_FILE_H
#define COLLECTOR_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/elf_headers.h"

/* A part of the file and the ELF virtual address at which it is loaded. */
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

/* Relocations of the dynamic linker, whose symbols are .dynsym. */
typedef struct ElfRelocations
{
	uint64_t offset;
	uint32_t count;
	bool addend;
} ElfRelocations;

#define ELF_RELOCATION_TABLES 2 /* .rel[a].plt and .rel[a].dyn */

/* Of a table; more than any linker writes, and what is beyond is left out. */
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
	ElfSection *sections; /* executable sections, by address; those of a debug file have no bytes */
	ElfSymbols symbols[ELF_SYMBOLS_KINDS];
	ElfRelocations relocations[ELF_RELOCATION_TABLES];
	ElfExtent debug_link;	  /* .gnu_debuglink */
	ElfExtent debug_alt_link; /* .gnu_debugaltlink */
	ElfExtent debug_data;	  /* .gnu_debugdata: an ELF file compressed by xz */
	ElfBuildId build_id;
} ElfFile;

/* One symbol, as both classes tell it. */
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
 * Describes the file. 0; -ENOEXEC where it is not an ELF file that can be used; -ENOMEM. Tables
 * that lie outside of the file count as absent. Ended by elf_file_fini, which also accepts a zeroed
 * ElfFile.
 */
int elf_file_init(ElfFile *file, const ElfSource *source);
void elf_file_fini(ElfFile *file);

/* ELF virtual address of a file offset; false where no executable PT_LOAD covers it. */
bool elf_file_address(const ElfFile *file, uint64_t offset, uint64_t *address);

/* The executable section that covers an address, or NULL. */
const ElfSection *elf_file_section(const ElfFile *file, uint64_t address);

/* Reads up to count symbols from index on; returns how many. */
uint32_t elf_file_read_symbols(const ElfFile *file, ElfSymbolsKind kind, uint32_t index,
							   ElfSymbol *symbols, uint32_t count);

/*
 * The first symbol of a table that is defined, has the name, and one of the types (1 << STT_…, all
 * in one); false where there is none.
 */
bool elf_file_find_symbol(const ElfFile *file, ElfSymbolsKind kind, const char *name,
						  uint32_t types, ElfSymbol *found);

/*
 * Name of the dynamic symbol that a relocation of the given slot is about; false where there is
 * none.
 */
bool elf_file_slot_symbol(const ElfFile *file, uint64_t slot, char *name, size_t size_bytes);

#endif
