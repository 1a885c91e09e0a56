/*
 * debug_extract.c
 *		Copies an ELF file section by section, with libelf.
 */
#include "debuginfo/debug_extract.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debuginfo/debug_content.h"
#include "symbols/elf/elf_file.h"

/* An ELF file that is made from another one. */
typedef struct Extraction
{
	Elf *from;
	Elf *to;
	size_t names; /* number of the section that contains the names of sections */
	uint64_t end; /* end of the sections that already have a place in the new file */
} Extraction;

static bool
section_begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Returns true for DWARF that names no code: it describes variables, macros, and unwinding. */
static bool
is_other_dwarf(const char *name)
{
	static const char *const prefixes[] = { ".debug_loc",	 ".debug_mac",		".debug_pub",
											".debug_frame",	 ".debug_gnu_pub",	".debug_names",
											".zdebug_loc",	 ".zdebug_mac",		".zdebug_pub",
											".zdebug_frame", ".zdebug_gnu_pub", NULL };

	for (size_t i = 0; prefixes[i] != NULL; i++)
	{
		if (section_begins_with(name, prefixes[i]))
			return true;
	}
	return false;
}

static bool
is_needed(const char *name, const GElf_Shdr *section)
{
	if (section_begins_with(name, ".debug_") || section_begins_with(name, ".zdebug_"))
		return !is_other_dwarf(name);
	return section->sh_type == SHT_NOTE || section->sh_type == SHT_SYMTAB ||
		   section->sh_type == SHT_DYNSYM || section->sh_type == SHT_STRTAB ||
		   strcmp(name, ".gopclntab") == 0 || strcmp(name, ".gnu_debugdata") == 0 ||
		   strcmp(name, ".gnu_debugaltlink") == 0 || strcmp(name, ".comment") == 0;
}

/* Copies the bytes of a section and gives them a place. Returns false if they cannot be read. */
static bool
copy_bytes(Extraction *extraction, Elf_Scn *from, Elf_Scn *to, GElf_Shdr *section)
{
	Elf_Data *data = elf_rawdata(from, NULL);
	Elf_Data *copy = elf_newdata(to);
	uint64_t alignment = section->sh_addralign > 1 ? section->sh_addralign : 1;

	if (copy == NULL || (data == NULL && section->sh_size > 0))
		return false;
	if (data != NULL)
	{
		*copy = *data;
		copy->d_type = ELF_T_BYTE;
		copy->d_align = 1;
		copy->d_off = 0;
	}
	extraction->end = (extraction->end + alignment - 1) / alignment * alignment;
	section->sh_offset = extraction->end;
	extraction->end += section->sh_size;
	return true;
}

/* Copies a section; one that is not needed keeps its header, without bytes. */
static bool
copy_section(Extraction *extraction, Elf_Scn *from)
{
	Elf_Scn *to = elf_newscn(extraction->to);
	GElf_Shdr section;
	const char *name;

	if (to == NULL || gelf_getshdr(from, &section) == NULL)
		return false;
	name = elf_strptr(extraction->from, extraction->names, section.sh_name);
	if (name == NULL)
		return false;
	if (section.sh_type != SHT_NOBITS && is_needed(name, &section))
	{
		if (!copy_bytes(extraction, from, to, &section))
			return false;
	}
	else
	{
		if ((section.sh_flags & SHF_ALLOC) == 0)
			section.sh_size = 0;
		section.sh_type = SHT_NOBITS;
		section.sh_flags &= ~(GElf_Xword) SHF_COMPRESSED;
		section.sh_offset = extraction->end;
	}
	return gelf_update_shdr(to, &section) != 0;
}

