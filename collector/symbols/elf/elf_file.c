/*
 * elf_file.c
 *		Reads headers, notes and tables of an ELF file.
 *
 *   1. elf_headers_read() checks byte order and limits of counts.
 *   2. read_segments() reads executable segments, and the build ID from the notes.
 *   3. read_sections() reads symbol tables, and by their names the sections for stubs, debug links
 *      and debug data.
 *   4. Symbols and strings are read in pieces when needed.
 */
#include "symbols/elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ELF_CODE_KEPT_MAX 1024 /* limit of executable segments, and of executable sections */
#define ELF_READ_SYMBOLS  256

/* Reads the executable segments, and the build ID from notes. */
static int
read_segments(ElfFile *file, ElfHeaders *headers)
{
	uint32_t loaded = 0;

	for (int pass = 0; pass < 2; pass++)
	{
		if (pass == 1 && loaded > 0)
		{
			file->segments = calloc(loaded, sizeof(*file->segments));
			if (file->segments == NULL)
				return -ENOMEM;
		}
		for (uint32_t i = 0; i < headers->segment_count; i++)
		{
			Elf64_Phdr segment;

			if (!elf_headers_segment(headers, i, &segment))
				continue;
			if (segment.p_type == PT_NOTE && pass == 0)
				elf_build_id_read(&file->build_id, &file->source,
								  &(ElfExtent){ segment.p_offset, segment.p_filesz },
								  segment.p_align);
			if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 ||
				segment.p_offset + segment.p_filesz < segment.p_offset)
				continue;
			if (pass == 0)
				loaded += loaded < ELF_CODE_KEPT_MAX;
			else if (file->segment_count < loaded)
				file->segments[file->segment_count++] =
					(ElfRange){ segment.p_vaddr, segment.p_offset, segment.p_filesz };
		}
	}
	return 0;
}

/* Sets a symbol table and its strings if both lie inside of the file. */
static void
elf_file_note_symbols(ElfFile *file, ElfHeaders *headers, const Elf64_Shdr *section)
{
	ElfSymbols *symbols = &file->symbols[section->sh_type == SHT_SYMTAB ? ELF_SYMTAB : ELF_DYNSYM];
	uint64_t entry_bytes = file->is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint64_t count = section->sh_size / entry_bytes;
	Elf64_Shdr strings;

	if (symbols->count > 0 || count == 0 || section->sh_link >= headers->section_count ||
		(section->sh_flags & SHF_COMPRESSED) != 0 ||
		!elf_source_holds(&file->source, section->sh_offset, count, entry_bytes) ||
		!elf_headers_section(headers, section->sh_link, &strings) ||
		strings.sh_type != SHT_STRTAB || (strings.sh_flags & SHF_COMPRESSED) != 0 ||
		!elf_source_holds(&file->source, strings.sh_offset, strings.sh_size, 1))
		return;
	symbols->offset = section->sh_offset;
	symbols->count = count > ELF_SYMBOLS_MAX ? ELF_SYMBOLS_MAX : (uint32_t) count;
	symbols->strings = (ElfExtent){ strings.sh_offset, strings.sh_size };
}

static void
note_relocations(ElfFile *file, const char *name, const Elf64_Shdr *section)
{
	bool addend = section->sh_type == SHT_RELA;
	bool plt = strcmp(name, addend ? ".rela.plt" : ".rel.plt") == 0;
	uint64_t entry_bytes = file->is_64_bit ? (addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel))
										   : (addend ? sizeof(Elf32_Rela) : sizeof(Elf32_Rel));
	uint64_t count = section->sh_size / entry_bytes;

	if ((!plt && strcmp(name, addend ? ".rela.dyn" : ".rel.dyn") != 0) ||
		!elf_source_holds(&file->source, section->sh_offset, count, entry_bytes))
		return;
	if (count > ELF_RELOCATIONS_MAX)
		count = ELF_RELOCATIONS_MAX;
	file->relocations[plt ? 0 : 1] =
		(ElfRelocations){ section->sh_offset, (uint32_t) count, addend };
}

static void
note_code(ElfFile *file, const char *name, const Elf64_Shdr *section)
{
	if (file->section_count == ELF_CODE_KEPT_MAX ||
		section->sh_addr + section->sh_size < section->sh_addr)
		return;
	file->sections[file->section_count++] = (ElfSection){
		.range = { section->sh_addr, section->sh_offset, section->sh_size },
		.kind = strncmp(name, ".plt", 4) == 0 ? ELF_SECTION_PLT : ELF_SECTION_CODE,
		.entry_bytes = section->sh_entsize == 8 ? 8 : 16,
	};
}

