/*
 * test_inputs.c
 *		Reads files of other tools (test/inputs) and compares their values with those that the tools
 *		themselves show, or that were counted. Also reads files of known formats that are not
 *		supported, which errors must name.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/any/format.h"
#include "formats/any/profile_read.h"
#include "formats/gunzip.h"
#include "formats/lines.h"
#include "formats/series_names.h"

#define FILE_BYTES_MAX (1 << 20)
#define TEXT_BYTES_MAX 4096

/*
 * The expected result for a file: its types with their totals, and its stacks, root first, with a
 * value of each type, in the order of the file (NULL: not compared); or the error.
 */
typedef struct Input
{
	const char *file;
	const char *totals;
	const char *stacks;
	const char *refusal;
	uint64_t skipped;
} Input;

static const Input inputs[] = {
	{ "jfr_default_interval.jfr.gz", .totals = "samples/count 119, cpu/nanoseconds 1190000000" },
	{ "jfr_cpu_wall_50ms.jfr.gz", .totals =
									  "samples/count 120, cpu/nanoseconds 1200000000, "
									  "wall_samples/count 525, wall/nanoseconds 26250000000" },
	{ "jfr_page_faults.jfr.gz", .totals = "page-faults/count 253" },
	{ "jfr3_cpu_and_wall.jfr.gz", .totals =
									  "samples/count 54, cpu/nanoseconds 540000000, "
									  "wall_samples/count 525, wall/nanoseconds 26250000000" },
	{ "jfr_foreign_interval.jfr.gz", .totals = "samples/count 61, cpu/nanoseconds 610000000" },
	{ "perf_no_dso.txt", .totals = "cpu-clock/nanoseconds 250000", .stacks = "main;f 250000\n" },
	{ "perf_no_g.txt", .totals = "cpu-clock/nanoseconds 500000", .stacks = "f 250000\ng 250000\n" },
	{ "perf_tracepoint.txt", .totals = "demo:alloc/count 1", .stacks = "f;do_alloc 1\n" },
	{ "perf_uprobe.txt", .totals = "probe_srv:f/count 1", .stacks = "main;f 1\n" },
	{ "perf_mixed.txt", .totals = "cpu-clock/nanoseconds 250000, demo:exit/count 1",
	  .stacks = "f 250000 0\nf 0 1\n" },
	{ "perf_task_events.txt", .totals = "cpu-clock/nanoseconds 250000", .stacks = "f 250000\n" },
	{ "perf_comm_hash.txt", .totals = "cpu-clock/nanoseconds 500000",
	  .stacks = "f 250000\nf 250000\n" },
	{ "perf_comm_empty.txt", .totals = "cpu-clock/nanoseconds 500000",
	  .stacks = "f 250000\nf 250000\n" },
	{ "perf_comm_break.txt", .totals = "cpu-clock/nanoseconds 250000", .stacks = "f 250000\n",
	  .skipped = 1 },
	{ "perf_probe_letters.txt",
	  .totals = "probe_srv:u/count 1, probe_srv:k/count 1, cycles/count 7",
	  .stacks = "u 1 0 0\nk 0 1 0\nu 0 0 7\n" },
	{ "folded_austin.txt", .totals = "/ 100",
	  .stacks = "P1;T1;main.py:main:3;main.py:f:9 70\nP1;T1;main.py:main:3 30\n" },
	{ "folded_byte_order_mark.txt", .totals = "/ 5", .stacks = "main;a 5\n" },
	{ "folded_fractions.txt", .refusal = "value is a fraction, whole numbers are needed" },
	{ "folded_austin_full.txt", .refusal = "line ends in several values" },
	{ "folded_difference.txt", .refusal = "all lines end in two values" },
	{ "folded_utf16.txt", .refusal = "text is in UTF-16" },
	{ "speedscope_sampled.json", .totals = "time/nanoseconds 11500000",
	  .stacks =
		  "main;f\xC3\xBC\"\\/;g 500000\nmain;f\xC3\xBC\"\\/ 2000000\nmain 2000000\n 7000000\n" },
	{ "speedscope_evented.json", .totals = "time/nanoseconds 90000, space/bytes 8",
	  .stacks = "work 0 8\nmain;work 40000 0\nmain 50000 0\n" },
	{ "speedscope_ours.json", .totals = "samples/count 9223372036854775803",
	  .stacks = "main -4\nmain;a 9223372036854775807\n" },
	{ "v8.cpuprofile", .totals = "samples/count 5, wall/nanoseconds 6000000",
	  .stacks = "(idle) 1 500000\nmain;(anonymous) 3 4500000\nmain 1 1000000\n" },
	{ "trace_events.json", .totals = "calls/count 5, wall/nanoseconds 60000",
	  .stacks = "begin;nested 1 3000\nbegin 1 7000\nouter;late 1 10000\nouter;inner 1 20000\n"
				"outer 1 20000\n" },
	{ "trace_moments.json", .totals = "calls/count 7, wall/nanoseconds 19000",
	  .stacks = "y 1 10000\nx 1 4000\ne 1 0\nc;d 1 0\nc 1 0\na;b 1 0\na 1 5000\n" },
	{ "trace_v8.json", .totals = "samples/count 4, wall/nanoseconds 900000",
	  .stacks = "main;f 1 400000\nmain 3 500000\n" },
	{ "callgrind.out.txt", .totals = "Ir/count 1100, Dr/count 105",
	  .stacks = "main;f;h 500 50\nmain;f 100 10\nmain;g;h 300 30\nmain;g 100 10\nmain 100 5\n" },
	{ "xdebug.cachegrind.txt", .totals = "time/nanoseconds 1500, space/bytes 96",
	  .stacks = "{main};php::strlen 500 32\n{main} 1000 64\n" },
	{ "callgrind_recursion.txt", .totals = "Ir/count 100",
	  .stacks = "main;even;odd 60\nmain;even 30\nmain 10\n" },
	{ "label_collision.pb.gz", .totals = "samples/count 1", .stacks = "main;a 1\n" },
};

