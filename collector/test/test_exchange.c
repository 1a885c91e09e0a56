/*
 * test_exchange.c
 *		"import" with a server: the functions that its statements run, and equality of the stored
 *		rows with those of the server's own functions, except for files that "import" refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lz4frame.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "decode/decode.h"
#include "exchange/exchange.h"
#include "exchange/file_list.h"
#include "exchange/given_labels.h"
#include "exchange/lz4_file.h"
#include "exchange/path_labels.h"
#include "private_server.h"

static PrivateServer server;

static void
write_bytes(const char *path, const char *bytes, size_t length)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(file >= 0);
	assert_int_equal(write(file, bytes, length), length);
	close(file);
}

static void
write_text(const char *path, const char *text)
{
	write_bytes(path, text, strlen(text));
}

static void
write_packed(const char *path, const char *text, size_t cut)
{
	char packed[1024];
	size_t length = LZ4F_compressFrame(packed, sizeof(packed), text, strlen(text), NULL);

	assert_false(LZ4F_isError(length));
	write_bytes(path, packed, length - cut);
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
 * The database's search_path contains functions and operators that match the collector's statements
 * better than the server's own. The imported file is compressed.
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
	write_packed(path, "main;work 12\n", 1);
	assert_int_equal(import_run(&options, files, 1), EXIT_IO);
	write_packed(path, "main;work 12\n", 0);
	assert_int_equal(import_run(&options, files, 1), EXIT_OK);

	export_flags(&options, flags);
	options.database = "dbname=planted";
	options.selector = "folded:samples:count:::delta";
	options.from = "2026-01-01Z";
	options.to = "2026-01-02Z";
	options.format = 1; /* FORMAT_FOLDED */
	options.output = path;
	assert_int_equal(export_run(&options), EXIT_OK);
	assert_text(path, "main;work 12\n");

	sql_in("planted",
		   "SELECT profstore.keep_traces('{2026-01-01Z}', ARRAY[series_id], ARRAY[stack_id],"
		   " '{5}', '{00000000-0000-0000-0000-00000000000a}', '{\\\\x000000000000000b}')"
		   " FROM profstore.samples");
	options.trace = "0000000000000000000000000000000a";
	assert_int_equal(export_run(&options), EXIT_OK);
	assert_text(path, "main;work 5\n");
	options.span = "000000000000000b";
	assert_int_equal(export_run(&options), EXIT_OK);
	assert_text(path, "main;work 5\n");
	options.span = "000000000000000c";
	assert_int_equal(export_run(&options), EXIT_OK);
	assert_text(path, "");
	options.trace = "no id";
	assert_int_equal(export_run(&options), EXIT_CONFIG);
	unlink(path);
	server_control(&server, "purge", NULL);
}

/* --- both roads --- */

static void
put_varint(Buffer *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		buffer_put_bytes(to, &(char){ (char) (value | 0x80) }, 1);
	buffer_put_bytes(to, &(char){ (char) value }, 1);
}

static void
put_number(Buffer *to, unsigned field, int64_t value)
{
	put_varint(to, (uint64_t) field << 3);
	put_varint(to, (uint64_t) value);
}

static void
put_bytes(Buffer *to, unsigned field, const void *bytes, size_t length)
{
	put_varint(to, (uint64_t) field << 3 | 2);
	put_varint(to, length);
	buffer_put_bytes(to, bytes, length);
}

/* Writes a message of numbers in its fields 1, 2, 3 …, and one more message in it, or none. */
static void
put_message(Buffer *to, unsigned field, const int64_t *numbers, unsigned count,
			unsigned inner_field, const Buffer *inner)
{
	Buffer message = { NULL };

	for (unsigned i = 0; i < count; i++)
		put_number(&message, i + 1, numbers[i]);
	if (inner != NULL)
		put_bytes(&message, inner_field, inner->bytes, inner->length);
	put_bytes(to, field, message.bytes, message.length);
	buffer_fini(&message);
}

#define MESSAGE(to, field, ...)                              \
	put_message(to, field, (const int64_t[]){ __VA_ARGS__ }, \
				sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), 0, NULL)