/* Sets the fields of sections that are recognized by their names. */
static void
note_named(ElfFile *file, const char *name, const Elf64_Shdr *section)
{
	ElfExtent extent = { section->sh_offset, section->sh_size };

	if (section->sh_type == SHT_NOBITS ||
		!elf_source_holds(&file->source, section->sh_offset, section->sh_size, 1))
		return;
	if (strcmp(name, ".gnu_debuglink") == 0)
		file->debug_link = extent;
	else if (strcmp(name, ".gnu_debugaltlink") == 0)
		file->debug_alt_link = extent;
	else if (strcmp(name, ".gnu_debugdata") == 0)
		file->debug_data = extent;
	else if (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0)
		file->has_dwarf = true;
}

static int
compare_sections(const void *a, const void *b)
{
	uint64_t left = ((const ElfSection *) a)->range.address;
	uint64_t right = ((const ElfSection *) b)->range.address;

	return (left > right) - (left < right);
}

/* Reads the section headers: symbol tables, relocations and executable sections. */
static int
read_sections(ElfFile *file, ElfHeaders *headers)
{
	ElfSection *shrunk;

	if (headers->section_count == 0)
		return 0;
	file->sections = calloc(ELF_CODE_KEPT_MAX, sizeof(*file->sections));
	if (file->sections == NULL)
		return -ENOMEM;
	for (uint32_t i = 1; i < headers->section_count; i++)
	{
		Elf64_Shdr section;
		char name[ELF_NAME_BYTES];

		if (!elf_headers_section(headers, i, &section))
			continue;
		if (!elf_headers_name(headers, &section, name))
			name[0] = '\0';
		if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
			elf_file_note_symbols(file, headers, &section);
		else if (section.sh_type == SHT_RELA || section.sh_type == SHT_REL)
			note_relocations(file, name, &section);
		else if (section.sh_type == SHT_NOTE)
			elf_build_id_read(&file->build_id, &file->source,
							  &(ElfExtent){ section.sh_offset, section.sh_size },
							  section.sh_addralign);
		else if ((section.sh_flags & SHF_EXECINSTR) != 0)
			note_code(file, name, &section);
		else
			note_named(file, name, &section);
	}
	qsort(file->sections, file->section_count, sizeof(*file->sections), compare_sections);
	shrunk = realloc(file->sections, (file->section_count + 1) * sizeof(*file->sections));
	if (shrunk != NULL)
		file->sections = shrunk;
	return 0;
}

/* Describes the file whose headers were read with the result err. Returns like elf_file_init(). */
static int
elf_file_describe_file(ElfFile *file, ElfHeaders *headers, int err)
{
	memset(file, 0, sizeof(*file));
	file->source = headers->source;
	file->machine = headers->machine;
	file->is_64_bit = headers->is_64_bit;
	if (err == 0)
		err = read_segments(file, headers);
	if (err == 0)
		err = read_sections(file, headers);
	if (err != 0)
		elf_file_fini(file);
	return err;
}

int
elf_file_init(ElfFile *file, const ElfSource *source)
{
	ElfHeaders headers;
	int err = elf_headers_read(&headers, source);

	return elf_file_describe_file(file, &headers, err);
}

int
elf_file_init_supplement(ElfFile *file, const ElfSource *source)
{
	ElfHeaders headers;
	int err = elf_headers_read_supplement(&headers, source);

	return elf_file_describe_file(file, &headers, err);
}

void
elf_file_fini(ElfFile *file)
{
	free(file->segments);
	free(file->sections);
	memset(file, 0, sizeof(*file));
	file->source.fd = -1;
}

bool
elf_file_address(const ElfFile *file, uint64_t offset, uint64_t *address)
{
	const uint64_t page_mask = 4095;

	/*
	 * The kernel maps whole pages, so code may run in the rest of a segment's first or last page. A
	 * segment that contains the offset itself has precedence.
	 */
	for (int whole_pages = 0; whole_pages < 2; whole_pages++)
	{
		for (uint32_t i = 0; i < file->segment_count; i++)
		{
			const ElfRange *segment = &file->segments[i];
			uint64_t begin = segment->offset;
			uint64_t end = segment->offset + segment->size_bytes;

			if (whole_pages)
			{
				begin &= ~page_mask;
				end = end + page_mask > end ? (end + page_mask) & ~page_mask : end;
			}
			if (offset >= begin && offset < end)
			{
				*address = segment->address + (offset - segment->offset);
				return true;
			}
		}
	}
	return false;
}

const ElfSection *
elf_file_section(const ElfFile *file, uint64_t address)
{
	uint32_t low = 0;
	uint32_t high = file->section_count;

	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;

		if (file->sections[middle].range.address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 ||
		address - file->sections[low - 1].range.address >= file->sections[low - 1].range.size_bytes)
		return NULL;
	return &file->sections[low - 1];
}

