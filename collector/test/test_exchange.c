/*
 * test_exchange.c
 *		What "import" makes of files and labels before the database sees them, operands between
 *		flags, and whose functions the statements run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exchange/exchange.h"
#include "private_server.h"

static PrivateServer server;

static void
assert_format(const char *content, ImportFormat expected)
{
	assert_int_equal(import_format_of(content, strlen(content)), expected);
}

static void
test_formats(void **state)
{
	assert_int_equal(import_format_of("\x1f\x8b\x08\x00", 4), IMPORT_PPROF);
	assert_int_equal(import_format_of("\x0a\x04\x08\x01\x10\x02", 6), IMPORT_PPROF);
	assert_format("main;work 12\n", IMPORT_FOLDED);
	assert_format("# a comment\n\nmain;a b 12\r\n", IMPORT_FOLDED);
	assert_format("main;work 12", IMPORT_FOLDED);
	assert_format("java 1/2 [003]  1.5:  10 cycles:u:\n\t12 f (x)\n", IMPORT_PERF_SCRIPT);
	assert_format("", IMPORT_FOLDED);
}

static void
assert_labels(const char *labels, const char *expected)
{
	Failure failure;
	char *json = import_labels_json(labels, &failure);

	if (expected == NULL)
	{
		assert_null(json);
		assert_int_equal(failure.code, EXIT_CONFIG);
	}
	else
		assert_string_equal(json, expected);
	free(json);
}

static void
test_labels(void **state)
{
	assert_labels("", "{}");
	assert_labels("a=b,c=d=e", "{\"a\":\"b\",\"c\":\"d=e\"}");
	assert_labels("a=x\"y\\\n", "{\"a\":\"x\\u0022y\\u005c\\u000a\"}");
	assert_labels("a=", "{\"a\":\"\"}");
	assert_labels("a", NULL);
	assert_labels("a=b,=c", NULL);
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

static void
write_text(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(file >= 0);
	assert_int_equal(write(file, text, strlen(text)), strlen(text));
	close(file);
}

static void
assert_text(const char *path, const char *expected)
{
	char text[256];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = read(file, text, sizeof(text) - 1);

	assert_true(length >= 0);
	text[length] = '\0';
	close(file);
	assert_string_equal(text, expected);
}

/*
 * The database leads its sessions to functions and operators that fit our statements better than
 * the server's own.
 */
static void
test_planted_functions(void **state)
{
	char path[] = "/tmp/test_exchange_XXXXXX";
	char *files[] = { path };
	Flag flags[EXCHANGE_FLAGS_MAX];
	ExchangeOptions options;
	int file = mkstemp(path);

	assert_true(file >= 0);
	close(file);
	server_start(&server, "exchange-test");
	sql_in("postgres", "DROP DATABASE IF EXISTS planted (FORCE)");
	sql_in("postgres", "CREATE DATABASE planted");
	sql_in(
		"planted",
		"CREATE EXTENSION profstore; CREATE SCHEMA hostile;"
		"CREATE FUNCTION hostile.convert_from(bytea, text) RETURNS text LANGUAGE sql AS $$SELECT 'planted 1'$$;"
		"CREATE FUNCTION hostile.join_texts(text, int8) RETURNS text LANGUAGE sql AS $$SELECT 'planted'$$;"
		"CREATE OPERATOR hostile.|| (LEFTARG = text, RIGHTARG = int8, FUNCTION = hostile.join_texts);"
		"ALTER DATABASE planted SET search_path = hostile, pg_catalog, public");

	import_flags(&options, flags);
	options.database = "dbname=planted";
	options.format = IMPORT_FOLDED;
	options.at = "2026-01-01Z";
	write_text(path, "main;work 12\n");
	assert_int_equal(import_run(&options, files, 1), EXIT_OK);

	export_flags(&options, flags);
	options.database = "dbname=planted";
	options.selector = "folded:samples:count:::delta";
	options.from = "2026-01-01Z";
	options.to = "2026-01-02Z";
	options.format = 1; /* folded */
	options.output = path;
	assert_int_equal(export_run(&options), EXIT_OK);
	assert_text(path, "main;work 12\n");
	unlink(path);
	server_control(&server, "purge", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_planted_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
