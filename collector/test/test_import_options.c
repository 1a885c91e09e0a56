/*
 * test_import_options.c
 *		Input that "import" reads before it needs a database: formats of files, labels, operands
 *		between flags, lists of files to skip, and frames of lz4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decode/decode.h"
#include "exchange/exchange.h"
#include "exchange/file_list.h"
#include "exchange/given_labels.h"
#include "exchange/lz4_file.h"
#include "exchange/path_labels.h"
#include "failing_call.h"

static void
assert_format(const char *content, ProfileFormat expected)
{
	assert_int_equal(profile_format_of(content, strlen(content)), expected);
}

static void
test_formats(void **state)
{
	assert_int_equal(profile_format_of("\x1f\x8b\x08\x00", 4), PROFILE_PPROF);
	assert_int_equal(profile_format_of("\x0a\x04\x08\x01\x10\x02", 6), PROFILE_PPROF);
	assert_format("main;work 12\n", PROFILE_FOLDED);
	assert_format("# a comment\n\nmain;a b 12\r\n", PROFILE_FOLDED);
	assert_format("main;work 12", PROFILE_FOLDED);
	assert_format("java 1/2 [003]  1.5:  10 cycles:u:\n\t12 f (x)\n", PROFILE_PERF_SCRIPT);
	assert_format("", PROFILE_FOLDED);
	assert_format("goroutine profile: total 12\n1 @ 0x1\n", PROFILE_PPROF);
	assert_format("heap profile: 1: 2 [1: 2] @ heapprofile\n", PROFILE_PPROF);
	assert_format("--- mutex:\ncycles/second=12\n1 2 @ 0x1\n", PROFILE_PPROF);
}

static void
assert_json(GivenLabels *labels, const char *expected)
{
	Buffer json = { NULL };

	given_labels_json(labels, &json);
	buffer_put_bytes(&json, "", 1);
	assert_string_equal(json.bytes, expected);
	buffer_fini(&json);
	given_labels_free(labels);
}

static void
assert_labels(const char *text, const char *expected)
{
	GivenLabels labels = { NULL };
	Failure failure;
	ExitCode code = given_labels_parse(&labels, text, &failure);

	assert_int_equal(code, expected ? EXIT_OK : EXIT_CONFIG);
	if (expected != NULL)
		assert_json(&labels, expected);
	given_labels_free(&labels);
}

static void
test_labels(void **state)
{
	assert_labels("", "{}");
	assert_labels("a=b,c=d=e", "{\"a\":\"b\",\"c\":\"d=e\"}");
	assert_labels("a=x\"y\\\n", "{\"a\":\"x\\\"y\\\\\\n\"}");
	assert_labels("a=", "{\"a\":\"\"}");
	assert_labels("a=1,b=2,a=3", "{\"a\":\"3\",\"b\":\"2\"}");
	assert_labels("a", NULL);
	assert_labels("a=b,=c", NULL);
	assert_labels("a b=c", NULL);
	assert_labels("1a=c", NULL);
}

/* Matches a path with a pattern; expected is NULL if the path must not match. */
static void
assert_path(const char *pattern, const char *path, const char *expected)
{
	GivenLabels labels = { NULL };
	Failure failure;

	assert_int_equal(path_pattern_check(pattern, &failure), EXIT_OK);
	assert_int_equal(path_pattern_matches(pattern, path), expected != NULL);
	if (expected == NULL)
		return;
	assert_true(path_labels(pattern, path, &labels));
	assert_json(&labels, expected);
}

static void
test_path_labels(void **state)
{
	static const char *const refused[] = { "", "*.pb", "{a", "{}", "{a b}", "{1}", "{a}/{a}" };
	Failure failure;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(path_pattern_check(refused[i], &failure), EXIT_CONFIG);
	assert_path("{service}/{instance}/*.pb.gz", "/data/api/host-1/7.pb.gz",
				"{\"instance\":\"host-1\",\"service\":\"api\"}");
	assert_path("{service}/{instance}/*.pb.gz", "api/host-1/7.pb.gz",
				"{\"instance\":\"host-1\",\"service\":\"api\"}");
	assert_path("{service}/{instance}/*.pb.gz", "host-1/7.pb.gz", NULL);
	assert_path("{service}/{instance}/*.pb.gz", "/data/api/host-1/7.pb", NULL);
	/* the first placeholder matches as little as possible, "*" may match nothing, "{}" may not */
	assert_path("{a}-{b}.pb*", "x/1-2-3.pb", "{\"b\":\"2-3\",\"a\":\"1\"}");
	assert_path("{a}-{b}", "-2", NULL);
	assert_path("*{a}", "xyz", "{\"a\":\"xyz\"}");
	assert_path("{a}*", "xyz", "{\"a\":\"x\"}");
}

