/*
 * cfi_sections.c
 *		Reads CFI sections within a budget.
 */
#include "unwind/cfi/cfi_sections.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "unwind/cfi/start_code.h"

/*
 * Where Go stores the start of its code: up to Go 1.25 in the header of its table, since Go 1.26 in
 * the module's description.
 */
#define PCLNTAB_TEXT   24
#define GO_MODULE_TEXT 176

typedef enum SectionKind
{
	SECTION_EH_FRAME,
	SECTION_DEBUG_FRAME,
	SECTION_INIT,
	SECTION_FINI,
	SECTION_INIT_ARRAY,
	SECTION_FINI_ARRAY,
	SECTION_PCLNTAB,
	SECTION_GO_MODULE,
	SECTION_PLT,
	/*
	 * The next four are no sections: the code of the first constructor, of the last destructor, and
	 * of the function that each of them calls.
	 */
	SECTION_START_CODE,
	SECTION_ENTRY = SECTION_START_CODE + 4 /* not a section: the code at the entry point */
} SectionKind;

static const struct
{
	const char *name;
	SectionKind kind;
} section_names[] = {
	{ ".eh_frame", SECTION_EH_FRAME },
	{ ".debug_frame", SECTION_DEBUG_FRAME },
	{ ".init", SECTION_INIT },
	{ ".fini", SECTION_FINI },
	{ ".init_array", SECTION_INIT_ARRAY },
	{ ".fini_array", SECTION_FINI_ARRAY },
	{ ".gopclntab", SECTION_PCLNTAB },
	{ ".data.rel.ro.gopclntab", SECTION_PCLNTAB },
	{ ".go.module", SECTION_GO_MODULE },
	{ ".plt", SECTION_PLT },
};

typedef struct Reader
{
	ElfHeaders *headers;
	CfiSections *sections;
	CfiSection found[CFI_SECTIONS];
	ElfBuildId build_id;
	bool is_crowded; /* the pool had no room for a section */
} Reader;

/*
 * Allocates a buffer and charges it to the file's budget, and to the pool. Returns NULL if the
 * budget or the pool has no room.
 */
static uint8_t *
take_buffer(Reader *reader, uint64_t size_bytes)
{
	CfiSections *sections = reader->sections;
	uint64_t most_bytes = CFI_SECTIONS_MAX_BYTES;

	/*
	 * a file that exceeds the whole pool would never find room, so it counts as too large instead
	 */
	if (sections->pool != NULL && sections->pool->limit_bytes < most_bytes)
		most_bytes = sections->pool->limit_bytes;
	if (size_bytes == 0 || size_bytes > CFI_SECTION_MAX_BYTES ||
		size_bytes > most_bytes - sections->bytes)
		return NULL;
	if (sections->pool != NULL && !pool_charge(sections->pool, size_bytes))
	{
		reader->is_crowded = true;
		return NULL;
	}
	/* before malloc(): cfi_sections_fini() releases this charge, even if malloc() fails */
	sections->bytes += size_bytes;
	return malloc(size_bytes);
}

static uint8_t *
cfi_read_bytes(Reader *reader, uint64_t offset, uint64_t size_bytes)
{
	const ElfSource *source = &reader->headers->source;
	uint8_t *bytes =
		/* checked before the allocation, because the section header is not trusted */
		elf_source_holds(source, offset, size_bytes, 1) ? take_buffer(reader, size_bytes) : NULL;

	if (bytes != NULL && !elf_source_read(source, offset, bytes, size_bytes))
	{
		free(bytes);
		bytes = NULL;
	}
	return bytes;
}

/* Decompresses zlib's data after a section's header; *size_bytes becomes the decompressed size. */
static uint8_t *
uncompress_section(Reader *reader, const uint8_t *packed, uint64_t *size_bytes)
{
	Elf64_Chdr header;
	uint8_t *bytes;
	uLongf length;

	if (*size_bytes < sizeof(header))
		return NULL;
	memcpy(&header, packed, sizeof(header));
	if (header.ch_type != ELFCOMPRESS_ZLIB)
		return NULL;
	/* the decompressed size is the file's claim, and is charged before anything is decompressed */
	bytes = take_buffer(reader, header.ch_size);
	length = header.ch_size;
	if (bytes != NULL && (uncompress(bytes, &length, packed + sizeof(header),
									 *size_bytes - sizeof(header)) != Z_OK ||
						  length != header.ch_size))
	{
		free(bytes);
		bytes = NULL;
	}
	*size_bytes = header.ch_size;
	return bytes;
}

static bool
is_cfi(SectionKind kind)
{
	return kind == SECTION_EH_FRAME || kind == SECTION_DEBUG_FRAME || kind == SECTION_PCLNTAB;
}