/* Texts of the odd profile by their index; with lengths, because some contain zero bytes. */
static const struct
{
	const char *bytes;
	size_t length;
} odd_texts[] = {
	{ "", 0 },
	{ "samples", 7 },
	{ "count", 5 },
	{ "cpu", 3 },
	{ "nano:sec\0s", 10 },
	{ "main\xff", 5 },
	{ "/bin/\xe4x", 7 },
	{ "abcdef", 6 },
	{ "thread id", 9 },
	{ "service", 7 },
	{ "b\"\\\n\xc3", 5 },
	{ "bytes", 5 },
	{ "a comment\0", 10 },
	{ "h\xc3\xb6her", 6 },
	{ "work", 4 },
	{ "__pprof__", 9 },
};

static void
put_sample(Buffer *to, const int64_t *locations, unsigned depth, int64_t count, int64_t cpu,
		   const Buffer *labels)
{
	Buffer message = { NULL };

	for (unsigned i = 0; i < depth; i++)
		put_number(&message, 1, locations[i]);
	put_number(&message, 2, count);
	put_number(&message, 2, cpu);
	if (labels != NULL)
		buffer_put_bytes(&message, labels->bytes, labels->length);
	put_bytes(to, 2, message.bytes, message.length);
	buffer_fini(&message);
}

static void
put_odd_samples(Buffer *to)
{
	Buffer labels = { NULL };

	/*
	 * a key that is not a valid name, one that the importer sets, a number, a key twice, a key in
	 * use
	 */
	MESSAGE(&labels, 3, 8, 10);
	MESSAGE(&labels, 3, 9, 14);
	MESSAGE(&labels, 3, 11, 0, -5, 11);
	MESSAGE(&labels, 3, 13, 14);
	MESSAGE(&labels, 3, 13, 10);
	MESSAGE(&labels, 3, 15, 14);
	put_sample(to, (const int64_t[]){ 70, 9 }, 2, 3, 30, NULL);
	put_sample(to, (const int64_t[]){ 70, 9 }, 2, 4, 0, NULL); /* added to the sample before */
	put_sample(to, (const int64_t[]){ 9 }, 1, 5, -5, &labels); /* a negative value */
	put_sample(to, (const int64_t[]){ 9, 9, 70 }, 3, 0, 7, &labels);
	put_sample(to, NULL, 0, 2, 20, NULL); /* without a stack */
	put_sample(to, (const int64_t[]){ 9 }, 1, 1, 1, NULL);
	put_sample(to, (const int64_t[]){ 9 }, 1, -1, -1, NULL); /* a stack of an unknown location */
	buffer_fini(&labels);
}

/* Writes a profile with everything that is odd and allowed. time_s 0: without a time. */
static Buffer
odd_profile(int64_t time_s)
{
	Buffer profile = { NULL };
	Buffer line = { NULL };

	MESSAGE(&profile, 1, 1, 2);
	MESSAGE(&profile, 1, 3, 4);
	MESSAGE(&profile, 3, 1, 0x7f0000000000, 0x7f0000100000, 0x1000, 6, 7);
	MESSAGE(&profile, 3, 2, 0x400000, 0x500000, 0, 14, 0);
	MESSAGE(&profile, 5, 4, 5, 0, 6, 17);
	MESSAGE(&profile, 5, 5, 13, 14, 0, 0);
	put_number(&line, 1, 5);
	put_number(&line, 2, 12);
	put_message(&profile, 4, (const int64_t[]){ 70, 1, 0x7f0000000123 }, 3, 4, &line);
	put_message(&profile, 4, (const int64_t[]){ 9, 2, 0x400010 }, 3, 4, &line);
	put_odd_samples(&profile);
	for (size_t i = 0; i < sizeof(odd_texts) / sizeof(odd_texts[0]); i++)
		put_bytes(&profile, 6, odd_texts[i].bytes, odd_texts[i].length);
	put_number(&profile, 9, time_s * 1000000000 + 123456789);
	if (time_s == 0)
		put_number(&profile, 10, 5);
	MESSAGE(&profile, 11, 13, 2);
	put_number(&profile, 12, 7);
	put_number(&profile, 13, 12);
	put_number(&profile, 14, 3);
	put_number(&profile, 15, 14);
	buffer_fini(&line);
	return profile;
}