static void
test_operands(void **state)
{
	ExchangeOptions options;
	Flag flags[EXCHANGE_FLAGS_MAX];
	size_t flag_count = import_flags(&options, flags);
	const char *given[] = { "one", "--at", "2026-01-01", "-", "--labels=a=b", "two" };
	char **arguments = (char **) (uintptr_t) given;
	Failure failure;
	size_t count;

	assert_int_equal(flags_parse_operands(flags, flag_count, 6, arguments, &count, &failure),
					 EXIT_OK);
	assert_int_equal(count, 3);
	assert_string_equal(given[0], "one");
	assert_string_equal(given[1], "-");
	assert_string_equal(given[2], "two");
	assert_string_equal(options.at, "2026-01-01");
	assert_string_equal(options.labels, "a=b");
}

/* A list that cannot be read to its end is an error, not an empty list. */
static void
test_skip_unreadable(void **state)
{
	FileList list = { NULL };
	Failure failure;
	size_t skipped = 0;

	assert_int_equal(file_list_add(&list, "/proc/version", NULL, &failure), EXIT_OK);
	assert_int_equal(file_list_skip(&list, "/proc", &skipped, &failure), EXIT_IO);
	assert_string_equal(failure.detail, "\"/proc\": Is a directory.");
	assert_int_equal(file_list_skip(&list, "/proc/self/mem", &skipped, &failure), EXIT_IO);
	assert_int_equal(list.count, 1);
	file_list_free(&list);
}

static int
list_unreadable(void)
{
	FileList list = { NULL };
	Failure failure;
	ExitCode code = file_list_add(&list, "/proc/self/task", NULL, &failure);
	size_t count = list.count;

	file_list_free(&list);
	return code == EXIT_IO && count == 0 &&
				   strcmp(failure.detail, "\"/proc/self/task\": Input/output error.") == 0
			   ? 0
			   : 1;
}

/* A directory whose reading fails is an error, because its files would be left out in silence. */
static void
test_unreadable_directory(void **state)
{
	assert_with_failing_directories(list_unreadable);
}

/*
 * A file that is cut anywhere, or has any byte changed, is refused or unpacked to the same content.
 */
static void
test_lz4(void **state)
{
	static char zeros[1 << 20];
	static char bomb[(1 << 20) + (1 << 17)];
	const char text[] = "main;work 12\nmain;work;deeper 3\n";
	const LZ4F_preferences_t checked = { .frameInfo.contentChecksumFlag = 1 };
	char packed[8192];
	Buffer out = { NULL };
	size_t length = LZ4F_compressFrame(packed, sizeof(packed), text, strlen(text), &checked);

	assert_false(LZ4F_isError(length));
	assert_true(lz4_is_frame(packed, length));
	assert_false(lz4_is_frame(packed, 3));
	assert_false(lz4_is_frame(text, strlen(text)));
	memcpy(packed + length, packed, length); /* two frames in one file */
	assert_int_equal(lz4_unpack(packed, 2 * length, 1000, &out), 0);
	assert_int_equal(out.length, 2 * strlen(text));
	assert_memory_equal(out.bytes + strlen(text), text, strlen(text));
	for (size_t i = 1; i < length; i++)
	{
		buffer_reset(&out);
		assert_int_equal(lz4_unpack(packed, i, 1000, &out), -EBADMSG);
		assert_int_equal(lz4_unpack(packed, length + i, 1000, &out), -EBADMSG);
	}
	for (size_t i = 4; i < 8 * length; i++)
	{
		packed[i / 8] ^= (char) (1 << i % 8);
		buffer_reset(&out);
		if (lz4_unpack(packed, length, 1000, &out) == 0)
			assert_memory_equal(out.bytes, text, strlen(text));
		packed[i / 8] ^= (char) (1 << i % 8);
	}
	length = LZ4F_compressFrame(bomb, sizeof(bomb), zeros, sizeof(zeros), NULL);
	assert_false(LZ4F_isError(length));
	buffer_reset(&out);
	assert_int_equal(lz4_unpack(bomb, length, sizeof(zeros) - 1, &out), -EFBIG);
	buffer_fini(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_path_labels),
		cmocka_unit_test(test_lz4),
		cmocka_unit_test(test_skip_unreadable),
		cmocka_unit_test(test_unreadable_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