static void *
plain_realloc(void *context, void *memory, size_t bytes)
{
	if (bytes > 0)
		return realloc(memory, bytes);
	free(memory);
	return NULL;
}

static const PfsAllocator plain_allocator = { plain_realloc, NULL };

static size_t
read_file(const char *name, uint8_t *bytes)
{
	char path[512];
	FILE *file;
	size_t length;

	snprintf(path, sizeof(path), "%s/%s", INPUTS_DIR, name);
	file = fopen(path, "r");
	if (file == NULL)
		fail_msg("%s is not there", path);
	length = fread(bytes, 1, FILE_BYTES_MAX, file);
	fclose(file);
	assert_in_range(length, 1, FILE_BYTES_MAX - 1);
	return length;
}

static PfsReadStatus
read_any(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	PfsFormat format = pfs_format_of(bytes, length);
	PfsReadStatus status = format == PFS_FORMAT_FOLDED
							   ? pfs_folded_read((const char *) bytes, length, profile, error)
						   : format == PFS_FORMAT_PERF_SCRIPT
							   ? pfs_perf_script_read((const char *) bytes, length, profile, error)
							   : pfs_profile_read(bytes, length, profile, error);

	if (status == PFS_READ_MALFORMED)
		pfs_format_explain(bytes, length, format, error);
	return status;
}

typedef struct Text
{
	char bytes[TEXT_BYTES_MAX];
	size_t length;
} Text;

static void __attribute__((format(printf, 2, 3))) put(Text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	text->length += (size_t) vsnprintf(text->bytes + text->length,
									   sizeof(text->bytes) - text->length, format, arguments);
	va_end(arguments);
	assert_in_range(text->length, 0, sizeof(text->bytes) - 1);
}

static int64_t
value_of(const PfsProfile *profile, uint32_t sample, uint32_t type)
{
	return profile->values[(size_t) sample * profile->type_count + type];
}

static void
put_totals(Text *text, const PfsProfile *profile)
{
	for (uint32_t t = 0; t < profile->type_count; t++)
	{
		const PfsValueType *type = &profile->types[t];
		int64_t total = 0;

		for (uint32_t i = 0; i < profile->sample_count; i++)
			total += value_of(profile, i, t);
		put(text, "%s%.*s/%.*s %" PRId64, t == 0 ? "" : ", ", (int) type->type.length,
			type->type.data, (int) type->unit.length, type->unit.data, total);
	}
}

