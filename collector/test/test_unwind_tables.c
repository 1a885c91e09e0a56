/*
 * test_unwind_tables.c
 *		Unwind tables without walks: slots, packed tables, hostile CFI and Go's tables, each
 *		compared with an oracle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/cfi/cfi_sections.h"
#include "unwind/extent_pool.h"
#include "unwind/packed_table.h"

#define POOL_SLOTS 256

/*
 * The oracle is a map of the owner of each slot: runs never overlap, and are not reused before
 * their rest time.
 */
static void
test_extent_pool(void **state)
{
	ExtentPool pool;
	uint64_t busy_until[POOL_SLOTS] = { 0 }; /* UINT64_MAX: in use */
	Extent taken[POOL_SLOTS];
	size_t taken_count = 0;
	uint64_t now = 0;
	uint32_t first;

	srand(1);
	extent_pool_init(&pool, POOL_SLOTS);
	for (int step = 0; step < 20000; step++)
	{
		now += EXTENT_GRACE_NS / 16;
		if (rand() % 2 == 0)
		{
			uint32_t count = 1 + (uint32_t) rand() % 24;

			if (taken_count == POOL_SLOTS || extent_pool_take(&pool, count, now, &first) != 0)
				continue;
			assert_true(first + count <= POOL_SLOTS);
			for (uint32_t i = first; i < first + count; i++)
			{
				assert_true(busy_until[i] <= now);
				busy_until[i] = UINT64_MAX;
			}
			taken[taken_count++] = (Extent){ first, count };
		}
		else if (taken_count > 0)
		{
			size_t at = (size_t) rand() % taken_count;
			Extent extent = taken[at];

			taken[at] = taken[--taken_count];
			for (uint32_t i = extent.first; i < extent.first + extent.count; i++)
				busy_until[i] = now + EXTENT_GRACE_NS;
			extent_pool_give(&pool, extent.first, extent.count, now);
		}
	}
	/* all released: after the rest time the pool is whole again */
	while (taken_count > 0)
	{
		taken_count--;
		extent_pool_give(&pool, taken[taken_count].first, taken[taken_count].count, now);
	}
	now += EXTENT_GRACE_NS;
	assert_int_equal(extent_pool_take(&pool, POOL_SLOTS, now, &first), 0);
	assert_int_equal(first, 0);
	assert_int_equal(extent_pool_take(&pool, 1, now, &first), -ENOSPC);
	assert_int_equal(pool.used_count, POOL_SLOTS);
	extent_pool_fini(&pool);
}

/* Opens this program, or a library that it has mapped. */
static int
compile_file(const char *path, RuleSet *rules, UnwindTable *table)
{
	CfiSections sections;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result;

	assert_true(fd >= 0);
	assert_int_equal(cfi_sections_init(&sections, fd), 0);
	result = cfi_compile(&sections.input, rules, table);
	cfi_sections_fini(&sections);
	close(fd);
	return result;
}

static const struct pfs_unwind_rule *
find_packed(const PackedTable *packed, const RuleSet *rules, uint64_t address)
{
	for (size_t i = 0; i < packed->page_count; i++)
	{
		const struct pfs_unwind_row *found = NULL;

		if (packed->pages[i].page != address >> PFS_UNWIND_PAGE_BITS)
			continue;
		for (uint32_t line = 0; line < packed->pages[i].line_count; line++)
		{
			for (int row = 0; row < PFS_UNWIND_LINE_ROWS; row++)
			{
				const struct pfs_unwind_row *each =
					&packed->lines[packed->pages[i].first_line + line].rows[row];

				if (each->offset <= (address & ((1U << PFS_UNWIND_PAGE_BITS) - 1)) &&
					(found == NULL || each->offset >= found->offset))
					found = each;
			}
		}
		return found != NULL ? rule_set_get(rules, found->rule) : NULL;
	}
	return NULL;
}

/*
 * Packing changes the positions of rules, not their meaning: at the edges of every row and between
 * them.
 */
static void
test_packed_table(void **state)
{
	static const struct pfs_unwind_rule invalid = { .kind = PFS_UNWIND_INVALID };
	UnwindTable table;
	PackedTable packed;
	RuleSet rules;

	assert_int_equal(rule_set_init(&rules), 0);
	assert_int_equal(compile_file("/proc/self/exe", &rules, &table), 0);
	assert_true(table.count > 1000);
	assert_int_equal(packed_table_build(&table, &packed), 0);
	assert_int_equal(packed.rows_outside, 0);
	for (size_t i = 0; i + 1 < table.count; i++)
	{
		uint64_t start = unwind_row_address(&table, i);
		uint64_t end = unwind_row_address(&table, i + 1);
		uint64_t probes[] = { start, start + (end - start) / 2, end - 1 };

		for (size_t probe = 0; probe < 3; probe++)
		{
			const UnwindRow *row = unwind_table_find(&table, probes[probe]);
			const struct pfs_unwind_rule *rule = find_packed(&packed, &rules, probes[probe]);

			assert_memory_equal(rule != NULL ? rule : &invalid, rule_set_get(&rules, row->rule),
								sizeof(*rule));
		}
	}
	assert_null(unwind_table_find(&table, unwind_row_address(&table, 0) - 1));
	packed_table_free(&packed);
	rule_set_fini(&rules);
	unwind_table_free(&table);
}

