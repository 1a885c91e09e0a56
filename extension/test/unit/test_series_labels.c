/*
 * test_series_labels.c
 *		Tests names of series' labels: each is legal and unique; legal keys keep their names, the
 *		others are numbered.
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

static int
compare_keys(const void *a, const void *b)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* Finds the name that the label of a key gets if there is no other label. */
static void
name_alone(const char *key, char *name)
{
	snprintf(name, NAME_BYTES, "%s%s%s", strcmp(key, "own") == 0 ? "exported_" : "",
			 key[0] == '1' ? "_" : "", key);
	for (char *c = name; *c != '\0'; c++)
		*c = strchr("?!.", *c) != NULL ? '_' : *c;
}

/*
 * Compares the names for keys of few letters, legal or not, with those of a naive implementation:
 * legal keys get their names first, then each other key tries all numbers.
 */
static void
test_names(void **state)
{
	static const char *const keys[] = { "a",	 "?",		  "_",	 "a_2",			"__2",
										"a_2_2", "own",		  "!_3", "a_9",			"1",
										"_1",	 "__pprof__", "a.2", "exported_own" };
	PfsLabel own_label = { { "own", 3 }, { "x", 1 } };
	const PfsLabels own = { &own_label, 1 };
	Random random = { 11 };

	for (int round = 0; round < 50; round++)
	{
		PfsBudget budget = { .allocator = { plain_realloc, NULL }, .left = 1 << 24 };
		PfsMaking making = { .budget = &budget };
		static char expected[PFS_PROFILE_MAX_LABELS][NAME_BYTES];
		const char *chosen[PFS_PROFILE_MAX_LABELS];
		PfsProfileLabel labels[PFS_PROFILE_MAX_LABELS];
		PfsLabels result;

		for (uint32_t i = 0; i < PFS_PROFILE_MAX_LABELS; i++)
			chosen[i] = keys[random_below(&random, sizeof(keys) / sizeof(keys[0]))];
		qsort(chosen, PFS_PROFILE_MAX_LABELS, sizeof(chosen[0]), compare_keys);
		memset(expected, 0, sizeof(expected));
		for (uint32_t i = 0; i < PFS_PROFILE_MAX_LABELS; i++)
		{
			char alone[NAME_BYTES];

			labels[i] = (PfsProfileLabel){
				{ chosen[i], (uint32_t) strlen(chosen[i]) }, { "v", 1 }, 0, false
			};
			name_alone(chosen[i], alone);
			if (strcmp(alone, chosen[i]) == 0 && strcmp(alone, PFS_LABEL_KINDS) != 0 &&
				!is_among(expected, i, alone))
				strcpy(expected[i], alone);
		}
		for (uint32_t i = 0; i < PFS_PROFILE_MAX_LABELS; i++)
		{
			char alone[NAME_BYTES];
			char name[NAME_BYTES];

			name_alone(chosen[i], alone);
			strcpy(name, alone);
			for (unsigned n = 2;
				 expected[i][0] == '\0' && (is_among(expected, PFS_PROFILE_MAX_LABELS, name) ||
											strcmp(name, PFS_LABEL_KINDS) == 0);
				 n++)
				snprintf(name, NAME_BYTES, "%.18s_%u", alone, n);
			if (expected[i][0] == '\0')
				strcpy(expected[i], name);
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

/*
 * If a key is the name that another key would get, it keeps its name and value, in either order of
 * the two.
 */
static void
test_meeting(void **state)
{
	const PfsProfileLabel labels[] = { { { "http.route", 10 }, { "/b", 2 }, 0, false },
									   { { "http_route", 10 }, { "/a", 2 }, 0, false },
									   { { "http~route", 10 }, { "/c", 2 }, 0, false } };
	PfsBudget budget = { .allocator = { plain_realloc, NULL }, .left = 1 << 20 };
	PfsMaking making = { .budget = &budget };
	const PfsLabels own = { NULL, 0 };
	static const char *const names[] = { "http_route", "http_route_2", "http_route_3" };
	static const char *const values[] = { "/a", "/b", "/c" };
	PfsLabels result;

	assert_true(pfs_labels_of_sample(&making, &own, labels, 3, &result));
	assert_int_equal(result.count, 4); /* the labels and their original keys */
	for (int i = 0; i < 3; i++)
	{
		const PfsText *value = pfs_label_find(&result, names[i]);

		assert_non_null(value);
		assert_true(pfs_text_equals(*value, values[i]));
	}
	pfs_scratch_free(&making.scratch, &budget);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_meeting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