static void
write_odd_profile(const char *path, int64_t time_s)
{
	Buffer profile = odd_profile(time_s);
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(profile.bytes, 1, profile.length, file), profile.length);
	fclose(file);
	buffer_fini(&profile);
}

/* --- into a batch --- */

static DecodeEnd
decode_into(const Buffer *profile, size_t batch_bytes, Batch **batch)
{
	const DecodeRequest request = { .format = PROFILE_PPROF,
									.limits.now_us = INT64_C(1700000000000000) };
	DecodeResult result;

	assert_int_equal(batch_create(batch_bytes, batch), 0);
	return decode_profile(&request, profile->bytes, profile->length, *batch, &result);
}

/* No part of a profile that is not in the batch is sent to the database. */
static void
assert_no_samples(Batch *batch)
{
	const BatchSample *samples;
	const BatchNote *notes;

	assert_int_equal(batch_samples(batch, &samples), 0);
	assert_int_equal(batch_notes(batch, &notes), 0);
	batch_free(batch);
}

/*
 * At whatever point a batch is full, it has both the samples and the notes of a profile, or
 * neither.
 */
static void
test_no_room(void **state)
{
	Buffer profile = odd_profile(1700000000);
	const BatchNote *notes;
	size_t bytes = 4096;
	size_t in_vain = 0;
	Batch *batch;
	DecodeEnd end;

	while ((end = decode_into(&profile, bytes, &batch)) == DECODE_NO_ROOM)
	{
		assert_no_samples(batch);
		bytes += 8;
		in_vain++;
	}
	assert_int_equal(end, DECODE_OK);
	assert_true(in_vain > 100);
	assert_true(batch_notes(batch, &notes) > 0);
	batch_free(batch);
	buffer_fini(&profile);
}

/* A sum that no batch can hold is found before any part of the profile can be stored. */
static void
test_sum_for_server(void **state)
{
	Buffer profile = odd_profile(1700000000);
	const BatchSeries *series;
	Batch *batch;

	put_sample(&profile, (const int64_t[]){ 9 }, 1, INT64_MAX, 1, NULL);
	put_sample(&profile, (const int64_t[]){ 9 }, 1, INT64_MAX, 1, NULL);
	assert_int_equal(decode_into(&profile, 1 << 20, &batch), DECODE_SERVER);
	assert_int_equal(batch_series(batch, &series), 0);
	assert_no_samples(batch);
	buffer_fini(&profile);
}

#define WIDE_TYPES	 64
#define WIDE_SAMPLES 80000

/* Few bytes may contain many values: their memory has a limit of its own. */
static void
test_many_values(void **state)
{
	Buffer profile = { NULL };
	Buffer sample = { NULL };
	char values[WIDE_TYPES];
	const BatchSeries *series;
	Batch *batch;

	memset(values, 1, sizeof(values));
	put_bytes(&sample, 2, values, sizeof(values)); /* as a packed field */
	put_bytes(&profile, 6, "", 0);
	for (int i = 1; i <= WIDE_TYPES; i++)
	{
		char name[8];

		snprintf(name, sizeof(name), "type%d", i);
		put_bytes(&profile, 6, name, strlen(name));
		MESSAGE(&profile, 1, i, i);
	}
	for (int i = 0; i < WIDE_SAMPLES; i++)
		put_bytes(&profile, 2, sample.bytes, sample.length);
	assert_int_equal(decode_into(&profile, 1 << 20, &batch), DECODE_SERVER);
	assert_int_equal(batch_series(batch, &series), 0);
	assert_no_samples(batch);
	buffer_fini(&sample);
	buffer_fini(&profile);
}

