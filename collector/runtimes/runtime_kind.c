/*
 * runtime_kind.c
 *		The list of supported interpreters.
 */
#include "runtimes/runtime_kind.h"

#include <stdlib.h>
#include <sys/param.h>

static const RuntimeKind *const kinds[] = { &python_kind,  &ruby_kind,	 &php_kind, &perl_kind,
											&hotspot_kind, &luajit_kind, &v8_kind };

const RuntimeKind *const *
runtime_kinds(size_t *count)
{
	*count = sizeof(kinds) / sizeof(kinds[0]);
	return kinds;
}

/* Returns the range of all executable segments; it is empty if the file is unreadable. */
static LoopCode
read_code_range(const ElfSource *source)
{
	LoopCode code = { UINT64_MAX, 0 };
	ElfHeaders headers;
	Elf64_Phdr segment;

	if (elf_headers_read(&headers, source) != 0)
		return (LoopCode){ 0, 0 };
	for (uint32_t i = 0; i < headers.segment_count; i++)
	{
		if (!elf_headers_segment(&headers, i, &segment) || segment.p_type != PT_LOAD ||
			(segment.p_flags & PF_X) == 0)
			continue;
		code.start = MIN(code.start, segment.p_vaddr);
		code.end = MAX(code.end, segment.p_vaddr + segment.p_memsz);
	}
	return code.start < code.end ? code : (LoopCode){ 0, 0 };
}

RuntimeFile *
runtime_file_read(const ElfSource *source, const char *name)
{
	RuntimeFile *file = calloc(1, sizeof(*file));

	for (size_t i = 0; file != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++)
	{
		if (kinds[i]->read_file(source, name, file))
		{
			file->kind = kinds[i];
			file->code = read_code_range(source);
			return file;
		}
	}
	free(file);
	return NULL;
}
