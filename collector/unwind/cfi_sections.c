/*
 * cfi_sections.c
 *		CFI sections by libelf.
 */
#include "unwind/cfi_sections.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

/*
 * The largest programs have some 25 MB, of Go's table 60; a sparse or compressed file may claim any
 * size.
 */
#define MAX_SECTION_BYTES (64 << 20)

/*
 * Where Go says where its code starts: in its table's header up to 1.25, else in the description of
 * the module (1.26).
 */
#define PCLNTAB_TEXT   24
#define GO_MODULE_TEXT 176

static bool
uncompress(Elf_Scn *section)
{
	GElf_Chdr header;

	return gelf_getchdr(section, &header) != NULL && header.ch_size <= MAX_SECTION_BYTES &&
		   elf_compress(section, 0, 0) >= 0;
}

static CfiSection
read_section(Elf_Scn *section, const GElf_Shdr *header)
{
	CfiSection result = { .address = header->sh_addr };
	Elf_Data *data;

	if (header->sh_type == SHT_NOBITS || header->sh_size > MAX_SECTION_BYTES ||
		((header->sh_flags & SHF_COMPRESSED) && !uncompress(section)))
		return result;
	data = elf_rawdata(section, NULL);
	if (data == NULL || data->d_buf == NULL)
		return result;
	result.data = data->d_buf;
	result.length = data->d_size;
	return result;
}

/* What the loader adds to the word at an address; 0 where it adds nothing. */
static uint64_t
relocation_at(Elf *elf, uint64_t address)
{
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL;
		 section = elf_nextscn(elf, section))
	{
		GElf_Shdr header;
		GElf_Rela entry;
		Elf_Data *data;

		if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_RELA ||
			header.sh_size > MAX_SECTION_BYTES || (data = elf_getdata(section, NULL)) == NULL)
			continue;
		for (int i = 0; gelf_getrela(data, i, &entry) != NULL; i++)
		{
			if (entry.r_offset == address)
				return (uint64_t) entry.r_addend;
		}
	}
	return 0;
}

/* The address that stands in a section, as linked. */
static uint64_t
read_address(Elf *elf, const CfiSection *section, size_t offset)
{
	uint64_t value;

	if (section->data == NULL || section->length < offset + sizeof(value))
		return 0;
	memcpy(&value, section->data + offset, sizeof(value));
	return value != 0 ? value : relocation_at(elf, section->address + offset);
}

static bool
is_pclntab(const char *name)
{
	return strcmp(name, ".gopclntab") == 0 || strcmp(name, ".data.rel.ro.gopclntab") == 0;
}

/* The GNU build ID, where the section holds it. */
static void
read_build_id(Elf_Scn *section, char build_id[2 * CFI_BUILD_ID_MAX_BYTES + 1])
{
	static const char digits[] = "0123456789abcdef";
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Nhdr note;
	size_t name;
	size_t id;

	if (data == NULL || data->d_buf == NULL || gelf_getnote(data, 0, &note, &name, &id) == 0 ||
		note.n_type != NT_GNU_BUILD_ID || note.n_descsz > CFI_BUILD_ID_MAX_BYTES)
		return;
	for (size_t i = 0; i < note.n_descsz; i++)
	{
		uint8_t byte = ((const uint8_t *) data->d_buf)[id + i];

		build_id[2 * i] = digits[byte >> 4];
		build_id[2 * i + 1] = digits[byte & 15];
	}
	build_id[2 * note.n_descsz] = '\0';
}

static void
read_sections(Elf *elf, size_t names, CfiSections *sections)
{
	CfiInput *input = &sections->input;
	CfiSection module = { 0 };

	for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL;
		 section = elf_nextscn(elf, section))
	{
		GElf_Shdr header;
		const char *name;

		if (gelf_getshdr(section, &header) == NULL ||
			(name = elf_strptr(elf, names, header.sh_name)) == NULL)
			continue;
		if (strcmp(name, ".eh_frame") == 0)
			input->eh_frame = read_section(section, &header);
		else if (strcmp(name, ".debug_frame") == 0)
		{
			input->debug_frame = read_section(section, &header);
			input->debug_frame.address = 0;
		}
		else if (strcmp(name, ".init") == 0)
			input->init[0] = read_section(section, &header);
		else if (strcmp(name, ".fini") == 0)
			input->init[1] = read_section(section, &header);
		else if (is_pclntab(name))
			input->pclntab = read_section(section, &header);
		else if (strcmp(name, ".go.module") == 0)
			module = read_section(section, &header);
		else if (strcmp(name, ".note.gnu.build-id") == 0 && header.sh_type == SHT_NOTE)
			read_build_id(section, sections->build_id);
		else if (strcmp(name, ".got") == 0 || strcmp(name, ".got.plt") == 0)
			input->got_address = header.sh_addr;
	}
	input->go_text = read_address(elf, &input->pclntab, PCLNTAB_TEXT);
	if (input->go_text == 0)
		input->go_text = read_address(elf, &module, GO_MODULE_TEXT);
}

/* The span of the executable segments, as far as the file has bytes for them. */
static void
read_code_range(Elf *elf, uint64_t file_bytes, CfiInput *input)
{
	size_t count = 0;

	input->code_start = UINT64_MAX;
	if (elf_getphdrnum(elf, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++)
	{
		GElf_Phdr header;

		if (gelf_getphdr(elf, (int) i, &header) == NULL || header.p_type != PT_LOAD ||
			!(header.p_flags & PF_X) || header.p_filesz > file_bytes ||
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
	GElf_Ehdr header;
	struct stat status;
	size_t names;
	Elf *elf;

	memset(sections, 0, sizeof(*sections));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	sections->elf = elf;
	if (elf == NULL || fstat(fd, &status) != 0 || elf_kind(elf) != ELF_K_ELF ||
		gelf_getehdr(elf, &header) == NULL || header.e_ident[EI_CLASS] != ELFCLASS64 ||
		header.e_ident[EI_DATA] != ELFDATA2LSB || elf_getshdrstrndx(elf, &names) != 0)
	{
		cfi_sections_fini(sections);
		return -ENOEXEC;
	}
	sections->input.machine = header.e_machine;
	read_code_range(elf, (uint64_t) status.st_size, &sections->input);
	read_sections(elf, names, sections);
	return 0;
}

void
cfi_sections_fini(CfiSections *sections)
{
	if (sections->elf != NULL)
		elf_end(sections->elf);
	memset(sections, 0, sizeof(*sections));
}
