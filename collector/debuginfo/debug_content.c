/*
 * debug_content.c
 *		Reads headers and notes with the parser of symbols/elf, which checks every offset.
 */
#include "debuginfo/debug_content.h"

#include <errno.h>
#include <sys/stat.h>

#include "symbols/elf/elf_file.h"

bool
debug_content_has_go_table(const ElfSource *source)
{
	ElfHeaders headers;
	Elf64_Shdr section;

	return elf_headers_read(&headers, source) == 0 &&
		   elf_headers_find_section(&headers, ".gopclntab", &section) &&
		   section.sh_type != SHT_NOBITS && section.sh_size > 0 &&
		   elf_source_holds(source, section.sh_offset, section.sh_size, 1);
}

int
debug_content_read(int fd, DebugContent *content)
{
	ElfSource source = { .fd = fd };
	ElfFile file = { 0 };
	struct stat status;
	int error;

	*content = (DebugContent){ "" };
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return -ENOEXEC;
	source.size_bytes = (uint64_t) status.st_size;
	error = elf_file_init(&file, &source);
	if (error == 0)
	{
		if (file.build_id.size_bytes > 0)
			elf_build_id_text(&file.build_id, content->build_id);
		content->has_lines = file.has_dwarf || debug_content_has_go_table(&source);
		content->has_names = content->has_lines || file.symbols[ELF_SYMTAB].count > 0;
	}
	elf_file_fini(&file);
	return error;
}