/* Rows that an importer stored, without the names of profile types and the ids of series. */
#define ROAD_ROWS 19
#define ROWS_OF(road)                                                                           \
	"SELECT substr(s.profile_type, 7), s.labels, k.period, k.first_seen, k.last_seen, p.time,"  \
	" p.stack_id, p.value, n.default_type, n.comments, n.doc_url, n.drop_frames, n.keep_frames" \
	" FROM profstore.matching_series(NULL) s"                                                   \
	" JOIN profstore.series k ON k.id = s.series_id"                                            \
	" LEFT JOIN profstore.samples p ON p.series_id = k.id"                                      \
	" LEFT JOIN profstore.file_notes n ON n.series_id = k.id"                                   \
	" WHERE starts_with(s.profile_type, '" road ":')"

static void
assert_rows_equal(void)
{
	assert_string_equal(sql_in("roads", "SELECT count(*) FROM (" ROWS_OF(
											"server") " EXCEPT ALL " ROWS_OF("client") ") AS r"),
						"0");
	assert_string_equal(sql_in("roads", "SELECT count(*) FROM (" ROWS_OF(
											"client") " EXCEPT ALL " ROWS_OF("server") ") AS r"),
						"0");
}

static void
assert_roads_equal(int rows)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", rows);
	assert_string_equal(sql_in("roads", "SELECT count(*) FROM (" ROWS_OF("client") ") AS r"), text);
	assert_rows_equal();
}

static void
import_all(const char *directory, const char *at, ExitCode expected)
{
	char *operands[] = { (char *) (uintptr_t) directory };
	Flag flags[EXCHANGE_FLAGS_MAX];
	ExchangeOptions options;

	import_flags(&options, flags);
	options.database = "dbname=roads";
	options.labels = "__name__=client,zone=";
	options.path_labels = "{service}/*";
	options.at = at;
	assert_int_equal(import_run(&options, operands, 1), expected);
}

static void
import_by_sql(const char *function, const char *path, const char *service, const char *at)
{
	char sql[1024];
	bool is_pprof = strcmp(function, "import_pprof") == 0;

	snprintf(sql, sizeof(sql),
			 "SELECT profstore.%s(%s(pg_read_binary_file('%s')%s), "
			 "'{\"__name__\": \"server\", \"zone\": \"\", \"service\": \"%s\"}', %s)",
			 function, is_pprof ? "" : "convert_from", path, is_pprof ? "" : ", 'UTF8'", service,
			 at);
	sql_in("roads", sql);
}

static const char perf_text[] = "early 1 100.0: 1 cycles:\n\t1 f (x)\n\nlate 1 200.5: 1 cycles:\n"
								"\t1 f (x)\n\t2 g (y)\n\nearly 1 160.25: 1 cycles:\n\t1 f (x)\n";

static void
append_line(const char *directory, const char *rest)
{
	FILE *file = fopen("/tmp/test_roads_skip", "ae");

	assert_non_null(file);
	fprintf(file, "%s%s", directory, rest);
	fclose(file);
}

static void
import_skipping(const char *directory, ExitCode expected)
{
	char *operands[] = { (char *) (uintptr_t) directory };
	Flag flags[EXCHANGE_FLAGS_MAX];
	ExchangeOptions options;

	import_flags(&options, flags);
	options.database = "dbname=roads";
	options.labels = "__name__=again";
	options.skip = "/tmp/test_roads_skip";
	assert_int_equal(import_run(&options, operands, 1), expected);
}

/* Files of other tools, one by one: the command stores the same rows as the functions. */

/* Files that both importers refuse, with the reasons in extension/test/unit/test_inputs.c. */
static const char *const refused_inputs[] = { "folded_austin_full.txt", "folded_difference.txt",
											  "folded_fractions.txt", "folded_utf16.txt" };

static bool
is_refused_input(const char *path)
{
	for (size_t i = 0; i < sizeof(refused_inputs) / sizeof(refused_inputs[0]); i++)
		if (strcmp(strrchr(path, '/') + 1, refused_inputs[i]) == 0)
			return true;
	return false;
}

static void
import_input(const char *path)
{
	char *operands[] = { (char *) (uintptr_t) path };
	Flag flags[EXCHANGE_FLAGS_MAX];
	ExchangeOptions options;

	import_flags(&options, flags);
	options.database = "dbname=roads";
	options.labels = "__name__=client,zone=,service=api";
	options.at = "2024-01-01 00:00Z";
	assert_int_equal(import_run(&options, operands, 1), is_refused_input(path) ? EXIT_IO : EXIT_OK);
}

