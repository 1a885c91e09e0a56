/*
 * luajit_file.c
 *		Finds luaJIT_setmode, which only LuaJIT exports, and the segment with its code.
 */
#include "runtimes/luajit/luajit_file.h"

#include "files/exported_symbol.h"

#define SYMBOL_MODE "luaJIT_setmode"

bool
luajit_file_read(const ElfSource *source, LuajitFile *luajit)
{
	ElfHeaders headers;
	ExportedSymbol symbol;

	if (elf_headers_read(&headers, source) != 0 ||
		!exported_symbol_find(&headers, SYMBOL_MODE, 1U << STT_FUNC | 1U << STT_NOTYPE, &symbol))
		return false;
	for (uint32_t i = 0; i < headers.segment_count; i++)
	{
		Elf64_Phdr segment;

		if (elf_headers_segment(&headers, i, &segment) && segment.p_type == PT_LOAD &&
			(segment.p_flags & PF_X) != 0 && symbol.address - segment.p_vaddr < segment.p_memsz)
			*luajit = (LuajitFile){ segment.p_vaddr, segment.p_vaddr + segment.p_memsz };
	}
	return true;
}
