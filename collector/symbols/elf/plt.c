/*
 * plt.c
 *		Decodes a stub, finds its slot of the global offset table, and from the slot's relocation
 *		the function.
 *
 * Counting stubs would be simpler, but linkers order .plt, .plt.got and .plt.sec in different ways.
 */
#include "symbols/elf/plt.h"

#include <elf.h>
#include <string.h>

#define X86_64_STUB_BYTES 16

/* the longest stub of AArch64: bti, four instructions to load and jump, nop */
#define AARCH64_STUB_WORDS 6

/* bti c */
#define AARCH64_BTI_C 0xd503245fU

/* Decodes jmp *displacement(%rip), ff 25, with optional endbr64 and bnd prefixes. */
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

/* Decodes adrp x16, page; ldr x17, [x16, offset], the first of them at an address. */
static bool
slot_of_aarch64(uint32_t adrp, uint32_t ldr, uint64_t address, uint64_t *slot)
{
	int64_t pages;

	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	pages = (int64_t) ((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3));
	pages = (pages ^ 0x100000) - 0x100000;
	*slot = (address & ~(uint64_t) 4095) + (uint64_t) (pages * 4096) +
			(uint64_t) (ldr >> 10 & 0xfff) * 8;
	return true;
}

/* Finds a stub of x86-64, where stubs have equal sizes. */
static bool
find_x86_64(const ElfFile *file, const ElfSection *section, uint64_t inside, uint64_t *stub,
			uint64_t *slot)
{
	uint64_t start = inside - inside % section->entry_bytes;
	uint8_t code[X86_64_STUB_BYTES] = { 0 };

	*stub = section->range.address + start;
	return elf_source_read(&file->source, section->range.offset + start, code,
						   section->entry_bytes) &&
		   slot_of_x86_64(code, section->entry_bytes, *stub, slot);
}

/* Reads the instruction at an offset of a section; returns 0 if it cannot be read. */
static uint32_t
aarch64_word(const ElfFile *file, const ElfSection *section, uint64_t inside)
{
	uint32_t word;

	return elf_source_read(&file->source, section->range.offset + inside, &word, sizeof(word))
			   ? word
			   : 0;
}

/*
 * Finds a stub of AArch64. Stubs have 16 or 24 bytes and follow a first one of 32, so they lie in
 * no grid. The address belongs to the last stub that begins at or before it.
 */
static bool
find_aarch64(const ElfFile *file, const ElfSection *section, uint64_t inside, uint64_t *stub,
			 uint64_t *slot)
{
	uint64_t adrp = inside & ~UINT64_C(3);

	if (aarch64_word(file, section, adrp) == AARCH64_BTI_C)
		adrp += 4;
	for (int i = 0; i < AARCH64_STUB_WORDS; i++, adrp -= 4)
	{
		if (slot_of_aarch64(aarch64_word(file, section, adrp),
							aarch64_word(file, section, adrp + 4), section->range.address + adrp,
							slot))
		{
			bool is_protected = adrp >= 4 && aarch64_word(file, section, adrp - 4) == AARCH64_BTI_C;

			*stub = section->range.address + adrp - (is_protected ? 4 : 0);
			return true;
		}
		if (adrp < 4)
			return false;
	}
	return false;
}

bool
plt_find(const ElfFile *file, const ElfSection *section, uint64_t address, char *name,
		 size_t size_bytes, uint64_t *start)
{
	static const char mark[] = "@plt";
	uint64_t inside = address - section->range.address;
	uint64_t slot = 0;
	bool found;

	if (size_bytes < sizeof(mark))
		return false;
	if (file->machine == EM_X86_64)
		found = find_x86_64(file, section, inside, start, &slot);
	else if (file->machine == EM_AARCH64)
		found = find_aarch64(file, section, inside, start, &slot);
	else
		found = false;
	if (!found || !elf_file_slot_symbol(file, slot, name, size_bytes - (sizeof(mark) - 1)))
		return false;
	memcpy(name + strlen(name), mark, sizeof(mark));
	return true;
}
