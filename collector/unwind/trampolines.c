/*
 * trampolines.c
 *		Finds arenas of CPython's trampolines in the memory of a process, and makes their rules.
 */
#include "unwind/trampolines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES	 4096
#define PAGES_A_LOOK REMOTE_PIECES_MAX

/*
 * CPython leaves 0, 5 or 261 bytes between two trampolines; a larger distance means that this is
 * other code.
 */
#define PERIOD_MAX 512

/*
 * Offsets, not counting endbr64. From the call to the end of the trampoline the return address is 8
 * bytes above the stack pointer.
 */
#define OFFSET_CALL 4
#define OFFSET_END	10

#define LEAD_BYTES 4 /* length of endbr64 */

static const uint8_t trampoline[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08,
									  0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3 };

typedef struct Head
{
	uint8_t bytes[sizeof(trampoline)];
} Head;

/* Returns the length of a trampoline with this lead. */
static size_t
trampoline_bytes(uint32_t lead)
{
	return sizeof(trampoline) - LEAD_BYTES + lead;
}

static const uint8_t *
trampoline_code(uint32_t lead)
{
	return trampoline + LEAD_BYTES - lead;
}

static bool
code_is_trampoline(const uint8_t *bytes, uint32_t lead)
{
	return memcmp(bytes, trampoline_code(lead), trampoline_bytes(lead)) == 0;
}

/*
 * Determines the lead of the trampoline at the start of bytes. Returns false if no trampoline is
 * there.
 */
static bool
find_lead(const uint8_t *bytes, uint32_t *lead)
{
	/* The first byte decides: endbr64 begins with 0xf3, "sub $8,%rsp" with 0x48. */
	*lead = bytes[0] == trampoline[0] ? LEAD_BYTES : 0;
	return code_is_trampoline(bytes, *lead);
}

static bool
trampolines_read_memory(RemoteMemory *memory, uint64_t address, uint8_t *bytes, size_t length)
{
	const RemotePieces piece = { address, 0, length, 1 };

	return remote_memory_read(memory, &piece, bytes) == length;
}

/*
 * Reads the first bytes of some pages; returns the number of pages up to the first unreadable one.
 */
static size_t
page_heads_read(RemoteMemory *memory, uint64_t address, Head *heads, size_t pages)
{
	const RemotePieces pieces = { address, PAGE_BYTES, sizeof(Head), pages };

	return remote_memory_read(memory, &pieces, heads) / sizeof(Head);
}

/* Tests for an arena at start by reading its first two trampolines and its last. */
static bool
find_arena(RemoteMemory *memory, uint64_t start, TrampolineShape *shape)
{
	uint8_t bytes[PERIOD_MAX + sizeof(trampoline)];
	const uint8_t *second;
	size_t length;
	uint64_t last;

	if (!trampolines_read_memory(memory, start, bytes, sizeof(bytes)) ||
		!find_lead(bytes, &shape->lead))
		return false;
	length = trampoline_bytes(shape->lead);
	/* The distance to the second trampoline is the period of the whole arena. */
	second = memmem(bytes + length, sizeof(bytes) - length, trampoline_code(shape->lead), length);
	if (second == NULL)
		return false;
	shape->period = (uint32_t) (second - bytes);
	/* CPython rounds the distance up to 16 unless trampolines follow each other without a gap. */
	if (shape->period > length && shape->period % 16 != 0)
		return false;
	/* CPython fills an arena before it makes it executable, so an arena ends with a trampoline. */
	last = (TRAMPOLINE_ARENA_BYTES / shape->period - 1) * shape->period;
	return trampolines_read_memory(memory, start + last, bytes, length) &&
		   code_is_trampoline(bytes, shape->lead);
}

size_t
trampolines_find(RemoteMemory *memory, uint64_t start, uint64_t end, uint32_t *looks_left,
				 TrampolineArena *arenas, size_t capacity)
{
	Head heads[PAGES_A_LOOK];
	size_t count = 0;
	size_t pages = 0; /* number of pages, beginning with first, whose heads were read */
	uint64_t first = start;

	for (uint64_t at = start; count < capacity && end - at >= TRAMPOLINE_ARENA_BYTES;)
	{
		const uint8_t *head;
		uint32_t lead;

		/*
		 * The heads of up to 1 MiB are read in one call; the loop then tests page after page among
		 * them.
		 */
		if (at - first >= pages * PAGE_BYTES)
		{
			size_t wanted = (size_t) ((end - at) / PAGE_BYTES);

			if (*looks_left == 0)
				break;
			--*looks_left;
			first = at;
			pages =
				page_heads_read(memory, at, heads, wanted < PAGES_A_LOOK ? wanted : PAGES_A_LOOK);
			if (pages == 0)
				break;
		}
		head = heads[(at - first) / PAGE_BYTES].bytes;
		if (find_lead(head, &lead) && find_arena(memory, at, &arenas[count].shape))
		{
			arenas[count++].start = at;
			at += TRAMPOLINE_ARENA_BYTES;
		}
		else
			at += PAGE_BYTES;
	}
	return count;
}

int
trampolines_compile(TrampolineShape shape, RuleSet *rules, UnwindTable *table)
{
	const struct pfs_unwind_rule outside = {
		.kind = PFS_UNWIND_CFI, .cfa_register = PFS_REGISTER_SP, .cfa_offset = 8, .ra_offset = -8
	};
	const struct pfs_unwind_rule inside = {
		.kind = PFS_UNWIND_CFI, .cfa_register = PFS_REGISTER_SP, .cfa_offset = 16, .ra_offset = -8
	};
	uint16_t outside_number = rule_set_add(rules, &outside);
	uint16_t inside_number = rule_set_add(rules, &inside);
	size_t copies = (size_t) TRAMPOLINE_ARENA_BYTES / shape.period;

	if (outside_number == 0 || inside_number == 0)
		return -ENOSPC;
	*table = (UnwindTable){ .rows = calloc(2 * copies + 2, sizeof(UnwindRow)) };
	if (table->rows == NULL)
		return -ENOMEM;
	/*
	 * one rule at the start, two for each trampoline (its call pushed 8 bytes of alignment until
	 * the end), and the end of the arena
	 */
	table->rows[table->count++] = (UnwindRow){ 0, outside_number };
	for (size_t i = 0; i < copies; i++)
	{
		uint32_t offset = (uint32_t) (i * shape.period) + shape.lead;

		table->rows[table->count++] = (UnwindRow){ offset + OFFSET_CALL, inside_number };
		table->rows[table->count++] = (UnwindRow){ offset + OFFSET_END, outside_number };
	}
	table->rows[table->count++] = (UnwindRow){ (uint32_t) TRAMPOLINE_ARENA_BYTES, 0 };
	return 0;
}
