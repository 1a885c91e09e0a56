/*
 * test_regex.c
 *		Expressions that end in the middle of an item. sources/relabel compares their meaning with
 *		RE2 itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "labels/regex.h"

/* Nothing is read past the expression's end, where the bytes would complete each item. */
static void
test_cut_short(void **state)
{
	static const char *const patterns[] = {
		"\\p{L\0}", "\\P{^Z\0}",	 "[\\p{L\0}]", "[\\P{Z\0]",		"\\p\0L",
		"\\\0d",	"\\x{41\0}",	 "\\x4\0001",  "[a\0]",			"[a-\0z]",
		"[\\\0d]",	"[[:alpha\0:]]", "(?i\0)a",	   "(?P<name\0>a)", "(a\0)",
	};
	char error[REGEX_ERROR_BYTES];

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
	{
		assert_null(regex_compile(patterns[i], error));
		assert_string_not_equal(error, "");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
