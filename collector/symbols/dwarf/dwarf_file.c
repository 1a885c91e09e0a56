/*
 * dwarf_file.c
 *		Finds DWARF sections by name.
 */
#include "symbols/dwarf/dwarf_file.h"

#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "symbols/dwarf/dwarf_abbrevs.h"

static const char *const section_names[DWARF_SECTIONS] = {
	[DWARF_INFO] = "info",
	[DWARF_ABBREV] = "abbrev",
	[DWARF_STR] = "str",
	[DWARF_LINE_STR] = "line_str",
	[DWARF_STR_OFFSETS] = "str_offsets",
	[DWARF_ADDR] = "addr",
	[DWARF_LINE] = "line",
	[DWARF_RANGES] = "ranges",
	[DWARF_RNGLISTS] = "rnglists",
	[DWARF_CU_INDEX] = "cu_index",
};

#define PREFIX		 ".debug_"
#define OLD_PREFIX	 ".zdebug_" /* compressed as GNU did before SHF_COMPRESSED */
#define SPLIT_SUFFIX ".dwo"

/* Returns the section with this name; DWARF_SECTIONS if the section is not needed. */
static DwarfSection
section_of_name(const char *name, bool split, bool *is_old)
{
	*is_old = strncmp(name, OLD_PREFIX, strlen(OLD_PREFIX)) == 0;
	if (!*is_old && strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return DWARF_SECTIONS;
	name += strlen(*is_old ? OLD_PREFIX : PREFIX);
	for (int i = 0; i < DWARF_SECTIONS; i++)
	{
		size_t length = strlen(section_names[i]);
		/* the index of a package has no suffix */
		const char *suffix = split && i != DWARF_CU_INDEX ? SPLIT_SUFFIX : "";

		if (strncmp(name, section_names[i], length) == 0 && strcmp(name + length, suffix) == 0)
			return (DwarfSection) i;
	}
	return DWARF_SECTIONS;
}

/* Reads the bytes of a section, unpacked. */
static DwarfSpan
read_section(Elf_Scn *section, const GElf_Shdr *header, bool is_old)
{
	DwarfSpan absent = { NULL, 0 };
	Elf_Data *data;

	/* this fails for a section that is unpacked already */
	if (is_old)
		(void) elf_compress_gnu(section, 0, 0);
	if ((header->sh_flags & SHF_COMPRESSED) != 0 && elf_compress(section, 0, 0) < 0)
		return absent;
	data = elf_getdata(section, NULL);
	return data != NULL && data->d_buf != NULL ? (DwarfSpan){ data->d_buf, data->d_size } : absent;
}

/* Cuts a string section after its last zero byte, so that each string in it ends. */
static void
cut_strings(DwarfSpan *span)
{
	while (span->size_bytes > 0 && span->bytes[span->size_bytes - 1] != '\0')
		span->size_bytes--;
}

/* Returns the size of an unpacked debug section from its header; 0 if it is not compressed. */
static uint64_t
dwarf_section_unpacked_size(Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
	uint8_t old_header[12]; /* "ZLIB", and the size in 64 bits, big-endian */
	GElf_Chdr compressed;
	Elf_Data *data;
	uint64_t size_bytes;

	if ((header->sh_flags & SHF_COMPRESSED) != 0)
		return gelf_getchdr(section, &compressed) != NULL ? compressed.ch_size : UINT64_MAX;
	if (strncmp(name, ".zdebug", strlen(".zdebug")) != 0)
		return 0;
	data = elf_rawdata(section, NULL);
	if (data == NULL || data->d_size < sizeof(old_header))
		return 0;
	memcpy(&size_bytes, (const char *) data->d_buf + 4, sizeof(size_bytes));
	return be64toh(size_bytes);
}

bool
dwarf_elf_fits(Elf *elf, bool split, uint64_t *room_bytes)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return true;
	while ((section = elf_nextscn(elf, section)) != NULL)
	{
		GElf_Shdr header;
		const char *name;
		uint64_t size_bytes;
		bool is_old;

		if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		/* the other sections, such as those of variables' places, stay compressed */
		if (name == NULL || section_of_name(name, split, &is_old) == DWARF_SECTIONS)
			continue;
		size_bytes = dwarf_section_unpacked_size(section, &header, name);
		if (size_bytes > *room_bytes)
			return false;
		*room_bytes -= size_bytes;
	}
	return true;
}

/* Makes a file without sections. */
static void
init_empty(DwarfFile *file)
{
	memset(file, 0, sizeof(*file));
	file->budget.limit_bytes = SIZE_MAX;
	table_init(&file->abbrevs, &file->budget, sizeof(DwarfAbbrevs *));
}

int
dwarf_file_init(DwarfFile *file, Elf *elf, bool split)
{
	Elf_Scn *section = NULL;
	size_t names;

	init_empty(file);
	if (elf_getshdrstrndx(elf, &names) != 0)
		return -ENODATA;
	while ((section = elf_nextscn(elf, section)) != NULL)
	{
		GElf_Shdr header;
		const char *name;
		DwarfSection number;
		bool is_old;

		if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		number = name != NULL ? section_of_name(name, split, &is_old) : DWARF_SECTIONS;
		if (number != DWARF_SECTIONS && file->sections[number].bytes == NULL)
			file->sections[number] = read_section(section, &header, is_old);
	}
	cut_strings(&file->sections[DWARF_STR]);
	cut_strings(&file->sections[DWARF_LINE_STR]);
	return file->sections[DWARF_INFO].bytes != NULL ? 0 : -ENODATA;
}

void
dwarf_file_init_part(DwarfFile *part, const DwarfFile *whole)
{
	init_empty(part);
	memcpy(part->sections, whole->sections, sizeof(part->sections));
}

void
dwarf_file_fini(DwarfFile *file)
{
	if (file->abbrevs.budget == NULL)
		return;
	for (uint32_t i = 0; i < file->abbrevs.count; i++)
		dwarf_abbrevs_free(*(DwarfAbbrevs **) table_item(&file->abbrevs, i));
	table_fini(&file->abbrevs);
	free(file->units);
	memset(file, 0, sizeof(*file));
}