static void
import_input_by_sql(const char *path)
{
	static const char *const functions[] = { [PROFILE_PPROF] = "import_pprof(",
											 [PROFILE_FOLDED] = "import_folded(convert_from(",
											 [PROFILE_PERF_SCRIPT] =
												 "import_perf_script(convert_from(" };
	static char bytes[1 << 17];
	static char sql[2 * sizeof(bytes) + 1024];
	FILE *file = fopen(path, "re");
	ProfileFormat format;
	size_t length;
	size_t at;

	assert_non_null(file);
	length = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_in_range(length, 1, sizeof(bytes) - 1);
	format = profile_format_of(bytes, length);
	at = (size_t) sprintf(sql, "SELECT profstore.%s'\\x", functions[format]);
	for (size_t i = 0; i < length; i++)
		at += (size_t) sprintf(sql + at, "%02x", (unsigned char) bytes[i]);
	sprintf(sql + at,
			"'%s, '{\"__name__\": \"server\", \"zone\": \"\", \"service\": \"api\"}', "
			"'2024-01-01 00:00Z')",
			format == PROFILE_PPROF ? "" : ", 'UTF8')");
	sql_in("roads", sql);
}

static void
test_inputs(void **state)
{
	char directory[PATH_MAX + 32];
	char path[2 * PATH_MAX];
	struct dirent **names;
	int count;

	server_start(&server, "exchange-test");
	sql_in("postgres", "DROP DATABASE IF EXISTS roads (FORCE)");
	sql_in("postgres", "CREATE DATABASE roads");
	sql_in("roads", "CREATE EXTENSION profstore");
	snprintf(directory, sizeof(directory), "%s/extension/test/inputs", server.top);
	count = scandir(directory, &names, NULL, alphasort);
	assert_in_range(count, 20, 1000);
	for (int i = 0; i < count; i++)
	{
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]->d_name);
		if (names[i]->d_name[0] != '.' && strcmp(names[i]->d_name, "README.md") != 0)
		{
			import_input(path);
			if (!is_refused_input(path))
				import_input_by_sql(path);
		}
		free(names[i]);
	}
	free(names);
	assert_rows_equal();
	/* if a valid key equals another one that was made valid, the first of them is used */
	assert_string_equal(sql_in("roads", "SELECT concat_ws(' ', labels->>'http_route', "
										"labels->>'http_route_2') FROM "
										"profstore.series('client:samples:count:::delta') "
										"WHERE labels ? 'http_route'"),
						"/a /b");
	server_control(&server, "purge", NULL);
}

/* A profile names the frames to drop; only the server decides which frames match. */
static void
drop_frames(const char *path)
{
	const char field[] = { 7 << 3, 14 };
	int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_int_equal(write(file, field, sizeof(field)), sizeof(field));
	close(file);
}

/* Lists the files on a full disk. */
static ExitCode
import_to_full_disk(const ExchangeOptions *options, char **files, size_t count)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	int before;
	ExitCode code;

	fflush(stdout);
	before = dup(STDOUT_FILENO);
	assert_true(before >= 0 && dup2(full, STDOUT_FILENO) >= 0);
	code = import_run(options, files, count);
	assert_true(dup2(before, STDOUT_FILENO) >= 0);
	clearerr(stdout);
	close(before);
	close(full);
	return code;
}

/*
 * If the list of stored files cannot be written completely, the command fails, with either
 * importer.
 */
static void
test_full_disk(void **state)
{
	char path[] = "/tmp/test_exchange_XXXXXX";
	char *files[] = { path };
	Flag flags[EXCHANGE_FLAGS_MAX];
	ExchangeOptions options;
	int file = mkstemp(path);

	assert_true(file >= 0);
	close(file);
	server_start(&server, "exchange-test");
	sql_in("postgres", "DROP DATABASE IF EXISTS unwritable (FORCE)");
	sql_in("postgres", "CREATE DATABASE unwritable");
	sql_in("unwritable", "CREATE EXTENSION profstore");
	import_flags(&options, flags);
	options.database = "dbname=unwritable";
	options.at = "2026-01-01Z";
	write_text(path, "main;work 12\n");
	assert_int_equal(import_to_full_disk(&options, files, 1), EXIT_IO);
	write_odd_profile(path, 1700000000);
	drop_frames(path);
	assert_int_equal(import_to_full_disk(&options, files, 1), EXIT_IO);
	unlink(path);
	server_control(&server, "purge", NULL);
}

