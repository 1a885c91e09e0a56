/*
 * test_code_cache.c
 *		The owner whose code objects are dropped if the budget is used up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/code_cache.h"

#define LIMIT_BYTES (64 * 1024)
#define LINES_BYTES 1000

static void
add(CodeCache *cache, ProcessCodes *codes, uint64_t address)
{
	CodeKey key = { address, 1 };
	RuntimeCode code = { .name = strdup("f"),
						 .file = strdup("f.py"),
						 .lines = calloc(1, LINES_BYTES),
						 .lines_bytes = LINES_BYTES };

	code_cache_add(cache, codes, &key, &code);
}

static bool
has(const CodeCache *cache, const ProcessCodes *codes, uint64_t address)
{
	CodeKey key = { address, 1 };

	return code_cache_find(cache, codes, &key) != NULL;
}

/*
 * The owner with the most objects loses them, however many processes it has, and however recently
 * they were used.
 */
static void
test_owner_displaces_its_own(void **state)
{
	CodeCache *cache;
	ProcessCodes *bystander;
	ProcessCodes *hostile[8];

	(void) state;
	assert_int_equal(code_cache_create(LIMIT_BYTES, &cache), 0);
	bystander = code_cache_open(cache, 1, NULL, NULL);
	code_cache_use(bystander, 1);
	for (uint64_t i = 0; i < 5; i++)
		add(cache, bystander, i);
	for (int i = 0; i < 8; i++)
	{
		hostile[i] = code_cache_open(cache, 2, NULL, NULL);
		code_cache_use(hostile[i], (uint64_t) (2 + i));
	}
	for (uint64_t i = 0; i < 1000; i++)
		add(cache, hostile[i % 8], i);
	for (uint64_t i = 0; i < 5; i++)
		assert_true(has(cache, bystander, i));
	/* each time, the process whose objects were used longest ago lost them first */
	assert_true(has(cache, hostile[999 % 8], 999));
	for (int i = 0; i < 8; i++)
		code_cache_close(cache, hostile[i]);
	code_cache_close(cache, bystander);
	code_cache_free(cache);
}

static void
count_release(void *context)
{
	++*(int *) context;
}

/* Other state is charged like the objects: the owner that has most of it loses it. */
static void
test_state_is_charged(void **state)
{
	int released[9] = { 0 };
	CodeCache *cache;
	ProcessCodes *bystander;
	ProcessCodes *hostile[8];

	(void) state;
	assert_int_equal(code_cache_create(LIMIT_BYTES, &cache), 0);
	bystander = code_cache_open(cache, 1, count_release, &released[8]);
	code_cache_use(bystander, 1);
	add(cache, bystander, 1);
	code_cache_charge(cache, bystander, LIMIT_BYTES / 8);
	for (int i = 0; i < 8; i++)
	{
		hostile[i] = code_cache_open(cache, 2, count_release, &released[i]);
		code_cache_use(hostile[i], (uint64_t) (2 + i));
		code_cache_charge(cache, hostile[i], LIMIT_BYTES / 4);
		/* equal state takes no more memory */
		code_cache_charge(cache, hostile[i], LIMIT_BYTES / 4);
	}
	assert_int_equal(released[8], 0);
	assert_true(has(cache, bystander, 1));
	/* the budget holds three of them beside the bystander's */
	for (int i = 0; i < 8; i++)
		assert_int_equal(released[i], i < 5);
	/* state that alone exceeds the budget is dropped at once, with everything else of its owner */
	code_cache_charge(cache, hostile[7], 2 * LIMIT_BYTES);
	assert_int_equal(released[7], 1);
	assert_int_equal(released[8], 0);
	for (int i = 0; i < 8; i++)
		code_cache_close(cache, hostile[i]);
	code_cache_close(cache, bystander);
	assert_int_equal(released[8], 1);
	for (int i = 0; i < 8; i++)
		assert_int_equal(released[i], 1);
	code_cache_free(cache);
}

static void
test_key_and_bounds(void **state)
{
	CodeKey other = { 7, 2 };
	RuntimeCode large = { .name = strdup("f"), .file = strdup("f.py") };
	CodeCache *cache;
	ProcessCodes *codes;

	(void) state;
	assert_int_equal(code_cache_create(LIMIT_BYTES, &cache), 0);
	codes = code_cache_open(cache, 1, NULL, NULL);
	add(cache, codes, 7);
	assert_true(has(cache, codes, 7));
	assert_null(code_cache_find(cache, codes, &other));
	large.lines_bytes = 2 * LIMIT_BYTES;
	large.lines = calloc(1, large.lines_bytes);
	code_cache_add(cache, codes, &other, &large);
	assert_null(code_cache_find(cache, codes, &other));
	code_cache_close(cache, codes);
	code_cache_free(cache);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owner_displaces_its_own),
		cmocka_unit_test(test_state_is_charged),
		cmocka_unit_test(test_key_and_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