static void
put_location(Text *text, const PfsProfile *profile, uint32_t index, const char *before)
{
	const PfsProfileLocation *location = &profile->locations[index];

	for (uint32_t i = location->line_count; i-- > 0; before = ";")
	{
		const PfsProfileLine *line = &profile->lines[location->first_line + i];
		PfsText name = profile->functions[line->function].name;

		put(text, "%s%.*s", before, (int) name.length, name.data);
	}
	if (location->line_count == 0)
		put(text, "%s0x%" PRIx64, before, location->address);
}

static void
put_stacks(Text *text, const PfsProfile *profile)
{
	for (uint32_t i = 0; i < profile->sample_count; i++)
	{
		const PfsProfileSample *sample = &profile->samples[i];

		for (uint32_t j = sample->location_count; j-- > 0;)
			put_location(text, profile, profile->location_indexes[sample->first_location + j],
						 j + 1 == sample->location_count ? "" : ";");
		for (uint32_t t = 0; t < profile->type_count; t++)
			put(text, " %" PRId64, value_of(profile, i, t));
		put(text, "\n");
	}
}

static void
check_profile(const Input *input, const PfsProfile *profile)
{
	Text totals = { .length = 0 };
	Text stacks = { .length = 0 };

	put_totals(&totals, profile);
	assert_string_equal(totals.bytes, input->totals);
	assert_int_equal(profile->skipped.count, input->skipped);
	assert_false(pfs_profile_lacks_frames(profile));
	if (input->stacks == NULL)
		return;
	put_stacks(&stacks, profile);
	assert_string_equal(stacks.bytes, input->stacks);
}

static void
check_input(const Input *input)
{
	static uint8_t bytes[FILE_BYTES_MAX];
	PfsBytes unpacked = { NULL, 0 };
	PfsBytes content = { bytes, read_file(input->file, bytes) };
	PfsBudget budget = { .allocator = plain_allocator };
	PfsReadError error = { .message = NULL };
	PfsProfile profile;
	PfsReadStatus status;

	print_message("%s\n", input->file);
	if (pfs_is_gzip(content.data, content.length))
	{
		assert_int_equal(pfs_gunzip(content.data, content.length, FILE_BYTES_MAX, plain_allocator,
									NULL, &unpacked, &error),
						 PFS_READ_OK);
		content = unpacked;
	}
	budget.left = pfs_profile_budget_bytes(content.length);
	pfs_profile_init(&profile, &budget);
	status = read_any(content.data, content.length, &profile, &error);
	if (input->refusal == NULL)
	{
		if (status != PFS_READ_OK)
			fail_msg("%s at line %" PRIu64, error.message, error.line);
		check_profile(input, &profile);
	}
	else
	{
		assert_int_equal(status, PFS_READ_MALFORMED);
		assert_string_equal(error.message, input->refusal);
		assert_non_null(error.hint);
	}
	pfs_profile_fini(&profile);
	free(unpacked.data);
}

static void
test_inputs(void **state)
{
	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
		check_input(&inputs[i]);
}

/* Errors must give the line and the byte of the fault. */
static void
test_place(void **state)
{
	static const char text[] = "main;a 1\n\nmain;b 2.5\n";
	PfsBudget budget = { .allocator = plain_allocator, .left = 1 << 20 };
	PfsReadError error = { .message = NULL };
	PfsProfile profile;

	pfs_profile_init(&profile, &budget);
	assert_int_equal(pfs_folded_read(text, strlen(text), &profile, &error), PFS_READ_MALFORMED);
	assert_int_equal(error.line, 3);
	assert_int_equal(error.offset, 10);
	pfs_profile_fini(&profile);
}

/*
 * Texts of other formats, which would be misread without an error if they were taken for profiles.
 */