/* --- a server that refuses --- */

/*
 * Adds a statement to both functions "calls" and "error", which every import runs; it may raise an
 * error.
 */
static void
refuse_by(const char *error)
{
	char sql[1024];

	sql_in("refused", "DROP SEQUENCE IF EXISTS public.calls; CREATE SEQUENCE public.calls");
	snprintf(sql, sizeof(sql),
			 "CREATE OR REPLACE FUNCTION profstore.ensure_partitions(from_ts timestamptz, "
			 "to_ts timestamptz) RETURNS int4 LANGUAGE plpgsql VOLATILE STRICT SECURITY DEFINER "
			 "SET search_path = pg_catalog AS $$ BEGIN PERFORM nextval('public.calls'); %s; "
			 "RETURN 0; END $$",
			 error);
	sql_in("refused", sql);
}

static int
refused_calls(void)
{
	return atoi(sql_in("refused", "SELECT last_value FROM public.calls"));
}

static ExitCode
import_refused(char **files, size_t count, bool stop_on_error)
{
	Flag flags[EXCHANGE_FLAGS_MAX];
	ExchangeOptions options;

	import_flags(&options, flags);
	options.database = "dbname=refused";
	options.stop_on_error = stop_on_error;
	return import_run(&options, files, count);
}

static void
assert_samples(const char *expected)
{
	assert_string_equal(sql_in("refused", "SELECT count(*) FROM profstore.samples"), expected);
}

/* If the server refuses a file, the other files are stored or reported. */
static void
test_refused(void **state)
{
	static const char refuse[] = "RAISE 'refused'";
	char path[3][40];
	char *files[] = { path[0], path[1], path[2] };
	int calls;

	for (int i = 0; i < 3; i++)
	{
		snprintf(path[i], sizeof(path[i]), "/tmp/test_exchange_refused_%d", i);
		write_text(path[i], "main;work 1\n");
	}
	server_start(&server, "exchange-test");
	sql_in("postgres", "DROP DATABASE IF EXISTS refused (FORCE)");
	sql_in("postgres", "CREATE DATABASE refused");
	sql_in("refused", "CREATE EXTENSION profstore");
	sql_in("refused", "SELECT profstore.ensure_partitions(d, d) FROM (VALUES (now()), "
					  "(to_timestamp(1700000000))) AS days (d)");

	/* after the first failure the server gets no other file of the batch */
	refuse_by(refuse);
	assert_int_equal(import_refused(files, 1, true), EXIT_IO);
	calls = refused_calls();
	refuse_by(refuse);
	assert_int_equal(import_refused(files, 3, true), EXIT_IO);
	assert_int_equal(refused_calls(), calls);
	refuse_by(refuse);
	assert_int_equal(import_refused(files, 3, false), EXIT_IO);
	assert_int_equal(refused_calls(), calls + 2);

	/* a file that only the server decodes: after a deadlock it is repeated */
	write_odd_profile(path[0], 1700000000);
	drop_frames(path[0]);
	refuse_by("IF (SELECT last_value FROM public.calls) < 3 THEN RAISE 'deadlock' "
			  "USING ERRCODE = '40P01'; END IF");
	assert_int_equal(import_refused(files, 1, false), EXIT_OK);
	assert_int_equal(refused_calls(), 3);
	assert_samples("7");

	/* a file whose statement is canceled (57014) is skipped; the other files are stored */
	refuse_by("IF from_ts < '2024-01-01' THEN RAISE 'too slow' USING ERRCODE = '57014'; END IF");
	assert_int_equal(import_refused(files, 3, false), EXIT_IO);
	assert_samples("9");
	for (int i = 0; i < 3; i++)
		unlink(path[i]);
	server_control(&server, "purge", NULL);
}

