/*
 * elf_file.c
 *		Reads headers, notes and tables of an ELF file, checking every offset and count.
 *
 * 1. read_header: 64 bits, our byte order, counts within limits.
 * 2. read_segments: executable ones, and the build ID among the notes.
 * 3. read_sections: symbol tables, and by name what stubs, debug links and debug data need.
 * 4. Later, what is asked for: symbols and strings in pieces, at the places noted above.
 *
 * Every read goes through elf_source_read, which knows the file's size or the bytes in memory.
 */
#include "symbols/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ELF_SEGMENTS_MAX	4096
#define ELF_SECTIONS_MAX	65536
#define ELF_CODE_KEPT_MAX	1024 /* executable segments, and executable sections */
#define ELF_NOTES_MAX_BYTES 65536
#define ELF_NAME_BYTES		32 /* holds every section name that matters here */
#define ELF_READ_SYMBOLS	256

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ELF_NATIVE_DATA ELFDATA2LSB
#else
#define ELF_NATIVE_DATA ELFDATA2MSB
#endif

/* The ELF header's fields that are used, whatever the class. */
typedef struct Header
{
	uint64_t segments_offset;
	uint64_t sections_offset;
	uint32_t segment_count;
	uint32_t section_count;
	uint32_t names_index;
} Header;