static void
test_foreign(void **state)
{
	static const struct
	{
		const char *begin;
		size_t length;
		const char *message;
	} files[] = {
#define FOREIGN(begin, message) { begin, sizeof(begin) - 1, message }
		FOREIGN("PERFILE2\x68\0\0\0", "file is perf.data of Linux perf"),
		FOREIGN("\xFF\xFEm\0a\0i\0n\0 \0001\0", "text is in UTF-16"),
		FOREIGN("PK\x03\x04\x14\0", "file is a ZIP archive"),
		FOREIGN("\x28\xB5\x2F\xFD\x04", "file is packed by zstd"),
		FOREIGN("\x7F"
				"ELF\x02\x01\x01",
				"file is a program or a core dump (ELF)"),
		FOREIGN("<?xml version=\"1.0\"?>\n<trace-query-result>", "file is XML of Instruments"),
		FOREIGN("Running Time\tSelf (ms)\t\tSymbol Name\n", "file is a deep copy of Instruments"),
		FOREIGN("Weight\tSelf Weight\t\tSymbol Name\n", "file is a deep copy of Instruments"),
		FOREIGN("<?xml version=\"1.0\"?>\n<svg width=\"1\">", "file is a flame graph (SVG)"),
		FOREIGN("<!DOCTYPE html>\n<html>", "file is an HTML page"),
		FOREIGN("Flat profile:\n\nEach sample counts as 0.01 seconds.\n",
				"file is a report of gprof"),
		FOREIGN("Attaching 1 probe...\n\n@[\n    f+1\n]: 7\n", "file is output of bpftrace"),
		FOREIGN("2026-01-01 00:00:00\nFull thread dump OpenJDK", "file is a thread dump of Java"),
		FOREIGN("File: srv\nType: cpu\nShowing nodes", "file is a report of pprof"),
		FOREIGN("# To display the perf.data header info, please use --header\n",
				"file is a report of perf"),
		FOREIGN("desc: (none)\ncmd: ls\ntime_unit: i\n#-----------\nsnapshot=0\n",
				"file was written by Valgrind's Massif"),
		FOREIGN("heap_v2/524288\n", "file is a heap profile of jemalloc"),
		FOREIGN("v8-version,12,4\ntick,0x1\n", "file is a log of V8"),
		FOREIGN("JAVA PROFILE 1.0.2\0", "file is a heap dump of Java"),
		FOREIGN("go 1.22 trace\0\0\0", "file is an execution trace of Go"),
		FOREIGN("{\"meta\":{\"version\":29},\"libs\":[],\"threads\":[]}",
				"file was written by the Firefox Profiler"),
		FOREIGN("{\"name\":\"root\",\"value\":7,\"children\":[]}",
				"file is a flame graph of d3-flame-graph"),
		FOREIGN("{\"snapshot\":{},\"nodes\":[1]}", "file is a heap snapshot of V8"),
		FOREIGN("{\"answer\":42}", "format of the JSON is not known"),
		FOREIGN("Dear reader,\nthis is a letter.\n", "format of the text is not known"),
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
	{
		const uint8_t *bytes = (const uint8_t *) files[i].begin;
		PfsBudget budget = { .allocator = plain_allocator, .left = 1 << 20 };
		PfsReadError error = { .message = NULL };
		PfsProfile profile;

		pfs_profile_init(&profile, &budget);
		assert_int_equal(pfs_format_of(bytes, files[i].length), PFS_FORMAT_PROFILE);
		assert_int_equal(read_any(bytes, files[i].length, &profile, &error), PFS_READ_MALFORMED);
		assert_string_equal(error.message, files[i].message);
		assert_non_null(error.hint);
		pfs_profile_fini(&profile);
	}
}

/*
 * Each beginning of a file is refused with a place inside it, or read; nothing is read past the
 * end.
 */
static void
test_cut(void **state)
{
	static const char *const files[] = { "speedscope_sampled.json", "speedscope_evented.json",
										 "v8.cpuprofile",			"trace_events.json",
										 "trace_v8.json",			"callgrind.out.txt" };
	static uint8_t bytes[FILE_BYTES_MAX];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
	{
		size_t length = read_file(files[i], bytes);

		for (size_t cut = 1; cut < length; cut++)
		{
			uint8_t *part = malloc(cut);
			PfsBudget budget = { .allocator = plain_allocator };
			PfsReadError error = { .message = NULL };
			PfsProfile profile;

			assert_non_null(part);
			memcpy(part, bytes, cut);
			budget.left = pfs_profile_budget_bytes(cut);
			pfs_profile_init(&profile, &budget);
			if (read_any(part, cut, &profile, &error) != PFS_READ_OK)
			{
				assert_non_null(error.message);
				assert_in_range(error.offset, 0, cut);
			}
			pfs_profile_fini(&profile);
			free(part);
		}
	}
}

/* A reader that a user chose by name reports which reader the text is for. */
static void
test_wrong_reader(void **state)
{
	static const char folded[] = "main;a 1\n";
	static const char script[] = "srv 42 100.0: 1 cycles:\n\t1234 f (/srv)\n";
	PfsReadError error = { .message = NULL };

	pfs_format_explain((const uint8_t *) folded, strlen(folded), PFS_FORMAT_PERF_SCRIPT, &error);
	assert_string_equal(error.message, "file looks like folded stacks");
	pfs_format_explain((const uint8_t *) script, strlen(script), PFS_FORMAT_FOLDED, &error);
	assert_string_equal(error.message, "file looks like what perf script prints");
}

/* Texts that have faults or come near a limit, and their expected results. */
static void
test_texts(void **state)
{
	static const char lone_end[] = "[{\"ph\":\"E\",\"ts\":1}]";
	static const struct
	{
		const char *text;
		const char *totals;
		uint64_t skipped;
	} texts[] = {
		{ "some warning follows:\nsrv 42 100.0: 1 cycles:\n\t12345 f (/srv)\n\n"
		  "Traceback (most recent call last):\n",
		  "cycles/count 1", 2 },
		{ "srv 42 cycles:\n\t12345 f (/srv)\n\nsome warning follows:\n", "cycles/count 1", 1 },
		{ "srv cycles:\n\t12345 f (/srv)\n", "cycles/count 1", 0 },
		{ "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2},"
		  "{\"ph\":\"P\",\"name\":\"Profile\",\"id\":1,\"args\":{\"data\":{\"startTime\":0}}}]",
		  "calls/count 1, wall/nanoseconds 2000", 0 },
		{ "[{\"ph\":\"i\",\"ts\":null},{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2},"
		  "{\"ph\":\"X\",\"ts\":1,\"dur\":-2},{\"ph\":\"B\",\"ts\":null}]",
		  "calls/count 1, wall/nanoseconds 2000", 2 },
		{ "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2},\n{\"ph\":\"X\",\"na",
		  "calls/count 1, wall/nanoseconds 2000", 1 },
		{ "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2},\n{\"ph\":\"X\",\"name\":",
		  "calls/count 1, wall/nanoseconds 2000", 1 },
		{ "[{\"ph\":\"X\",\"name\":\"\\u\",\"ts\":1,\"dur\":2}]",
		  "calls/count 1, wall/nanoseconds 2000", 0 },
		{ "events: Ir\nfn=f\n1 5\nevents:  Ir\n2 6\n", "Ir/count 11", 0 },
		{ "  a b c  42 100.0: 1 cycles: \n", "cycles/count 1", 0 },
	};

	PfsReadError refusal = { .message = NULL };
	PfsBudget small = { .allocator = plain_allocator, .left = 1 << 20 };
	PfsProfile ends;

	pfs_profile_init(&ends, &small);
	assert_int_equal(pfs_profile_read((const uint8_t *) lone_end, strlen(lone_end), &ends,
									  &refusal),
					 PFS_READ_MALFORMED);
	assert_string_equal(refusal.message, "trace has no events with a duration");
	pfs_profile_fini(&ends);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
	{
		size_t length = strlen(texts[i].text);
		PfsBudget budget = { .allocator = plain_allocator, .left = 1 << 20 };
		PfsReadError error = { .message = NULL };
		Text totals = { .length = 0 };
		PfsProfile profile;

		pfs_profile_init(&profile, &budget);
		if (read_any((const uint8_t *) texts[i].text, length, &profile, &error) != PFS_READ_OK)
			fail_msg("%s: %s", texts[i].text, error.message);
		put_totals(&totals, &profile);
		assert_string_equal(totals.bytes, texts[i].totals);
		assert_int_equal(profile.skipped.count, texts[i].skipped);
		pfs_profile_fini(&profile);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inputs),		 cmocka_unit_test(test_place),
		cmocka_unit_test(test_foreign),		 cmocka_unit_test(test_cut),
		cmocka_unit_test(test_wrong_reader), cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