/* Rows that are packed some hundreds at a time result in the table of all of them together. */
static void
test_packed_in_pieces(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CfiSections sections;
	UnwindTable table;
	PackedTable whole;
	PackedTable pieces;
	CfiStats stats;
	RuleSet rules;

	assert_true(fd >= 0);
	assert_int_equal(cfi_sections_init(&sections, fd), 0);
	assert_int_equal(rule_set_init(&rules), 0);
	assert_int_equal(cfi_compile(&sections.input, &rules, &table), 0);
	assert_true(table.count > 1000);
	assert_int_equal(packed_table_build(&table, &whole), 0);
	assert_int_equal(packed_table_compile(&sections.input, &rules, &pieces, &stats), 0);
	assert_memory_equal(&stats, &table.stats, sizeof(stats));
	assert_int_equal(pieces.page_count, whole.page_count);
	assert_memory_equal(pieces.pages, whole.pages, whole.page_count * sizeof(*whole.pages));
	assert_int_equal(pieces.line_count, whole.line_count);
	assert_memory_equal(pieces.lines, whole.lines, whole.line_count * sizeof(*whole.lines));
	packed_table_free(&pieces);
	packed_table_free(&whole);
	unwind_table_free(&table);
	rule_set_fini(&rules);
	cfi_sections_fini(&sections);
	close(fd);
}

/*
 * No bytes make the compiler read beyond them or loop: each section is cut at every length, and has
 * bits flipped.
 */
static void
test_hostile_cfi(void **state)
{
	CfiSections sections;
	RuleSet rules;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t length;
	uint8_t *bytes;

	srand(2);
	assert_int_equal(rule_set_init(&rules), 0);
	assert_int_equal(cfi_sections_init(&sections, fd), 0);
	length = sections.input.eh_frame.length;
	for (int i = 0; i < 300; i++)
	{
		CfiInput input = sections.input;
		UnwindTable table;
		size_t cut = (size_t) rand() % length;

		/* memory of exactly that size, so that a memory checker detects a read past it */
		bytes = malloc(cut + 1);
		memcpy(bytes, sections.input.eh_frame.data, cut);
		for (int flip = 0; flip < i % 4 && cut > 0; flip++)
			bytes[(size_t) rand() % cut] ^= (uint8_t) (1 << rand() % 8);
		input.eh_frame.data = bytes;
		input.eh_frame.length = cut;
		if (cfi_compile(&input, &rules, &table) == 0)
		{
			for (size_t row = 1; row < table.count; row++)
				assert_true(table.rows[row - 1].offset < table.rows[row].offset);
			unwind_table_free(&table);
		}
		free(bytes);
	}
	rule_set_fini(&rules);
	cfi_sections_fini(&sections);
	close(fd);
}

#define GO_FUNCTIONS	  2000
#define GO_FUNCTION_BYTES 1000
#define GO_VALUES		  (72 + (GO_FUNCTIONS + 1) * 8)
#define GO_ENTRY		  (GO_VALUES + 2 + 2 * GO_FUNCTION_BYTES)
#define GO_TABLE_BYTES	  (GO_ENTRY + 48)
#define GO_TEXT			  UINT64_C(0x10000)

static void
put(uint8_t *bytes, size_t offset, uint64_t value, size_t length)
{
	memcpy(bytes + offset, &value, length);
}

/* Writes Go's function table, in which all functions have equal names, flags and depths. */
static uint8_t *
go_table(uint32_t functions, const uint8_t *depths, size_t depth_bytes, uint8_t flags)
{
	uint8_t *bytes = calloc(1, GO_TABLE_BYTES);

	assert_non_null(bytes);
	put(bytes, 0, 0xfffffff1U, 4);
	put(bytes, 6, 1, 1);
	put(bytes, 7, 8, 1);
	put(bytes, 8, functions, 8);
	put(bytes, 32, GO_ENTRY + 44, 8); /* offset of the names */
	put(bytes, 56, GO_VALUES, 8);
	put(bytes, 64, 72, 8);
	for (uint32_t i = 0; i <= functions; i++)
	{
		put(bytes, 72 + (size_t) i * 8, (uint64_t) i * GO_FUNCTION_BYTES, 4);
		put(bytes, 72 + (size_t) i * 8 + 4, GO_ENTRY - 72, 4);
	}
	memcpy(bytes + GO_VALUES + 1, depths, depth_bytes);
	put(bytes, GO_ENTRY + 16, 1, 4); /* offset of the depths */
	put(bytes, GO_ENTRY + 41, flags, 1);
	put(bytes, GO_ENTRY + 44, 'x', 1);
	return bytes;
}

