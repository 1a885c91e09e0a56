/*
 * test_series_labels.c
 *		Names of series' labels: legal, each once, numbered as they come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/series_labels.h"
#include "test/unit/values.h"

#define NAME_BYTES 32

static void *
plain_realloc(void *context, void *memory, size_t bytes)
{
	if (bytes > 0)
		return realloc(memory, bytes);
	free(memory);
	return NULL;
}

static bool
is_among(char names[][NAME_BYTES], uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Keys of few letters, legal or not, and of what numbering makes of them: as trying all would. */
static void
test_names(void **state)
{
	static const char *const keys[] = { "a",   "?",	  "_",	 "a_2", "__2", "a_2_2",
										"own", "!_3", "a_9", "1",	"_1",  "__pprof__" };
	PfsLabel own_label = { { "own", 3 }, { "x", 1 } };
	const PfsLabels own = { &own_label, 1 };
	Random random = { 11 };

	for (int round = 0; round < 50; round++)
	{
		PfsBudget budget = { .allocator = { plain_realloc, NULL }, .left = 1 << 24 };
		PfsMaking making = { .budget = &budget };
		char expected[PFS_PROFILE_MAX_LABELS][NAME_BYTES];
		PfsProfileLabel labels[PFS_PROFILE_MAX_LABELS];
		PfsLabels result;

		for (uint32_t i = 0; i < PFS_PROFILE_MAX_LABELS; i++)
		{
			const char *key = keys[random_below(&random, sizeof(keys) / sizeof(keys[0]))];
			bool is_taken = strcmp(key, "own") == 0;
			char base[NAME_BYTES];

			labels[i] = (PfsProfileLabel){ { key, (uint32_t) strlen(key) }, { "v", 1 }, 0, false };
			snprintf(base, sizeof(base), "%s%s%s", is_taken ? "exported_" : "",
					 key[0] == '1' ? "_" : "", key);
			base[strcspn(base, "?!")] = strpbrk(base, "?!") != NULL ? '_' : '\0';
			strcpy(expected[i], base);
			for (unsigned n = 2;
				 is_among(expected, i, expected[i]) || strcmp(expected[i], PFS_LABEL_KINDS) == 0;
				 n++)
				snprintf(expected[i], NAME_BYTES, "%.18s_%u", base, n);
		}
		assert_true(pfs_labels_of_sample(&making, &own, labels, PFS_PROFILE_MAX_LABELS, &result));
		assert_in_range(result.count, PFS_PROFILE_MAX_LABELS, PFS_PROFILE_MAX_LABELS + 1);
		for (uint32_t i = 0; i < PFS_PROFILE_MAX_LABELS; i++)
		{
			assert_int_equal(result.labels[i].name.length, strlen(expected[i]));
			assert_memory_equal(result.labels[i].name.data, expected[i], strlen(expected[i]));
		}
		pfs_scratch_free(&making.scratch, &budget);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
