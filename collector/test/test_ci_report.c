/*
 * test_ci_report.c
 *		Reports of "ci run" with names that try to write Markdown or HTML of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ci/ci_report.h"

#define HOSTILE "evil`</code><script>|\r\r# Passed\n\n\x1b[2J\x7f"

static const ReportFacts hostile_facts = { .benchmark = HOSTILE,
										   .baseline = HOSTILE,
										   .ref = HOSTILE,
										   .version = HOSTILE,
										   .machine = HOSTILE,
										   .job = HOSTILE,
										   .increase = 0.01,
										   .is_sampled = true,
										   .runs = 3 };

/* Writes a report as text, which the caller frees. */
static char *
write_report(void (*report)(Buffer *, const ReportFacts *, const Verdict *))
{
	VerdictFunction function = { .name = HOSTILE };
	double ratios[3] = { 0 };
	const Verdict verdict = { .method = VERDICT_PAIRS,
							  .units = 3,
							  .detectable = NAN,
							  .ratios = ratios,
							  .functions = &function,
							  .function_count = 1 };
	Buffer buffer = { NULL };
	char *text;

	report(&buffer, &hostile_facts, &verdict);
	assert_false(buffer.failed);
	text = strndup(buffer.bytes, buffer.length);
	assert_non_null(text);
	buffer_fini(&buffer);
	return text;
}

/* A carriage return ends a line of Markdown, too; an escape sequence would steer a terminal. */
static void
test_markdown(void **state)
{
	char *text = write_report(report_markdown);

	assert_null(strpbrk(text, "\r\x1b\x7f"));
	assert_null(strstr(text, "\n# Passed"));
	assert_non_null(strstr(text, "| `evil</code><script>\\|# Passed[2J` |"));
	free(text);
}

static void
test_html(void **state)
{
	char *text = write_report(report_html);

	assert_null(strstr(text, "<script"));
	assert_non_null(strstr(text, "evil`&lt;/code&gt;&lt;script&gt;|"));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_markdown),
		cmocka_unit_test(test_html),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