/* Returns the rules of the table's rows; the caller releases them. */
static void
compile_go_table_with(const uint8_t *bytes, RuleSet *rules, UnwindTable *table)
{
	const CfiInput input = { .machine = EM_X86_64,
							 .pclntab = { bytes, GO_TABLE_BYTES, 0 },
							 .go_text = GO_TEXT,
							 .code_start = GO_TEXT,
							 .code_end = GO_TEXT + GO_FUNCTIONS * GO_FUNCTION_BYTES };

	assert_int_equal(rule_set_init(rules), 0);
	assert_int_equal(cfi_compile(&input, rules, table), 0);
	for (size_t row = 1; row < table->count; row++)
		assert_true(table->rows[row - 1].offset < table->rows[row].offset);
}

static void
compile_go_table(const uint8_t *bytes, UnwindTable *table)
{
	RuleSet rules;

	compile_go_table_with(bytes, &rules, table);
	rule_set_fini(&rules);
}

/*
 * Depths that no rule can express, again and again: no row is kept, and the work ends nevertheless.
 */
static void
test_go_table_is_bounded(void **state)
{
	uint8_t depths[2 * GO_FUNCTION_BYTES];
	UnwindTable table;
	uint8_t *bytes;

	(void) state;
	for (size_t i = 0; i < sizeof(depths); i += 2)
	{
		depths[i] = i % 4 == 0 ? 4 : 3; /* 2 deeper, 2 less deep: all are odd */
		depths[i + 1] = 1;
	}
	bytes = go_table(GO_FUNCTIONS, depths, sizeof(depths), 0);
	compile_go_table(bytes, &table);
	assert_true(table.stats.rows_unsupported >= GO_FUNCTION_BYTES);
	assert_true(table.stats.rows_unsupported <= 2 * GO_TABLE_BYTES);
	unwind_table_free(&table);
	free(bytes);
}

/*
 * Code that leaves its stack after a prologue that is too long for the table: its rows must not go
 * backwards.
 */
static void
test_go_prologue_too_long(void **state)
{
	static const uint8_t depths[] = { 2, 1, 16, 1, 16, 200 };
	UnwindTable table;
	uint8_t *bytes = go_table(1, depths, sizeof(depths), 2 | 4);

	(void) state;
	compile_go_table(bytes, &table);
	assert_int_equal(table.stats.fdes_malformed, 1);
	unwind_table_free(&table);
	free(bytes);
}

/*
 * Go before 1.21 switches to C's stack in a function that pushes nothing: if the flags say so, the
 * frame record is the caller's, because the stack's own pointer cannot be used.
 */
static void
test_go_leaves_without_frame(void **state)
{
	static const uint8_t depths[] = { 2, 100, 0 };

	(void) state;
	for (int leaves = 0; leaves < 2; leaves++)
	{
		uint8_t *bytes = go_table(1, depths, sizeof(depths), leaves ? 2 | 4 : 4);
		const struct pfs_unwind_rule *rule;
		UnwindTable table;
		RuleSet rules;

		compile_go_table_with(bytes, &rules, &table);
		assert_int_equal(table.stats.fdes_malformed, 0);
		for (uint64_t at = GO_TEXT; at < GO_TEXT + 100; at++)
		{
			rule = rule_set_get(&rules, unwind_table_find(&table, at)->rule);
			assert_int_equal(rule->kind, PFS_UNWIND_CFI);
			assert_int_equal(rule->flags, leaves ? PFS_UNWIND_OTHER_STACK : 0);
			assert_int_equal(rule->cfa_register, leaves ? 6 : 7);
			assert_int_equal(rule->cfa_offset, leaves ? 16 : 8);
		}
		unwind_table_free(&table);
		rule_set_fini(&rules);
		free(bytes);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_extent_pool),
		cmocka_unit_test(test_packed_in_pieces),
		cmocka_unit_test(test_packed_table),
		cmocka_unit_test(test_hostile_cfi),
		cmocka_unit_test(test_go_table_is_bounded),
		cmocka_unit_test(test_go_prologue_too_long),
		cmocka_unit_test(test_go_leaves_without_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
