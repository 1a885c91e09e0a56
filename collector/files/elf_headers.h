/*
 * elf_headers.h
 *		Reads headers of an untrusted ELF file.
 *
 * Every read is a pread() (or a copy from memory) after a check against the file's size. We do not
 * map files: if one is truncated, an access to the mapping raises SIGBUS, and mapped pages count as
 * our memory. We do not use libelf here, because the file decides how much memory libelf allocates.
 * Supports both ELF classes in this machine's byte order, executables and shared objects.
 */
#ifndef COLLECTOR_ELF_HEADERS_H
#define COLLECTOR_ELF_HEADERS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX_BYTES 64

/* Room for a build ID in hexadecimal. */
#define ELF_BUILD_ID_TEXT_BYTES (2 * ELF_BUILD_ID_MAX_BYTES + 1)
#define ELF_NAME_BYTES			32 /* holds every section name that matters here */

/*
 * The bytes of a file: a descriptor, or memory if fd is -1. Borrowed; never closed or freed here.
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
	uint64_t size_bytes; /* 0: the extent is absent */
} ElfExtent;

typedef struct ElfBuildId
{
	uint32_t size_bytes; /* 0: there is no build ID */
	uint8_t bytes[ELF_BUILD_ID_MAX_BYTES];
	uint32_t notes; /* number of notes examined so far */
} ElfBuildId;

#define ELF_WINDOW_BYTES 2048

/* Bytes of a file that were read together, so that many small reads need few system calls. */
typedef struct ElfWindow
{
	uint64_t offset;
	size_t length;
	uint8_t bytes[ELF_WINDOW_BYTES];
} ElfWindow;

typedef struct ElfHeaders
{
	ElfSource source;
	ElfWindow tables; /* window of the headers that were read last */
	ElfWindow texts;  /* window of the names that were read last */
	uint16_t machine;
	bool is_64_bit;
	uint64_t entry; /* entry point; 0 if there is none */
	uint64_t segments_offset;
	uint64_t sections_offset;
	uint32_t segment_count; /* 0 if the table is outside of the file or above our limits */
	uint32_t section_count;
	ElfExtent names; /* string table of the section names */
} ElfHeaders;

/* Fills the whole buffer. Returns false on a read error, or if the range ends beyond the file. */
bool elf_source_read(const ElfSource *source, uint64_t offset, void *buffer, size_t size_bytes);

/* Returns true if both files have a build ID, and not the same one. */
bool elf_build_ids_differ(const ElfBuildId *one, const ElfBuildId *other);

/* Returns whether count entries at offset lie within the file. */
bool elf_source_holds(const ElfSource *source, uint64_t offset, uint64_t count,
					  uint64_t entry_bytes);

/*
 * Copies the string at an offset of a string table, cut to size_bytes - 1. Returns false if the
 * offset is outside of the table or the string has no NUL.
 */
bool elf_source_string(const ElfSource *source, const ElfExtent *strings, uint64_t offset,
					   char *text, size_t size_bytes);

/*
 * Reads the headers of an executable or shared object. Returns 0, or -ENOEXEC if the file is not a
 * usable ELF file.
 */
int elf_headers_read(ElfHeaders *headers, const ElfSource *source);

/*
 * Like elf_headers_read(), but also accepts a relocatable file, which is the type of dwz's
 * supplementary files.
 */
int elf_headers_read_supplement(ElfHeaders *headers, const ElfSource *source);

/* Read one header, converted to the form of ELF64. Return false if it cannot be read. */
bool elf_headers_segment(ElfHeaders *headers, uint32_t index, Elf64_Phdr *segment);
bool elf_headers_section(ElfHeaders *headers, uint32_t index, Elf64_Shdr *section);

/* Reads the section's name. Returns false if it has none. */
bool elf_headers_name(ElfHeaders *headers, const Elf64_Shdr *section, char name[ELF_NAME_BYTES]);

/* Finds the first section with this name. Returns false if there is none. */
bool elf_headers_find_section(ElfHeaders *headers, const char *name, Elf64_Shdr *section);

/*
 * Reads bytes at an ELF virtual address, with the values that they have when the program starts.
 * Returns false if no PT_LOAD contains all of them in the file.
 */
bool elf_headers_read_at(ElfHeaders *headers, uint64_t address, void *buffer, size_t size_bytes);

/* Writes the build ID in hexadecimal; "" if it is absent. */
void elf_build_id_text(const ElfBuildId *id, char text[ELF_BUILD_ID_TEXT_BYTES]);

/*
 * Searches notes for NT_GNU_BUILD_ID, unless id already has one. All calls with the same id
 * together examine at most 4,096 notes.
 */
void elf_build_id_read(ElfBuildId *id, const ElfSource *source, const ElfExtent *notes,
					   uint64_t alignment);

#endif
