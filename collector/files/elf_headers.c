/*
 * elf_headers.c
 *		Reads ELF headers in pieces and checks every offset and count.
 *
 * Every read goes through elf_source_read(), which checks it against the size of the file or
 * memory.
 */
#include "files/elf_headers.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#define ELF_SEGMENTS_MAX	4096
#define ELF_SECTIONS_MAX	8192 /* each may cost two reads */
#define ELF_NOTES_MAX_BYTES 65536
/* limit for each file, because many section headers may name the same bytes */
#define ELF_NOTES_MAX		4096

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ELF_NATIVE_DATA ELFDATA2LSB
#else
#define ELF_NATIVE_DATA ELFDATA2MSB
#endif

bool
elf_build_ids_differ(const ElfBuildId *one, const ElfBuildId *other)
{
	return one->size_bytes > 0 && other->size_bytes > 0 &&
		   (one->size_bytes != other->size_bytes ||
			memcmp(one->bytes, other->bytes, one->size_bytes) != 0);
}

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

/*
 * Like elf_source_read(), but reads through a window of the file, which is moved to the requested
 * bytes if it does not contain them.
 */
static bool
read_in_window(const ElfSource *source, ElfWindow *window, uint64_t offset, void *buffer,
			   size_t size_bytes)
{
	if (offset > source->size_bytes || size_bytes > source->size_bytes - offset)
		return false;
	if (offset < window->offset || offset - window->offset > window->length ||
		size_bytes > window->length - (offset - window->offset))
	{
		window->offset = offset;
		window->length = (size_t) MIN(source->size_bytes - offset, ELF_WINDOW_BYTES);
		if (!elf_source_read(source, offset, window->bytes, window->length))
			window->length = 0;
		/* the file may have been truncated since its size was read */
		if (window->length < size_bytes)
			return elf_source_read(source, offset, buffer, size_bytes);
	}
	memcpy(buffer, window->bytes + (offset - window->offset), size_bytes);
	return true;
}

bool
elf_source_holds(const ElfSource *source, uint64_t offset, uint64_t count, uint64_t entry_bytes)
{
	return offset <= source->size_bytes && count <= (source->size_bytes - offset) / entry_bytes;
}

bool
elf_source_string(const ElfSource *source, const ElfExtent *strings, uint64_t offset, char *text,
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
			!elf_source_read(source, strings->offset + offset + done, text + done, want))
			return false;
		if (memchr(text + done, '\0', want) != NULL)
			return true;
		done += want;
	}
	text[done] = '\0';
	return true;
}

