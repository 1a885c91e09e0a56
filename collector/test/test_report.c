/*
 * test_report.c
 *		The summary leaves out nothing that was lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/report.h"

static void
sums_all_that_was_lost(void **state)
{
	const Report report = { .writer = { .samples_dropped = 3, .samples_refused = 40 } };
	Losses losses = { 0 };
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	losses_add(&losses, LOSS_RING_FULL, 500);
	losses_add(&losses, LOSS_PROCESS_GONE, 6000); /* stored in part */
	assert_int_equal(report_write(file, &report, &losses), 0);
	assert_non_null(strstr(text, "samples_lost=543\n"));
	assert_non_null(strstr(text, "lost.ring_full=500\n"));
	assert_non_null(strstr(text, "lost.queue_full=3\n"));
	assert_non_null(strstr(text, "lost.database_refused=40\n"));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sums_all_that_was_lost) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