uint32_t
elf_file_read_symbols(const ElfFile *file, ElfSymbolsKind kind, uint32_t index, ElfSymbol *symbols,
					  uint32_t count)
{
	const ElfSymbols *table = &file->symbols[kind];
	uint32_t done = 0;

	if (index >= table->count)
		return 0;
	if (count > table->count - index)
		count = table->count - index;
	while (done < count)
	{
		union
		{
			Elf64_Sym wide[ELF_READ_SYMBOLS];
			Elf32_Sym small[ELF_READ_SYMBOLS];
		} read;
		size_t entry_bytes = file->is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
		uint32_t step = count - done < ELF_READ_SYMBOLS ? count - done : ELF_READ_SYMBOLS;
		uint64_t offset = table->offset + (uint64_t) (index + done) * entry_bytes;

		if (!elf_source_read(&file->source, offset, &read, step * entry_bytes))
			break;
		for (uint32_t i = 0; i < step; i++)
		{
			const Elf64_Sym *wide = &read.wide[i];
			const Elf32_Sym *small = &read.small[i];

			if (file->is_64_bit)
				symbols[done + i] = (ElfSymbol){ wide->st_value,
												 wide->st_size,
												 wide->st_name,
												 wide->st_shndx,
												 ELF64_ST_TYPE(wide->st_info),
												 ELF64_ST_BIND(wide->st_info) };
			else
				symbols[done + i] = (ElfSymbol){ small->st_value,
												 small->st_size,
												 small->st_name,
												 small->st_shndx,
												 ELF32_ST_TYPE(small->st_info),
												 ELF32_ST_BIND(small->st_info) };
		}
		done += step;
	}
	return done;
}

bool
elf_file_find_symbol(const ElfFile *file, ElfSymbolsKind kind, const char *name, uint32_t types,
					 ElfSymbol *found)
{
	const ElfSymbols *table = &file->symbols[kind];

	for (uint32_t at = 0; at < table->count;)
	{
		ElfSymbol symbols[ELF_READ_SYMBOLS];
		uint32_t count = elf_file_read_symbols(file, kind, at, symbols, ELF_READ_SYMBOLS);

		if (count == 0)
			return false;
		for (uint32_t i = 0; i < count; i++)
		{
			char text[ELF_NAME_BYTES];

			if (symbols[i].section != SHN_UNDEF && (types >> symbols[i].type & 1) != 0 &&
				elf_source_string(&file->source, &table->strings, symbols[i].name_offset, text,
								  sizeof(text)) &&
				strcmp(text, name) == 0)
			{
				*found = symbols[i];
				return true;
			}
		}
		at += count;
	}
	return false;
}

bool
elf_file_find_any_symbol(const ElfFile *file, const char *name, uint32_t types, ElfSymbol *found)
{
	return elf_file_find_symbol(file, ELF_DYNSYM, name, types, found) ||
		   elf_file_find_symbol(file, ELF_SYMTAB, name, types, found);
}

bool
elf_file_slot_symbol(const ElfFile *file, uint64_t slot, char *name, size_t size_bytes)
{
	for (int i = 0; i < ELF_RELOCATION_TABLES; i++)
	{
		const ElfRelocations *table = &file->relocations[i];
		size_t word_bytes = file->is_64_bit ? 8 : 4;
		size_t entry_bytes = (table->addend ? 3 : 2) * word_bytes;
		uint8_t block[256 * 3 * 8];
		uint32_t step = (uint32_t) (sizeof(block) / entry_bytes);

		for (uint32_t at = 0; at < table->count; at += step)
		{
			uint32_t count = table->count - at < step ? table->count - at : step;

			if (!elf_source_read(&file->source, table->offset + (uint64_t) at * entry_bytes, block,
								 count * entry_bytes))
				break;
			for (uint32_t j = 0; j < count; j++)
			{
				uint64_t words[2] = { 0, 0 };
				uint32_t small[2];
				ElfSymbol symbol;

				if (file->is_64_bit)
					memcpy(words, block + j * entry_bytes, sizeof(words));
				else
				{
					memcpy(small, block + j * entry_bytes, sizeof(small));
					words[0] = small[0];
					words[1] = small[1];
				}
				if (words[0] != slot)
					continue;
				return elf_file_read_symbols(file, ELF_DYNSYM,
											 file->is_64_bit ? (uint32_t) ELF64_R_SYM(words[1])
															 : (uint32_t) ELF32_R_SYM(words[1]),
											 &symbol, 1) == 1 &&
					   elf_source_string(&file->source, &file->symbols[ELF_DYNSYM].strings,
										 symbol.name_offset, name, size_bytes) &&
					   name[0] != '\0';
			}
		}
	}
	return false;
}
