/*
 * trampolines.c
 *		Arenas of CPython's trampolines in the memory of a process, and their rules.
 */
#include "unwind/trampolines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES	 4096
#define PAGES_A_LOOK REMOTE_PIECES_MAX

/* CPython lets none, 5 or 261 bytes lie between two; what is further apart is something else. */
#define PERIOD_MAX 512

#define OFFSET_CALL 4  /* from here on 8 bytes lie above the return address … */
#define OFFSET_END	10 /* … up to here */

static const uint8_t trampoline[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1,
									  0x48, 0x83, 0xc4, 0x08, 0xc3 };

typedef struct Head
{
	uint8_t bytes[sizeof(trampoline)];
} Head;

static bool
is_trampoline(const uint8_t *bytes)
{
	return memcmp(bytes, trampoline, sizeof(trampoline)) == 0;
}

static bool
read_memory(RemoteMemory *memory, uint64_t address, uint8_t *bytes, size_t length)
{
	const RemotePieces piece = { address, 0, length, 1 };

	return remote_memory_read(memory, &piece, bytes) == length;
}

/* The first bytes of some pages; returns of how many, as the next could not be read. */
static size_t
read_heads(RemoteMemory *memory, uint64_t address, Head *heads, size_t pages)
{
	const RemotePieces pieces = { address, PAGE_BYTES, sizeof(Head), pages };

	return remote_memory_read(memory, &pieces, heads) / sizeof(Head);
}

/* The period of an arena there; 0: it is none. Of its trampolines the first two and the last. */
static uint32_t
arena_period(RemoteMemory *memory, uint64_t start)
{
	uint8_t bytes[PERIOD_MAX + sizeof(trampoline)];
	const uint8_t *second;
	uint32_t period;
	uint64_t last;

	if (!read_memory(memory, start, bytes, sizeof(bytes)) || !is_trampoline(bytes))
		return 0;
	second = memmem(bytes + sizeof(trampoline), sizeof(bytes) - sizeof(trampoline), trampoline,
					sizeof(trampoline));
	if (second == NULL)
		return 0;
	period = (uint32_t) (second - bytes);
	if (period > sizeof(trampoline) && period % 16 != 0)
		return 0;
	last = (TRAMPOLINE_ARENA_BYTES / period - 1) * period;
	return read_memory(memory, start + last, bytes, sizeof(trampoline)) && is_trampoline(bytes)
			   ? period
			   : 0;
}

size_t
trampolines_find(RemoteMemory *memory, uint64_t start, uint64_t end, uint32_t *looks_left,
				 TrampolineArena *arenas, size_t capacity)
{
	Head heads[PAGES_A_LOOK];
	size_t count = 0;
	size_t pages = 0; /* whose heads were read, from first on */
	uint64_t first = start;

	for (uint64_t at = start; count < capacity && end - at >= TRAMPOLINE_ARENA_BYTES;)
	{
		uint32_t period = 0;

		if (at - first >= pages * PAGE_BYTES)
		{
			size_t wanted = (size_t) ((end - at) / PAGE_BYTES);

			if (*looks_left == 0)
				break;
			--*looks_left;
			first = at;
			pages = read_heads(memory, at, heads, wanted < PAGES_A_LOOK ? wanted : PAGES_A_LOOK);
			if (pages == 0)
				break;
		}
		if (is_trampoline(heads[(at - first) / PAGE_BYTES].bytes))
			period = arena_period(memory, at);
		if (period != 0)
			arenas[count++] = (TrampolineArena){ at, period };
		at += period != 0 ? TRAMPOLINE_ARENA_BYTES : PAGE_BYTES;
	}
	return count;
}

int
trampolines_compile(uint32_t period, RuleSet *rules, UnwindTable *table)
{
	const struct pfs_unwind_rule outside = {
		.kind = PFS_UNWIND_CFI, .cfa_register = PFS_REGISTER_SP, .cfa_offset = 8, .ra_offset = -8
	};
	const struct pfs_unwind_rule inside = {
		.kind = PFS_UNWIND_CFI, .cfa_register = PFS_REGISTER_SP, .cfa_offset = 16, .ra_offset = -8
	};
	uint16_t outside_number = rule_set_add(rules, &outside);
	uint16_t inside_number = rule_set_add(rules, &inside);
	size_t copies = (size_t) TRAMPOLINE_ARENA_BYTES / period;

	if (outside_number == 0 || inside_number == 0)
		return -ENOSPC;
	*table = (UnwindTable){ .rows = calloc(2 * copies + 2, sizeof(UnwindRow)) };
	if (table->rows == NULL)
		return -ENOMEM;
	table->rows[table->count++] = (UnwindRow){ 0, outside_number };
	for (size_t i = 0; i < copies; i++)
	{
		uint32_t offset = (uint32_t) (i * period);

		table->rows[table->count++] = (UnwindRow){ offset + OFFSET_CALL, inside_number };
		table->rows[table->count++] = (UnwindRow){ offset + OFFSET_END, outside_number };
	}
	table->rows[table->count++] = (UnwindRow){ (uint32_t) TRAMPOLINE_ARENA_BYTES, 0 };
	return 0;
}