/* Reads a section into a buffer. A section that cannot be read counts as absent. */
static void
cfi_read_section(Reader *reader, SectionKind kind, const Elf64_Shdr *header)
{
	uint64_t size_bytes = header->sh_size;
	uint8_t *bytes;

	/* the first section of a name counts; one without bytes in the file has no content */
	if (reader->found[kind].data != NULL || header->sh_type == SHT_NOBITS)
		return;
	if (kind == SECTION_PLT && reader->headers->machine != EM_AARCH64)
		return;
	bytes = cfi_read_bytes(reader, header->sh_offset, size_bytes);
	if (bytes != NULL && (header->sh_flags & SHF_COMPRESSED) != 0)
	{
		uint8_t *packed = bytes;

		bytes = uncompress_section(reader, packed, &size_bytes);
		free(packed);
	}
	if (bytes == NULL)
	{
		/*
		 * Without this mark the file would count as one without CFI, and zero frame pointers in it
		 * as roots.
		 */
		reader->sections->input.left_out |= size_bytes > 0 && is_cfi(kind);
		return;
	}
	reader->sections->buffers[kind] = bytes;
	reader->found[kind] = (CfiSection){ bytes, size_bytes, header->sh_addr };
}

/*
 * Returns the addend for the word at an address, from one section of relocations; 0 if there is
 * none.
 */
static uint64_t
addend_in(ElfHeaders *headers, const Elf64_Shdr *section, uint64_t address, uint64_t *left)
{
	Elf64_Rela block[512];
	uint64_t count = section->sh_size / sizeof(block[0]);

	/*
	 * A file may have many large sections of relocations, so the number that is read is limited in
	 * total.
	 */
	if (count > *left)
		count = *left;
	*left -= count;
	for (uint64_t at = 0; at < count; at += 512)
	{
		uint64_t step = count - at < 512 ? count - at : 512;

		if (!elf_source_read(&headers->source, section->sh_offset + at * sizeof(block[0]), block,
							 step * sizeof(block[0])))
			return 0;
		for (uint64_t i = 0; i < step; i++)
		{
			if (block[i].r_offset == address)
				return (uint64_t) block[i].r_addend;
		}
	}
	return 0;
}

/*
 * Returns the number that the loader adds to the word at an address; 0 if there is no relocation.
 */
static uint64_t
relocation_at(ElfHeaders *headers, uint64_t address)
{
	uint64_t left = CFI_RELOCATIONS_MAX;
	uint64_t addend = 0;

	for (uint32_t i = 1; i < headers->section_count && addend == 0 && left > 0; i++)
	{
		Elf64_Shdr section;

		if (elf_headers_section(headers, i, &section) && section.sh_type == SHT_RELA)
			addend = addend_in(headers, &section, address, &left);
	}
	return addend;
}

/* Reads an address in a section, as it was linked. */
static uint64_t
read_address(const Reader *reader, const CfiSection *section, size_t offset)
{
	uint64_t value;

	if (section->data == NULL || section->length < offset + sizeof(value))
		return 0;
	memcpy(&value, section->data + offset, sizeof(value));
	/* position-independent programs have 0 in the file, and a relocation for the loader */
	return value != 0 ? value : relocation_at(reader->headers, section->address + offset);
}

/*
 * Reads the function at an address if it belongs to start files. Returns the function that it
 * calls, or 0.
 */
static uint64_t
read_start_function(Reader *reader, uint64_t address, SectionKind kind)
{
	CfiSection *function = &reader->found[kind];
	uint64_t callee = 0;

	for (uint32_t i = 0; address != 0 && i < reader->headers->segment_count; i++)
	{
		Elf64_Phdr segment;
		uint64_t length;

		if (!elf_headers_segment(reader->headers, i, &segment) || segment.p_type != PT_LOAD ||
			!(segment.p_flags & PF_X) || address < segment.p_vaddr ||
			address - segment.p_vaddr >= segment.p_filesz)
			continue;
		/* the rest of the segment at most, whose size in the file bounds the read */
		length = segment.p_filesz - (address - segment.p_vaddr);
		if (length > START_CODE_BYTES)
			length = START_CODE_BYTES;
		function->data =
			cfi_read_bytes(reader, segment.p_offset + address - segment.p_vaddr, length);
		if (function->data == NULL)
			return 0;
		reader->sections->buffers[kind] = (uint8_t *) (uintptr_t) function->data;
		function->length = length;
		function->address = address;
		function->length = start_code_length(function, &callee);
		return function->length > 0 ? callee : 0;
	}
	return 0;
}

/*
 * Reads the constructors and destructors that start files add to those of the program or library.
 */
static void
read_start_code(Reader *reader)
{
	static const SectionKind arrays[] = { SECTION_INIT_ARRAY, SECTION_FINI_ARRAY };
	CfiInput *input = &reader->sections->input;

	input->start_code[0] = reader->found[SECTION_INIT];
	input->start_code[1] = reader->found[SECTION_FINI];
	for (int i = 0; i < 2 && input->machine == EM_X86_64; i++)
	{
		/* constructor and its callee, destructor and its callee */
		SectionKind kind = SECTION_START_CODE + 2 * i;
		uint64_t address = read_address(reader, &reader->found[arrays[i]], 0);
		uint64_t callee = read_start_function(reader, address, kind);

		(void) read_start_function(reader, callee, kind + 1);
		input->start_code[2 + 2 * i] = reader->found[kind];
		input->start_code[3 + 2 * i] = reader->found[kind + 1];
	}
	if (input->machine == EM_X86_64)
		(void) read_start_function(reader, reader->headers->entry, SECTION_ENTRY);
	if (loader_start_length(&reader->found[SECTION_ENTRY]) > 0)
		input->start_code[6] = reader->found[SECTION_ENTRY];
}