bool
elf_headers_segment(ElfHeaders *headers, uint32_t index, Elf64_Phdr *segment)
{
	Elf32_Phdr small;

	if (headers->is_64_bit)
		return read_in_window(&headers->source, &headers->tables,
							  headers->segments_offset + index * sizeof(*segment), segment,
							  sizeof(*segment));
	if (!read_in_window(&headers->source, &headers->tables,
						headers->segments_offset + index * sizeof(small), &small, sizeof(small)))
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

bool
elf_headers_section(ElfHeaders *headers, uint32_t index, Elf64_Shdr *section)
{
	Elf32_Shdr small;

	if (headers->is_64_bit)
		return read_in_window(&headers->source, &headers->tables,
							  headers->sections_offset + index * sizeof(*section), section,
							  sizeof(*section));
	if (!read_in_window(&headers->source, &headers->tables,
						headers->sections_offset + index * sizeof(small), &small, sizeof(small)))
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
 * Reads the headers of a file. types is a set of accepted ELF types, one bit each. Counts that do
 * not fit into the ELF header are read from section 0 (System V gABI, "ELF Header").
 */
static int
read_headers(ElfHeaders *headers, const ElfSource *source, unsigned types)
{
	unsigned char ident[EI_NIDENT];
	Elf64_Ehdr wide;
	Elf32_Ehdr small;
	Elf64_Shdr names;
	Elf64_Shdr first;
	uint32_t names_index;
	uint16_t type;

	memset(headers, 0, sizeof(*headers));
	headers->source = *source;
	if (!elf_source_read(source, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
		ident[EI_DATA] != ELF_NATIVE_DATA ||
		(ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32))
		return -ENOEXEC;
	headers->is_64_bit = ident[EI_CLASS] == ELFCLASS64;
	if (headers->is_64_bit)
	{
		if (!elf_source_read(source, 0, &wide, sizeof(wide)))
			return -ENOEXEC;
		headers->segments_offset = wide.e_phoff;
		headers->sections_offset = wide.e_shoff;
		headers->segment_count = wide.e_phnum;
		headers->section_count = wide.e_shnum;
		names_index = wide.e_shstrndx;
		headers->machine = wide.e_machine;
		headers->entry = wide.e_entry;
		type = wide.e_type;
	}
	else
	{
		if (!elf_source_read(source, 0, &small, sizeof(small)))
			return -ENOEXEC;
		headers->segments_offset = small.e_phoff;
		headers->sections_offset = small.e_shoff;
		headers->segment_count = small.e_phnum;
		headers->section_count = small.e_shnum;
		names_index = small.e_shstrndx;
		headers->machine = small.e_machine;
		headers->entry = small.e_entry;
		type = small.e_type;
	}
	if (type > ET_DYN || (types & 1U << type) == 0)
		return -ENOEXEC;

	if (headers->sections_offset != 0 &&
		elf_source_holds(source, headers->sections_offset, 1, 64) &&
		elf_headers_section(headers, 0, &first))
	{
		if (headers->section_count == 0)
			headers->section_count = first.sh_size > UINT32_MAX ? 0 : (uint32_t) first.sh_size;
		if (names_index == SHN_XINDEX)
			names_index = first.sh_link;
		if (headers->segment_count == PN_XNUM)
			headers->segment_count = first.sh_info;
	}
	if (headers->segment_count > ELF_SEGMENTS_MAX ||
		!elf_source_holds(source, headers->segments_offset, headers->segment_count,
						  headers->is_64_bit ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		headers->segment_count = 0;
	if (headers->section_count > ELF_SECTIONS_MAX ||
		!elf_source_holds(source, headers->sections_offset, headers->section_count,
						  headers->is_64_bit ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		headers->section_count = 0;
	if (names_index < headers->section_count && elf_headers_section(headers, names_index, &names))
		headers->names = (ElfExtent){ names.sh_offset, names.sh_size };
	return headers->segment_count + headers->section_count > 0 ? 0 : -ENOEXEC;
}

int
elf_headers_read(ElfHeaders *headers, const ElfSource *source)
{
	return read_headers(headers, source, 1U << ET_EXEC | 1U << ET_DYN);
}

int
elf_headers_read_supplement(ElfHeaders *headers, const ElfSource *source)
{
	return read_headers(headers, source, 1U << ET_REL | 1U << ET_EXEC | 1U << ET_DYN);
}

bool
elf_headers_name(ElfHeaders *headers, const Elf64_Shdr *section, char name[ELF_NAME_BYTES])
{
	const ElfExtent *names = &headers->names;
	uint64_t left = section->sh_name < names->size_bytes ? names->size_bytes - section->sh_name : 0;
	size_t length = (size_t) MIN(left, ELF_NAME_BYTES - 1);

	if (length == 0 || !read_in_window(&headers->source, &headers->texts,
									   names->offset + section->sh_name, name, length))
		return false;
	name[length] = '\0';
	return length == ELF_NAME_BYTES - 1 || memchr(name, '\0', length) != NULL;
}

bool
elf_headers_find_section(ElfHeaders *headers, const char *name, Elf64_Shdr *section)
{
	for (uint32_t i = 0; i < headers->section_count; i++)
	{
		char found[ELF_NAME_BYTES];

		if (elf_headers_section(headers, i, section) && elf_headers_name(headers, section, found) &&
			strcmp(found, name) == 0)
			return true;
	}
	return false;
}

bool
elf_headers_read_at(ElfHeaders *headers, uint64_t address, void *buffer, size_t size_bytes)
{
	for (uint32_t i = 0; i < headers->segment_count; i++)
	{
		Elf64_Phdr segment;

		if (elf_headers_segment(headers, i, &segment) && segment.p_type == PT_LOAD &&
			address >= segment.p_vaddr && segment.p_filesz >= size_bytes &&
			address - segment.p_vaddr <= segment.p_filesz - size_bytes)
			return elf_source_read(&headers->source, segment.p_offset + address - segment.p_vaddr,
								   buffer, size_bytes);
	}
	return false;
}

void
elf_build_id_text(const ElfBuildId *id, char text[ELF_BUILD_ID_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	for (uint32_t i = 0; i < id->size_bytes; i++)
	{
		text[2 * i] = digits[id->bytes[i] >> 4];
		text[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	text[2 * id->size_bytes] = '\0';
}

void
elf_build_id_read(ElfBuildId *id, const ElfSource *source, const ElfExtent *notes,
				  uint64_t alignment)
{
	uint64_t mask = alignment == 8 ? 7 : 3;
	uint64_t size_bytes =
		notes->size_bytes < ELF_NOTES_MAX_BYTES ? notes->size_bytes : ELF_NOTES_MAX_BYTES;
	uint64_t at = 0;

	while (id->size_bytes == 0 && id->notes < ELF_NOTES_MAX &&
		   at + sizeof(Elf64_Nhdr) <= size_bytes)
	{
		Elf64_Nhdr note;
		uint64_t description;
		char name[4];

		id->notes++;
		if (!elf_source_read(source, notes->offset + at, &note, sizeof(note)))
			return;
		description = at + sizeof(note) + ((note.n_namesz + mask) & ~mask);
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(name) && note.n_descsz > 0 &&
			note.n_descsz <= ELF_BUILD_ID_MAX_BYTES && description + note.n_descsz <= size_bytes &&
			elf_source_read(source, notes->offset + at + sizeof(note), name, sizeof(name)) &&
			memcmp(name, "GNU", sizeof(name)) == 0 &&
			elf_source_read(source, notes->offset + description, id->bytes, note.n_descsz))
			id->size_bytes = note.n_descsz;
		at = description + ((note.n_descsz + mask) & ~mask);
	}
}
