/*
 * plt.c
 *		Reads the machine code of a stub, finds its slot of the global offset table, and by its
 *		relocation the function.
 *
 * Counting stubs would be simpler, but linkers order .plt, .plt.got and .plt.sec each in its own
 * way.
 */
#include "symbols/plt.h"

#include <elf.h>
#include <string.h>

#define PLT_STUB_BYTES 16

/* jmp *displacement(%rip), ff 25, perhaps after endbr64 and bnd. */
static bool
slot_of_x86_64(const uint8_t *code, uint32_t size_bytes, uint64_t address, uint64_t *slot)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint32_t at = 0;
	int32_t displacement;

	if (size_bytes >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0)
		at += (uint32_t) sizeof(endbr64);
	if (at < size_bytes && code[at] == 0xf2)
		at++;
	if (at + 6 > size_bytes || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&displacement, code + at + 2, sizeof(displacement));
	*slot = address + at + 6 + (uint64_t) (int64_t) displacement;
	return true;
}

/* adrp x16, page; ldr x17, [x16, offset], perhaps after bti. */
static bool
slot_of_aarch64(const uint8_t *code, uint32_t size_bytes, uint64_t address, uint64_t *slot)
{
	uint32_t words[4];
	uint32_t at = 0;
	int64_t pages;

	if (size_bytes < sizeof(words))
		return false;
	memcpy(words, code, sizeof(words));
	if (words[0] == 0xd503245f)
		at = 1;
	if ((words[at] & 0x9f00001f) != 0x90000010 || (words[at + 1] & 0xffc003ff) != 0xf9400211)
		return false;
	pages = (int64_t) ((words[at] >> 5 & 0x7ffff) << 2 | (words[at] >> 29 & 3));
	pages = (pages ^ 0x100000) - 0x100000;
	*slot = ((address + at * 4) & ~(uint64_t) 4095) + (uint64_t) (pages * 4096) +
			(uint64_t) (words[at + 1] >> 10 & 0xfff) * 8;
	return true;
}

bool
plt_find(const ElfFile *file, const ElfSection *section, uint64_t address, char *name,
		 size_t size_bytes, uint64_t *start)
{
	static const char mark[] = "@plt";
	uint64_t inside = (address - section->range.address) / section->entry_bytes;
	uint64_t stub = section->range.address + inside * section->entry_bytes;
	uint64_t offset = section->range.offset + (stub - section->range.address);
	uint8_t code[PLT_STUB_BYTES] = { 0 };
	uint64_t slot = 0;
	bool found;

	if (size_bytes < sizeof(mark) ||
		!elf_source_read(&file->source, offset, code, section->entry_bytes))
		return false;
	if (file->machine == EM_X86_64)
		found = slot_of_x86_64(code, section->entry_bytes, stub, &slot);
	else if (file->machine == EM_AARCH64)
		found = slot_of_aarch64(code, section->entry_bytes, stub, &slot);
	else
		found = false;
	if (!found || !elf_file_slot_symbol(file, slot, name, size_bytes - (sizeof(mark) - 1)))
		return false;
	memcpy(name + strlen(name), mark, sizeof(mark));
	*start = stub;
	return true;
}