bool
elf_source_read(const ElfSource *source, uint64_t offset, void *buffer, size_t size_bytes)
{
	uint8_t *target = buffer;

	if (offset > source->size_bytes || size_bytes > source->size_bytes - offset)
		return false;
	if (source->fd < 0)
	{
		memcpy(target, source->memory + offset, size_bytes);
		return true;
	}
	while (size_bytes > 0)
	{
		ssize_t got = pread(source->fd, target, size_bytes, (off_t) offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		target += got;
		offset += (uint64_t) got;
		size_bytes -= (size_t) got;
	}
	return true;
}

/* Whether count entries lie inside of the file. */
static bool
extent_holds(const ElfSource *source, uint64_t offset, uint64_t count, uint64_t entry_bytes)
{
	return offset <= source->size_bytes && count <= (source->size_bytes - offset) / entry_bytes;
}

static bool
read_segment_header(const ElfFile *file, const Header *header, uint32_t index, Elf64_Phdr *segment)
{
	Elf32_Phdr small;

	if (file->is_64_bit)
		return elf_source_read(&file->source, header->segments_offset + index * sizeof(*segment),
							   segment, sizeof(*segment));
	if (!elf_source_read(&file->source, header->segments_offset + index * sizeof(small), &small,
						 sizeof(small)))
		return false;
	*segment = (Elf64_Phdr){ .p_type = small.p_type,
							 .p_flags = small.p_flags,
							 .p_offset = small.p_offset,
							 .p_vaddr = small.p_vaddr,
							 .p_filesz = small.p_filesz,
							 .p_memsz = small.p_memsz,
							 .p_align = small.p_align };
	return true;
}

static bool
read_section_header(const ElfFile *file, const Header *header, uint32_t index, Elf64_Shdr *section)
{
	Elf32_Shdr small;

	if (file->is_64_bit)
		return elf_source_read(&file->source, header->sections_offset + index * sizeof(*section),
							   section, sizeof(*section));
	if (!elf_source_read(&file->source, header->sections_offset + index * sizeof(small), &small,
						 sizeof(small)))
		return false;
	*section = (Elf64_Shdr){ .sh_name = small.sh_name,
							 .sh_type = small.sh_type,
							 .sh_flags = small.sh_flags,
							 .sh_addr = small.sh_addr,
							 .sh_offset = small.sh_offset,
							 .sh_size = small.sh_size,
							 .sh_link = small.sh_link,
							 .sh_info = small.sh_info,
							 .sh_addralign = small.sh_addralign,
							 .sh_entsize = small.sh_entsize };
	return true;
}

/*
 * Fills header and the file's class and machine. Counts that do not fit into the ELF header stand
 * in section 0 (System V gABI, "ELF Header"); a table that does not fit into the file becomes
 * empty.
 */
static int
read_header(ElfFile *file, Header *header)
{
	const ElfSource *source = &file->source;
	unsigned char ident[EI_NIDENT];
	Elf64_Ehdr wide;
	Elf32_Ehdr small;
	Elf64_Shdr first;
	uint16_t type;

	if (!elf_source_read(source, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
		ident[EI_DATA] != ELF_NATIVE_DATA ||
		(ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32))
		return -ENOEXEC;
	file->is_64_bit = ident[EI_CLASS] == ELFCLASS64;
	if (file->is_64_bit)
	{
		if (!elf_source_read(source, 0, &wide, sizeof(wide)))
			return -ENOEXEC;
		*header =
			(Header){ wide.e_phoff, wide.e_shoff, wide.e_phnum, wide.e_shnum, wide.e_shstrndx };
		file->machine = wide.e_machine;
		type = wide.e_type;
	}
	else
	{
		if (!elf_source_read(source, 0, &small, sizeof(small)))
			return -ENOEXEC;
		*header = (Header){ small.e_phoff, small.e_shoff, small.e_phnum, small.e_shnum,
							small.e_shstrndx };
		file->machine = small.e_machine;
		type = small.e_type;
	}
	if (type != ET_EXEC && type != ET_DYN)
		return -ENOEXEC;

	if (header->sections_offset != 0 && extent_holds(source, header->sections_offset, 1, 64) &&
		read_section_header(file, header, 0, &first))
	{
		if (header->section_count == 0)
			header->section_count = first.sh_size > UINT32_MAX ? 0 : (uint32_t) first.sh_size;
		if (header->names_index == SHN_XINDEX)
			header->names_index = first.sh_link;
		if (header->segment_count == PN_XNUM)
			header->segment_count = first.sh_info;
	}
	if (header->segment_count > ELF_SEGMENTS_MAX ||
		!extent_holds(source, header->segments_offset, header->segment_count,
					  file->is_64_bit ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		header->segment_count = 0;
	if (header->section_count > ELF_SECTIONS_MAX ||
		!extent_holds(source, header->sections_offset, header->section_count,
					  file->is_64_bit ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		header->section_count = 0;
	return header->segment_count + header->section_count > 0 ? 0 : -ENOEXEC;
}

/* Looks for NT_GNU_BUILD_ID among the notes of a segment or section. */
static void
read_notes(ElfFile *file, uint64_t offset, uint64_t size_bytes, uint64_t alignment)
{
	uint64_t mask = alignment == 8 ? 7 : 3;
	uint64_t at = 0;

	if (size_bytes > ELF_NOTES_MAX_BYTES)
		size_bytes = ELF_NOTES_MAX_BYTES;
	while (file->build_id_bytes == 0 && at + sizeof(Elf64_Nhdr) <= size_bytes)
	{
		Elf64_Nhdr note;
		uint64_t description;
		char name[4];

		if (!elf_source_read(&file->source, offset + at, &note, sizeof(note)))
			return;
		description = at + sizeof(note) + ((note.n_namesz + mask) & ~mask);
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(name) && note.n_descsz > 0 &&
			note.n_descsz <= ELF_BUILD_ID_MAX_BYTES && description + note.n_descsz <= size_bytes &&
			elf_source_read(&file->source, offset + at + sizeof(note), name, sizeof(name)) &&
			memcmp(name, "GNU", sizeof(name)) == 0 &&
			elf_source_read(&file->source, offset + description, file->build_id, note.n_descsz))
			file->build_id_bytes = note.n_descsz;
		at = description + ((note.n_descsz + mask) & ~mask);
	}
}

static int
read_segments(ElfFile *file, const Header *header)
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
		for (uint32_t i = 0; i < header->segment_count; i++)
		{
			Elf64_Phdr segment;

			if (!read_segment_header(file, header, i, &segment))
				continue;
			if (segment.p_type == PT_NOTE && pass == 0)
				read_notes(file, segment.p_offset, segment.p_filesz, segment.p_align);
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

/* A symbol table and its strings, where both lie inside of the file. */
static void
note_symbols(ElfFile *file, const Header *header, const Elf64_Shdr *section)
{
	ElfSymbols *symbols = &file->symbols[section->sh_type == SHT_SYMTAB ? ELF_SYMTAB : ELF_DYNSYM];
	uint64_t entry_bytes = file->is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint64_t count = section->sh_size / entry_bytes;
	Elf64_Shdr strings;

	if (symbols->count > 0 || count == 0 || count > UINT32_MAX ||
		section->sh_link >= header->section_count || (section->sh_flags & SHF_COMPRESSED) != 0 ||
		!extent_holds(&file->source, section->sh_offset, count, entry_bytes) ||
		!read_section_header(file, header, section->sh_link, &strings) ||
		strings.sh_type != SHT_STRTAB || (strings.sh_flags & SHF_COMPRESSED) != 0 ||
		!extent_holds(&file->source, strings.sh_offset, strings.sh_size, 1))
		return;
	symbols->offset = section->sh_offset;
	symbols->count = (uint32_t) count;
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

	if ((!plt && strcmp(name, addend ? ".rela.dyn" : ".rel.dyn") != 0) || count > UINT32_MAX ||
		!extent_holds(&file->source, section->sh_offset, count, entry_bytes))
		return;
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

/* Sections that are found by their names. */
static void
note_named(ElfFile *file, const char *name, const Elf64_Shdr *section)
{
	ElfExtent extent = { section->sh_offset, section->sh_size };

	if (section->sh_type == SHT_NOBITS ||
		!extent_holds(&file->source, section->sh_offset, section->sh_size, 1))
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

static int
read_sections(ElfFile *file, const Header *header)
{
	Elf64_Shdr names = { 0 };
	ElfExtent names_extent;
	ElfSection *shrunk;

	if (header->section_count == 0)
		return 0;
	file->sections = calloc(ELF_CODE_KEPT_MAX, sizeof(*file->sections));
	if (file->sections == NULL)
		return -ENOMEM;
	if (header->names_index < header->section_count)
		(void) read_section_header(file, header, header->names_index, &names);
	names_extent = (ElfExtent){ names.sh_offset, names.sh_size };

	for (uint32_t i = 1; i < header->section_count; i++)
	{
		Elf64_Shdr section;
		char name[ELF_NAME_BYTES];

		if (!read_section_header(file, header, i, &section))
			continue;
		if (!elf_file_read_string(file, &names_extent, section.sh_name, name, sizeof(name)))
			name[0] = '\0';
		if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
			note_symbols(file, header, &section);
		else if (section.sh_type == SHT_RELA || section.sh_type == SHT_REL)
			note_relocations(file, name, &section);
		else if (section.sh_type == SHT_NOTE)
			read_notes(file, section.sh_offset, section.sh_size, section.sh_addralign);
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

int
elf_file_init(ElfFile *file, const ElfSource *source)
{
	Header header = { 0 };
	int err;

	memset(file, 0, sizeof(*file));
	file->source = *source;
	err = read_header(file, &header);
	if (err == 0)
		err = read_segments(file, &header);
	if (err == 0)
		err = read_sections(file, &header);
	if (err != 0)
		elf_file_fini(file);
	return err;
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
	 * the kernel maps whole pages: code may run in what surrounds a segment, but what a segment
	 * holds wins
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
elf_file_read_string(const ElfFile *file, const ElfExtent *strings, uint64_t offset, char *text,
					 size_t size_bytes)
{
	const size_t step_bytes = 256;
	size_t done = 0;

	if (offset >= strings->size_bytes)
		return false;
	while (done < size_bytes - 1)
	{
		uint64_t left = strings->size_bytes - offset - done;
		size_t want = size_bytes - 1 - done < step_bytes ? size_bytes - 1 - done : step_bytes;

		if (want > left)
			want = (size_t) left;
		if (want == 0 ||
			!elf_source_read(&file->source, strings->offset + offset + done, text + done, want))
			return false;
		if (memchr(text + done, '\0', want) != NULL)
			return true;
		done += want;
	}
	text[done] = '\0';
	return true;
}

bool
elf_file_slot_symbol(const ElfFile *file, uint64_t slot, char *name, size_t size_bytes)
{
	for (int i = 0; i < ELF_RELOCATIONS_MAX; i++)
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
					   elf_file_read_string(file, &file->symbols[ELF_DYNSYM].strings,
											symbol.name_offset, name, size_bytes) &&
					   name[0] != '\0';
			}
		}
	}
	return false;
}
