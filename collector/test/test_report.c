/*
 * test_report.c
 *		The summary lists every kind of loss; the lines of each minute report what was stored.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/agent_report.h"
#include "agent/flusher/minute.h"
#include "base/log.h"

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

/* Returns the lines that a report logs; the caller frees them. */
static char *
log_of(Minute *minute, const MinuteTotals *totals)
{
	int captured = memfd_create("log", MFD_CLOEXEC);
	int saved = dup(STDERR_FILENO);
	char *text = calloc(1, 16384);

	assert_non_null(text);
	assert_true(captured >= 0 && saved >= 0);
	dup2(captured, STDERR_FILENO);
	minute_report(minute, totals);
	dup2(saved, STDERR_FILENO);
	close(saved);
	assert_true(pread(captured, text, 16383, 0) > 0);
	close(captured);
	return text;
}

static void
says_each_minute_what_was_stored(void **state)
{
	Minute minute = { .losses = { [LOSS_PROCESS_GONE] = 10, [LOSS_SIDEBAND_FULL] = 9 } };
	MinuteTotals totals = { .samples = 1000, .user_samples = 800, .complete = 799, .rows = 300 };
	char *text = log_of(&minute, &totals);

	assert_non_null(strstr(text, "level=info mod=agent msg=sampled samples=1000 rows_stored=300"
								 " whole_stacks_percent=99.8\n"));
	assert_non_null(strstr(text, "reason=process_gone count=10 samples=1000 meaning="));
	assert_null(strstr(text, "sideband_full"));
	free(text);

	/* only events since the last report, and at level debug those below one in a hundred */
	log_configure(LOG_DEBUG, false);
	totals.samples = 1500;
	totals.rows = 400;
	minute.losses[LOSS_SIDEBAND_FULL] = 4;
	text = log_of(&minute, &totals);
	assert_non_null(strstr(text, "samples=500 rows_stored=100 whole_stacks_percent=100\n"));
	assert_null(strstr(text, "process_gone"));
	assert_non_null(strstr(text, "level=debug mod=agent msg=\"profiles are incomplete\""
								 " reason=sideband_full count=4 samples=500 meaning="));
	free(text);
	log_configure(LOG_INFO, false);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_all_that_was_lost),
		cmocka_unit_test(says_each_minute_what_was_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
