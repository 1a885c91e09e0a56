/*
 * go_module.c
 *		Searches for the description of a Go module: in data sections or, if the loader fills these,
 *		in relocations.
 */
#include "symbols/elf/go_module.h"

#include <string.h>

/* Offsets in the description (runtime/symtab.go); the address of the table is its first word. */
#define MODULE_NAMES	 8
#define MODULE_TEXT		 176
#define MODULE_DATA_1_18 304
#define MODULE_DATA		 320

/* limit of the bytes of data sections that are searched */
#define SCAN_BYTES		(UINT64_C(64) << 20)
#define RELOCATIONS_MAX (UINT64_C(1) << 21)
#define CHUNK_WORDS		4096

/* A search for the description. */
typedef struct Search
{
	ElfHeaders headers;
	const GoModule *module;
	uint64_t bytes_left;
	uint64_t relocations_left;
} Search;

static uint32_t
data_offset(const GoModule *module)
{
	return module->is_1_18 ? MODULE_DATA_1_18 : MODULE_DATA;
}

static bool
go_module_read_word(Search *search, uint64_t address, uint64_t *word)
{
	return elf_headers_read_at(&search->headers, address, word, sizeof(*word));
}

/* Reads the address of the data from the description, if the description is at this address. */
static bool
read_description(Search *search, uint64_t address, uint64_t *data)
{
	uint64_t names;
	uint64_t text;

	return go_module_read_word(search, address + MODULE_NAMES, &names) &&
		   names == search->module->names &&
		   go_module_read_word(search, address + MODULE_TEXT, &text) &&
		   text == search->module->text &&
		   go_module_read_word(search, address + data_offset(search->module), data);
}

/* Searches a data section for the description. */
static bool
search_section(Search *search, const Elf64_Shdr *section, uint64_t *data)
{
	uint64_t words[CHUNK_WORDS];
	uint64_t at = 0;

	while (at + sizeof(words[0]) <= section->sh_size && search->bytes_left >= sizeof(words))
	{
		uint64_t left = (section->sh_size - at) / sizeof(words[0]);
		size_t count = left < CHUNK_WORDS ? (size_t) left : CHUNK_WORDS;

		if (!elf_source_read(&search->headers.source, section->sh_offset + at, words,
							 count * sizeof(words[0])))
			return false;
		search->bytes_left -= sizeof(words);
		for (size_t i = 0; i < count; i++)
		{
			if (words[i] == search->module->table &&
				read_description(search, section->sh_addr + at + i * sizeof(words[0]), data))
				return true;
		}
		at += count * sizeof(words[0]);
	}
	return false;
}

/*
 * Searches relocations, which linkers sort by place: the word with the address of the table, then
 * the other words of the description.
 */
static bool
search_relocations(Search *search, const Elf64_Shdr *section, uint64_t *data)
{
	Elf64_Rela entries[CHUNK_WORDS / 4];
	uint64_t count = section->sh_size / sizeof(entries[0]);
	uint64_t place = 0;
	unsigned matches = 0;

	for (uint64_t at = 0; at < count && search->relocations_left > 0;)
	{
		uint64_t left = count - at;
		size_t step = sizeof(entries) / sizeof(entries[0]);

		step = left < step ? (size_t) left : step;
		step = search->relocations_left < step ? (size_t) search->relocations_left : step;
		if (!elf_source_read(&search->headers.source, section->sh_offset + at * sizeof(entries[0]),
							 entries, step * sizeof(entries[0])))
			return false;
		for (size_t i = 0; i < step; i++)
		{
			uint64_t value = (uint64_t) entries[i].r_addend;
			uint64_t distance = entries[i].r_offset - place;

			if (value == search->module->table && matches < 2)
			{
				place = entries[i].r_offset;
				matches = 1;
			}
			else if (matches == 1 && distance == MODULE_NAMES && value == search->module->names)
				matches = 2;
			else if (matches == 2 && distance == MODULE_TEXT && value == search->module->text)
				matches = 3;
			else if (matches == 3 && distance == data_offset(search->module))
			{
				*data = value;
				return true;
			}
		}
		at += step;
		search->relocations_left -= step;
	}
	return false;
}

/* Finds the part of the file from an address to the end of its segment. */
static bool
find_extent(Search *search, uint64_t address, ElfExtent *extent)
{
	for (uint32_t i = 0; i < search->headers.segment_count; i++)
	{
		Elf64_Phdr segment;

		if (!elf_headers_segment(&search->headers, i, &segment) || segment.p_type != PT_LOAD ||
			address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*extent = (ElfExtent){ segment.p_offset + address - segment.p_vaddr,
							   segment.p_filesz - (address - segment.p_vaddr) };
		return true;
	}
	return false;
}

bool
go_module_find_data(const ElfSource *source, const GoModule *module, ElfExtent *data)
{
	Search search = { .module = module,
					  .bytes_left = SCAN_BYTES,
					  .relocations_left = RELOCATIONS_MAX };
	uint64_t address;

	if (elf_headers_read(&search.headers, source) != 0 || !search.headers.is_64_bit)
		return false;
	for (uint32_t i = 0; i < search.headers.section_count; i++)
	{
		Elf64_Shdr section;

		if (!elf_headers_section(&search.headers, i, &section))
			continue;
		if ((section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_WRITE) != 0 &&
			 search_section(&search, &section, &address)) ||
			(section.sh_type == SHT_RELA && search_relocations(&search, &section, &address)))
			return find_extent(&search, address, data);
	}
	return false;
}