static void
read_build_id(Reader *reader, const Elf64_Shdr *section)
{
	const ElfExtent notes = { section->sh_offset, section->sh_size };
	ElfBuildId *id = &reader->build_id;

	elf_build_id_read(id, &reader->headers->source, &notes, section->sh_addralign);
	elf_build_id_text(id, reader->sections->build_id);
}

static void
note_section(Reader *reader, const char *name, const Elf64_Shdr *header)
{
	for (size_t i = 0; i < sizeof(section_names) / sizeof(section_names[0]); i++)
	{
		if (strcmp(name, section_names[i].name) == 0)
			cfi_read_section(reader, section_names[i].kind, header);
	}
	if (strcmp(name, ".note.gnu.build-id") == 0 && header->sh_type == SHT_NOTE)
		read_build_id(reader, header);
	else if (strcmp(name, ".got") == 0 || strcmp(name, ".got.plt") == 0)
		reader->sections->input.got_address = header->sh_addr;
}

/* Reads all sections that the compiler uses. */
static void
cfi_read_sections(Reader *reader)
{
	CfiInput *input = &reader->sections->input;

	for (uint32_t i = 1; i < reader->headers->section_count; i++)
	{
		char name[ELF_NAME_BYTES];
		Elf64_Shdr header;

		if (elf_headers_section(reader->headers, i, &header) &&
			elf_headers_name(reader->headers, &header, name))
			note_section(reader, name, &header);
	}
	input->eh_frame = reader->found[SECTION_EH_FRAME];
	input->debug_frame = reader->found[SECTION_DEBUG_FRAME];
	/* .debug_frame has no address in memory: its pointers are absolute */
	input->debug_frame.address = 0;
	input->plt = reader->found[SECTION_PLT];
	read_start_code(reader);
	input->pclntab = reader->found[SECTION_PCLNTAB];
	input->go_text = read_address(reader, &input->pclntab, PCLNTAB_TEXT);
	if (input->go_text == 0)
		input->go_text = read_address(reader, &reader->found[SECTION_GO_MODULE], GO_MODULE_TEXT);
}

/*
 * Determines the range of the executable segments, without parts that have no bytes in the file. A
 * segment that refers to .eh_frame shows that the file has CFI, even if the section headers cannot
 * be read.
 */
static void
cfi_read_segments(ElfHeaders *headers, CfiInput *input)
{
	input->code_start = UINT64_MAX;
	for (uint32_t i = 0; i < headers->segment_count; i++)
	{
		Elf64_Phdr header;

		if (!elf_headers_segment(headers, i, &header))
			continue;
		if (header.p_type == PT_GNU_EH_FRAME && input->eh_frame.data == NULL)
			input->left_out = true;
		if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) ||
			header.p_filesz > headers->source.size_bytes ||
			header.p_vaddr + header.p_filesz < header.p_vaddr)
			continue;
		if (header.p_vaddr < input->code_start)
			input->code_start = header.p_vaddr;
		if (header.p_vaddr + header.p_filesz > input->code_end)
			input->code_end = header.p_vaddr + header.p_filesz;
	}
}

int
cfi_sections_init(CfiSections *sections, int fd)
{
	return cfi_sections_init_within(sections, fd, NULL);
}

int
cfi_sections_init_within(CfiSections *sections, int fd, MemoryPool *pool)
{
	ElfHeaders headers;
	ElfSource source = { .fd = fd };
	Reader reader = { .headers = &headers, .sections = sections };
	struct stat status;

	memset(sections, 0, sizeof(*sections));
	sections->pool = pool;
	if (fstat(fd, &status) != 0)
		return -ENOEXEC;
	source.size_bytes = (uint64_t) status.st_size;
	if (elf_headers_read(&headers, &source) != 0 || !headers.is_64_bit)
		return -ENOEXEC;
	sections->input.machine = headers.machine;
	sections->input.memory_bytes = pool != NULL ? pool->limit_bytes : 0;
	cfi_read_sections(&reader);
	cfi_read_segments(&headers, &sections->input);
	if (!reader.is_crowded)
		return 0;
	cfi_sections_fini(sections);
	return -EAGAIN;
}

void
cfi_sections_fini(CfiSections *sections)
{
	for (int i = 0; i < CFI_SECTIONS; i++)
		free(sections->buffers[i]);
	if (sections->pool != NULL)
		pool_release(sections->pool, sections->bytes);
	memset(sections, 0, sizeof(*sections));
}