/* --- both roads, the same --- */

/* Equal files are recognized by import_pprof(), by its relatives, and by the command. */
static void
test_roads(void **state)
{
	char directory[] = "/tmp/test_roads_XXXXXX";
	char api[64];
	char path[5][96];

	assert_non_null(mkdtemp(directory));
	snprintf(api, sizeof(api), "%s/api", directory);
	for (int i = 0; i < 5; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%d", api, i);
	assert_int_equal(chmod(directory, 0755) | mkdir(api, 0755), 0);
	write_odd_profile(path[0], 1700000000);
	write_odd_profile(path[1], 1700000100); /* last_seen is rounded to minutes */
	write_text(path[2], "main;h\xc3\xb6her 12\nmain;work 3\nmain;work 4\n");
	write_text(path[3], perf_text);
	for (int i = 0; i < 4; i++)
		assert_int_equal(chmod(path[i], 0644), 0);
	server_start(&server, "exchange-test");
	sql_in("postgres", "DROP DATABASE IF EXISTS roads (FORCE)");
	sql_in("postgres", "CREATE DATABASE roads");
	sql_in("roads", "CREATE EXTENSION profstore");

	/* times are those of the files */
	unlink(path[4]);
	import_by_sql("import_pprof", path[0], "api", "NULL");
	import_by_sql("import_pprof", path[1], "api", "NULL");
	import_by_sql("import_folded", path[2], "api", "'2024-01-01 00:00Z'");
	import_by_sql("import_perf_script", path[3], "api", "'2024-01-01 00:00Z'");
	rename(path[2], "/tmp/test_roads_folded");
	rename(path[3], "/tmp/test_roads_perf");
	import_all(directory, NULL, EXIT_OK);
	unlink(path[0]);
	unlink(path[1]);
	rename("/tmp/test_roads_folded", path[2]);
	rename("/tmp/test_roads_perf", path[3]);
	import_all(directory, "2024-01-01 00:00Z", EXIT_OK);
	assert_roads_equal(ROAD_ROWS);

	/* files that are listed as stored are skipped: all of them, then all except one */
	write_text("/tmp/test_roads_skip", "");
	append_line(directory, "/api/2: folded, 2 samples\n");
	append_line(directory, "/api/3: perf-script, 3 samples\n");
	import_skipping(directory, EXIT_OK);
	assert_roads_equal(ROAD_ROWS);
	write_text("/tmp/test_roads_skip", "");
	append_line(directory, "/api/3: perf-script, 3 samples\n");
	import_skipping(directory, EXIT_OK);
	assert_string_equal(sql_in("roads", "SELECT count(*) FROM profstore.samples"), "40");
	unlink("/tmp/test_roads_skip");

	/* an invalid file does not stop the others */
	write_text(path[0], "\x1f\x8b no gzip");
	write_text(path[4], "main;last 1\n");
	import_all(directory, "2024-01-02 00:00Z", EXIT_IO);
	assert_string_equal(sql_in("roads", "SELECT count(*) FROM profstore.samples "
										"WHERE time >= '2024-01-02' AND time < '2024-01-03'"),
						"6");
	for (int i = 0; i < 5; i++)
		unlink(path[i]);
	rmdir(api);
	rmdir(directory);
	server_control(&server, "purge", NULL);
}

#define JOBS	   8
#define JOB_STACKS 3000

/* Lanes that store the same new content at once store it once. */
/* Standard error, as a terminal or a file, and the output to it. */
typedef struct Screen
{
	int standard_error; /* the saved descriptor */
	int reading_end;
	pthread_t reader;
	char text[64 * 1024];
	size_t length;
} Screen;

static void *
read_screen(void *argument)
{
	Screen *screen = argument;
	size_t room;
	ssize_t count;

	/* at the end of a terminal, read() fails with EIO */
	while ((room = sizeof(screen->text) - 1 - screen->length) > 0 &&
		   (count = read(screen->reading_end, screen->text + screen->length, room)) > 0)
		screen->length += (size_t) count;
	screen->text[screen->length] = '\0';
	return NULL;
}

static void
screen_begin(Screen *screen, bool is_terminal)
{
	int ends[2];

	memset(screen, 0, sizeof(*screen));
	if (is_terminal)
	{
		ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
		assert_true(ends[0] >= 0 && grantpt(ends[0]) == 0 && unlockpt(ends[0]) == 0);
		ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
		assert_true(ends[1] >= 0);
	}
	else
		assert_int_equal(pipe(ends), 0);
	screen->reading_end = ends[0];
	screen->standard_error = dup(STDERR_FILENO);
	assert_true(screen->standard_error >= 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	assert_int_equal(pthread_create(&screen->reader, NULL, read_screen, screen), 0);
}

static void
screen_end(Screen *screen)
{
	dup2(screen->standard_error, STDERR_FILENO);
	close(screen->standard_error);
	pthread_join(screen->reader, NULL);
	close(screen->reading_end);
}

/* A terminal gets a progress bar, which ends full; a file gets none. */
static void
assert_bar(const char *text, bool is_terminal)
{
	char last[128];

	snprintf(last, sizeof(last),
			 "\r[########################################] %d of %d files, %d samples \r\n", JOBS,
			 JOBS, JOBS * JOB_STACKS);
	if (is_terminal)
	{
		assert_true(strncmp(text, "\r[", 2) == 0);
		assert_non_null(strstr(text, last));
	}
	else
		assert_null(strchr(text, '['));
}

static void
test_jobs(void **state)
{
	char directory[] = "/tmp/test_jobs_XXXXXX";
	char *operands[] = { directory };
	char *text = calloc(JOB_STACKS, 32);
	char path[JOBS][64];
	size_t length = 0;
	char expected[32];
	Flag flags[EXCHANGE_FLAGS_MAX];
	ExchangeOptions options;
	Screen *screen = malloc(sizeof(*screen));
	ExitCode code;

	assert_non_null(mkdtemp(directory));
	assert_non_null(text);
	assert_non_null(screen);
	for (int i = 0; i < JOB_STACKS; i++)
		length += (size_t) sprintf(text + length, "main;work %d 1\n", i);
	for (int i = 0; i < JOBS; i++)
	{
		snprintf(path[i], sizeof(path[i]), "%s/%d", directory, i);
		write_text(path[i], text);
	}
	server_start(&server, "exchange-test");
	sql_in("postgres", "DROP DATABASE IF EXISTS jobs (FORCE)");
	sql_in("postgres", "CREATE DATABASE jobs");
	sql_in("jobs", "CREATE EXTENSION profstore");
	import_flags(&options, flags);
	options.database = "dbname=jobs";
	options.jobs = JOBS;
	screen_begin(screen, true);
	code = import_run(&options, operands, 1);
	screen_end(screen);
	assert_int_equal(code, EXIT_OK);
	assert_bar(screen->text, true);

	snprintf(expected, sizeof(expected), "%d", JOBS * JOB_STACKS);
	assert_string_equal(sql_in("jobs", "SELECT sum(value) FROM profstore.samples"), expected);
	snprintf(expected, sizeof(expected), "%d %d 1", JOB_STACKS + 1, JOB_STACKS + 1);
	assert_string_equal(sql_in("jobs",
							   "SELECT concat_ws(' ', (SELECT count(*) FROM profstore.stacks),"
							   " (SELECT count(*) FROM profstore.locations),"
							   " (SELECT count(*) FROM profstore.matching_series(NULL)))"),
						expected);
	screen_begin(screen, false);
	code = import_run(&options, operands, 1);
	screen_end(screen);
	assert_int_equal(code, EXIT_OK);
	assert_bar(screen->text, false);
	for (int i = 0; i < JOBS; i++)
		unlink(path[i]);
	rmdir(directory);
	free(text);
	free(screen);
	server_control(&server, "purge", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_room),		cmocka_unit_test(test_sum_for_server),
		cmocka_unit_test(test_many_values), cmocka_unit_test(test_planted_functions),
		cmocka_unit_test(test_full_disk),	cmocka_unit_test(test_refused),
		cmocka_unit_test(test_roads),		cmocka_unit_test(test_inputs),
		cmocka_unit_test(test_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
