/*
 * test_trampolines.c
 *		Arenas of CPython's trampolines in this process's memory, memory that resembles them, and
 *		their rules at each instruction.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/trampolines.h"

#define ARENA ((size_t) TRAMPOLINE_ARENA_BYTES)
#define PAGE  ((size_t) 4096)
#define LOOKS 16

/*
 * A trampoline in the build of distributions, and without the first four bytes in CPython's own
 * build.
 */
static const uint8_t code[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08,
								0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3 };

static uint8_t *
take_memory(size_t length)
{
	uint8_t *memory =
		mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	return memory;
}

static void
fill_arena_of(uint8_t *arena, TrampolineShape shape)
{
	for (size_t at = 0; at + shape.period <= ARENA; at += shape.period)
		memcpy(arena + at, code + 4 - shape.lead, sizeof(code) - 4 + shape.lead);
}

static void
fill_arena(uint8_t *arena, uint32_t period)
{
	fill_arena_of(arena, (TrampolineShape){ period, 0 });
}

static size_t
find(const uint8_t *memory, size_t length, uint32_t *looks, TrampolineArena *arenas,
	 size_t capacity)
{
	uint64_t start = (uint64_t) (uintptr_t) memory;
	Patience patience;
	RemoteMemory remote = { .patience = &patience, .pid = (uint32_t) getpid() };
	size_t count;

	assert_int_equal(patience_init(&patience), 0);
	count = trampolines_find(&remote, start, start + length, looks, arenas, capacity);
	patience_fini(&patience);
	return count;
}

/*
 * Trampolines at each distance that CPython has used, one after the other, and other code around
 * them.
 */
static void
test_arenas(void **state)
{
	static const TrampolineShape shapes[] = {
		{ 11, 0 }, { 16, 0 }, { 272, 0 }, { 15, 4 }, { 16, 4 }
	};
	const size_t count = sizeof(shapes) / sizeof(shapes[0]);
	const size_t length = 3 * PAGE + count * ARENA;
	uint8_t *memory = take_memory(length);
	TrampolineArena arenas[8];
	uint32_t looks = LOOKS;

	for (size_t i = 0; i < count; i++)
		fill_arena_of(memory + 2 * PAGE + i * ARENA, shapes[i]);
	assert_int_equal(find(memory, length, &looks, arenas, 8), count);
	for (size_t i = 0; i < count; i++)
	{
		assert_int_equal(arenas[i].start, (uintptr_t) memory + 2 * PAGE + i * ARENA);
		assert_int_equal(arenas[i].shape.period, shapes[i].period);
		assert_int_equal(arenas[i].shape.lead, shapes[i].lead);
	}
	assert_int_equal(looks, LOOKS - 1);
	assert_int_equal(find(memory, length, &looks, arenas, 2), 2);
	looks = 0;
	assert_int_equal(find(memory, length, &looks, arenas, 8), 0);
	assert_int_equal(munmap(memory, length), 0);
}

/*
 * An arena after more memory than is read at once, and at the end of the memory that is searched.
 */
static void
test_far_arena(void **state)
{
	const size_t length = (size_t) 5 << 20;
	uint8_t *memory = take_memory(length);
	TrampolineArena arenas[8];
	uint32_t looks = LOOKS;

	fill_arena(memory + length - ARENA, 16);
	assert_int_equal(find(memory, length, &looks, arenas, 8), 1);
	assert_int_equal(arenas[0].start, (uintptr_t) memory + length - ARENA);
	assert_int_equal(looks, LOOKS - 5);
	looks = 4;
	assert_int_equal(find(memory, length, &looks, arenas, 8), 0);
	assert_int_equal(looks, 0);
	assert_int_equal(munmap(memory, length), 0);
}

static void
test_no_arenas(void **state)
{
	const size_t length = 2 * ARENA;
	uint8_t *memory = take_memory(length);
	TrampolineArena arenas[8];
	uint32_t looks = 100;

	/*
	 * a single trampoline; two too far apart; at no distance that CPython uses; without the last
	 * one
	 */
	memcpy(memory, code + 4, sizeof(code) - 4);
	assert_int_equal(find(memory, length, &looks, arenas, 8), 0);
	fill_arena(memory, 1024);
	assert_int_equal(find(memory, length, &looks, arenas, 8), 0);
	memset(memory, 0, ARENA);
	fill_arena(memory, 40);
	assert_int_equal(find(memory, length, &looks, arenas, 8), 0);
	memset(memory, 0, ARENA);
	fill_arena(memory, 16);
	memory[ARENA - 16] = 0;
	assert_int_equal(find(memory, length, &looks, arenas, 8), 0);
	memory[ARENA - 16] = code[4];
	assert_int_equal(find(memory, length, &looks, arenas, 8), 1);
	/* memory smaller than an arena, or unreadable, contains none */
	assert_int_equal(find(memory, ARENA - PAGE, &looks, arenas, 8), 0);
	assert_int_equal(mprotect(memory + ARENA - PAGE, PAGE, PROT_NONE), 0);
	assert_int_equal(find(memory, length, &looks, arenas, 8), 0);
	assert_int_equal(munmap(memory, length), 0);
	assert_int_equal(find(memory, length, &looks, arenas, 8), 0);
}

/*
 * Returns the distance from the stack pointer to the return address, computed from the
 * instructions.
 */
static int32_t
depth_at(size_t offset, uint32_t lead)
{
	return offset >= lead + 4 && offset < lead + 10 ? 8 : 0;
}

static void
test_rules(void **state)
{
	static const TrampolineShape shapes[] = {
		{ 11, 0 }, { 16, 0 }, { 272, 0 }, { 15, 4 }, { 16, 4 }
	};
	RuleSet rules;

	assert_int_equal(rule_set_init(&rules), 0);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
	{
		const uint32_t period = shapes[i].period;
		const uint32_t lead = shapes[i].lead;
		UnwindTable table;

		assert_int_equal(trampolines_compile(shapes[i], &rules, &table), 0);
		for (uint64_t at = 0; at < ARENA / period * period; at++)
		{
			const UnwindRow *row = unwind_table_find(&table, at);
			const struct pfs_unwind_rule *rule = rule_set_get(&rules, row->rule);

			assert_int_equal(rule->kind, PFS_UNWIND_CFI);
			assert_int_equal(rule->cfa_register, PFS_REGISTER_SP);
			assert_int_equal(rule->fp, PFS_FP_SAME);
			if (at % period < sizeof(code) - 4 + lead)
				assert_int_equal(rule->cfa_offset + rule->ra_offset, depth_at(at % period, lead));
		}
		assert_int_equal(unwind_table_find(&table, ARENA)->rule, 0);
		unwind_table_free(&table);
	}
	assert_int_equal(rule_set_count(&rules), 3);
	rule_set_fini(&rules);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arenas),
		cmocka_unit_test(test_far_arena),
		cmocka_unit_test(test_no_arenas),
		cmocka_unit_test(test_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
