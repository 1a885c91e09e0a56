/*
 * elf_headers.h
 *		Headers of an ELF file, read without trusting it.
 *
 * Everything is read with pread (or from memory) and checked against the file's size first: a
 * mapped file that someone truncates would end the process with SIGBUS, and mapped pages would
 * count as its memory. No library reads for us: what it allocates is for the file to say. ELF of
 * both classes, in this machine's byte order, executables and shared objects.
 */
#ifndef COLLECTOR_ELF_HEADERS_H
#define COLLECTOR_ELF_HEADERS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX_BYTES 64
#define ELF_NAME_BYTES		   32 /* holds every section name that matters here */

/*
 * The bytes of a file: behind a descriptor, or in memory where fd is -1. Borrowed, never closed or
 * freed.
 */
typedef struct ElfSource
{
	int fd;
	const uint8_t *memory;
	uint64_t size_bytes;
} ElfSource;

typedef struct ElfExtent
{
	uint64_t offset;
	uint64_t size_bytes; /* 0: absent */
} ElfExtent;

typedef struct ElfBuildId
{
	uint32_t size_bytes; /* 0: absent */
	uint8_t bytes[ELF_BUILD_ID_MAX_BYTES];
	uint32_t notes; /* that were looked at for it */
} ElfBuildId;

#define ELF_WINDOW_BYTES 2048

/* Bytes of a file that were read together: of many small pieces, each would be a system call. */
typedef struct ElfWindow
{
	uint64_t offset;
	size_t length;
	uint8_t bytes[ELF_WINDOW_BYTES];
} ElfWindow;

typedef struct ElfHeaders
{
	ElfSource source;
	ElfWindow tables; /* headers that were read last */
	ElfWindow texts;  /* names that were */
	uint16_t machine;
	bool is_64_bit;
	uint64_t entry; /* address where a process begins; 0: none does */
	uint64_t segments_offset;
	uint64_t sections_offset;
	uint32_t segment_count; /* 0 where the table lies outside of the file, or is beyond limits */
	uint32_t section_count;
	ElfExtent names; /* of sections */
} ElfHeaders;

/* Fills buffer wholly, or returns false: past the end, or not readable. */
bool elf_source_read(const ElfSource *source, uint64_t offset, void *buffer, size_t size_bytes);

/* Whether count entries lie inside of the file. */
bool elf_source_holds(const ElfSource *source, uint64_t offset, uint64_t count,
					  uint64_t entry_bytes);

/*
 * The string at an offset of a string table, cut to size_bytes - 1. False where it has no bytes in
 * the table or does not end there.
 */
bool elf_source_string(const ElfSource *source, const ElfExtent *strings, uint64_t offset,
					   char *text, size_t size_bytes);

/* 0, or -ENOEXEC where it is not an ELF file that can be used. */
int elf_headers_read(ElfHeaders *headers, const ElfSource *source);

/* One header, as ELF64 has it; false where it cannot be read. */
bool elf_headers_segment(ElfHeaders *headers, uint32_t index, Elf64_Phdr *segment);
bool elf_headers_section(ElfHeaders *headers, uint32_t index, Elf64_Shdr *section);

/* The section's name; false where it has none. */
bool elf_headers_name(ElfHeaders *headers, const Elf64_Shdr *section, char name[ELF_NAME_BYTES]);

/*
 * Looks for NT_GNU_BUILD_ID among notes, where none was found before. Of a file's notes, in all
 * calls with its id together, some thousand are looked at.
 */
void elf_build_id_read(ElfBuildId *id, const ElfSource *source, const ElfExtent *notes,
					   uint64_t alignment);

#endif