/* Copies the program headers, whose segments have no bytes in the new file. */
static bool
copy_segments(Extraction *extraction, size_t count)
{
	if (count == 0)
		return true;
	if (gelf_newphdr(extraction->to, count) == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
	{
		GElf_Phdr segment;

		if (gelf_getphdr(extraction->from, (int) i, &segment) == NULL)
			return false;
		segment.p_filesz = 0;
		if (segment.p_type == PT_NOTE)
			segment.p_type = PT_NULL;
		if (gelf_update_phdr(extraction->to, (int) i, &segment) == 0)
			return false;
	}
	return true;
}

/* Writes the new file: the ELF header, the program headers, and the sections. */
static bool
copy_all(Extraction *extraction)
{
	int class = gelf_getclass(extraction->from);
	GElf_Ehdr header;
	size_t segments;

	if (gelf_getehdr(extraction->from, &header) == NULL ||
		gelf_newehdr(extraction->to, class) == NULL ||
		elf_getphdrnum(extraction->from, &segments) != 0 ||
		elf_getshdrstrndx(extraction->from, &extraction->names) != 0)
		return false;
	(void) elf_flagelf(extraction->to, ELF_C_SET, ELF_F_LAYOUT);
	header.e_phoff = segments > 0 ? gelf_fsize(extraction->to, ELF_T_EHDR, 1, EV_CURRENT) : 0;
	extraction->end = gelf_fsize(extraction->to, ELF_T_EHDR, 1, EV_CURRENT) +
					  segments * gelf_fsize(extraction->to, ELF_T_PHDR, 1, EV_CURRENT);
	if (!copy_segments(extraction, segments))
		return false;
	for (Elf_Scn *section = elf_nextscn(extraction->from, NULL); section != NULL;
		 section = elf_nextscn(extraction->from, section))
	{
		if (!copy_section(extraction, section))
			return false;
	}
	header.e_shoff = (extraction->end + 7) & ~UINT64_C(7);
	return gelf_update_ehdr(extraction->to, &header) != 0 &&
		   elf_update(extraction->to, ELF_C_WRITE) >= 0;
}

/*
 * Reads the build ID, and decides whether the whole file is needed. Returns -ENOENT if it has no
 * DWARF, no symbol table and no table of Go's functions.
 */
static int
describe(int input, char build_id[ELF_BUILD_ID_TEXT_BYTES], bool *whole)
{
	ElfSource source = { .fd = input };
	ElfFile file = { 0 };
	struct stat status;
	int error;

	if (fstat(input, &status) != 0 || !S_ISREG(status.st_mode))
		return -ENOEXEC;
	source.size_bytes = (uint64_t) status.st_size;
	error = elf_file_init(&file, &source);
	if (error == 0 && file.build_id.size_bytes == 0)
		error = -ENODATA;
	*whole = error == 0 && !file.has_dwarf && debug_content_has_go_table(&source);
	if (error == 0 && !*whole && !file.has_dwarf && file.symbols[ELF_SYMTAB].count == 0)
		error = -ENOENT;
	if (error == 0)
		elf_build_id_text(&file.build_id, build_id);
	elf_file_fini(&file);
	return error;
}

/* Copies the whole file. Returns 0 or -EIO. */
static int
copy_file(int input, int output)
{
	char block[65536];
	off_t at = 0;
	ssize_t got;

	while ((got = pread(input, block, sizeof(block), at)) > 0)
	{
		if (write(output, block, (size_t) got) != got)
			return -EIO;
		at += got;
	}
	return got < 0 ? -EIO : 0;
}

int
debug_extract(int input, int output, char build_id[ELF_BUILD_ID_TEXT_BYTES])
{
	Extraction extraction = { NULL };
	bool whole;
	int error = describe(input, build_id, &whole);

	if (error != 0 || whole)
		return error != 0 ? error : copy_file(input, output);
	(void) elf_version(EV_CURRENT);
	extraction.from = elf_begin(input, ELF_C_READ, NULL);
	extraction.to = elf_begin(output, ELF_C_WRITE, NULL);
	error = extraction.from != NULL && extraction.to != NULL && copy_all(&extraction) ? 0 : -EIO;
	(void) elf_end(extraction.to);
	(void) elf_end(extraction.from);
	return error;
}
