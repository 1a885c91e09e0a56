/*
 * test_golden.c
 *		Tests that stored bytes never change: segments in golden/ must decode to their values, and
 *		the values must be encoded to these bytes.
 *
 * golden/NAME has a segment in hexadecimal: the header in the first line and a stream in each
 * further line. A change of the encoder's choices fails here. If it is meant, run the program with
 * PFS_WRITE_GOLDEN=1 and check the difference. Segments with zstd frames are only decoded, because
 * another version of zstd may compress differently.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/segment_format.h"
#include "codec/stream.h"
#include "test/unit/codec_harness.h"

#define MAX_ROWS	3000
#define MAX_STREAMS 8
#define LINE_BYTES	32768

#define GROUPED_ROWS 4200

typedef int64_t (*ValueFn)(int64_t row);
typedef bool (*NullFn)(int64_t row);

/* A segment of one column of type int8. */
typedef struct Golden
{
	const char *name;
	uint32_t row_count;
	ValueFn value;
	NullFn is_null;
	bool has_zstd;
} Golden;

static int64_t
value_constant(int64_t row)
{
	(void) row;
	return 300;
}

static int64_t
value_plain(int64_t row)
{
	return row * 7919 % 1500 - 20;
}

static int64_t
value_units(int64_t row)
{
	return (row * 31 % 13 + 1) * 52631578;
}

static int64_t
value_linear(int64_t row)
{
	return INT64_C(817000000000000) + row * 10000000;
}

static int64_t
value_ascending(int64_t row)
{
	return INT64_C(5000000) * row + row * 37 % 11;
}

static int64_t
value_quadratic(int64_t row)
{
	return row * row * 3 + 7 * row;
}

static int64_t
value_sawtooth(int64_t row)
{
	return row * 3 % 360 * 10000000;
}

static int64_t
value_runs(int64_t row)
{
	return row / 9 * 7919 % 100;
}

static int64_t
value_rising_runs(int64_t row)
{
	return (row < 150 ? row / 5 : row / 100 + 40) * 2;
}

static int64_t
value_outliers(int64_t row)
{
	return row % 50 == 49 ? row * 1000003 : row * 7 % 4;
}

static int64_t
value_extremes(int64_t row)
{
	return row % 3 == 0 ? INT64_MIN : row % 3 == 1 ? INT64_MAX : row;
}

static int64_t
value_scrambled(int64_t row)
{
	uint64_t mixed = (uint64_t) (row + 1) * UINT64_C(0x9e3779b97f4a7c15);

	mixed = (mixed ^ mixed >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	return (int64_t) (mixed >> 59);
}

static int64_t
value_skewed(int64_t row)
{
	uint64_t mixed = (uint64_t) row * UINT64_C(0x9e3779b97f4a7c15);

	return (int64_t) (mixed >> 40 & mixed >> 20 & mixed >> 50 & mixed >> 30 & 0x7f);
}

static int64_t
value_partitioned(int64_t row)
{
	return row % 3 << 40 | value_scrambled(row);
}

static bool
null_some(int64_t row)
{
	return row * 7 % 5 == 0;
}

static bool
null_first_block(int64_t row)
{
	return row < PFS_BLOCK_ROWS;
}

static bool
null_all(int64_t row)
{
	return row >= 0;
}

static const Golden goldens[] = {
	{ "constant", 1000, value_constant, NULL, false },
	{ "plain", 200, value_plain, NULL, false },
	{ "units", 200, value_units, NULL, false },
	{ "linear", 1500, value_linear, NULL, false },
	{ "ascending", 200, value_ascending, NULL, false },
	{ "quadratic", 300, value_quadratic, NULL, false },
	{ "sawtooth", 300, value_sawtooth, NULL, false },
	{ "runs", 300, value_runs, NULL, false },
	{ "rising_runs", 1000, value_rising_runs, NULL, false },
	{ "outliers", 300, value_outliers, NULL, false },
	{ "extremes", 30, value_extremes, NULL, false },
	{ "full_block", 1024, value_scrambled, NULL, false },
	{ "null_some", 60, value_plain, null_some, false },
	{ "null_block", 1200, value_units, null_first_block, false },
	{ "null_all", 100, value_constant, null_all, false },
	{ "planes", 3000, value_skewed, NULL, true },
	{ "planes_partitioned", 2000, value_partitioned, NULL, true },
};

static FILE *
golden_open(const char *name, const char *mode)
{
	char path[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, name);
	file = fopen(path, mode);
	if (file == NULL)
		fail_msg("could not open \"%s\"", path);
	return file;
}

static void
write_line(FILE *file, PfsBytes bytes)
{
	for (size_t i = 0; i < bytes.length; i++)
		fprintf(file, "%02x", bytes.data[i]);
	fprintf(file, "\n");
}

static PfsBytes
read_line(FILE *file)
{
	static char line[LINE_BYTES];
	PfsBytes bytes;

	assert_non_null(fgets(line, sizeof(line), file));
	bytes.length = strcspn(line, "\n") / 2;
	bytes.data = malloc(bytes.length + 1);
	assert_non_null(bytes.data);
	for (size_t i = 0; i < bytes.length; i++)
	{
		unsigned byte;

		assert_int_equal(sscanf(line + 2 * i, "%2x", &byte), 1);
		bytes.data[i] = (uint8_t) byte;
	}
	return bytes;
}

static void
golden_write(const char *name, const PfsSegment *segment)
{
	FILE *file = golden_open(name, "w");

	write_line(file, segment->header);
	for (uint32_t i = 0; i < segment->stream_count; i++)
		write_line(file, segment->streams[i]);
	fclose(file);
}

/* Reads the stored segment, which must have stream_count streams. */
static void
golden_read(const char *name, uint32_t stream_count, PfsSegment *segment)
{
	FILE *file = golden_open(name, "r");

	segment->header = read_line(file);
	segment->stream_count = stream_count;
	segment->streams = calloc(MAX_STREAMS, sizeof(PfsBytes));
	assert_non_null(segment->streams);
	for (uint32_t i = 0; i < stream_count; i++)
		segment->streams[i] = read_line(file);
	assert_int_equal(fgetc(file), EOF);
	fclose(file);
}

static void
compare_bytes(const char *name, PfsBytes stored, PfsBytes fresh)
{
	if (stored.length != fresh.length ||
		(stored.length > 0 && memcmp(stored.data, fresh.data, stored.length) != 0))
		fail_msg("golden segment \"%s\" is encoded otherwise now", name);
}

/* Compares a block with the values that were encoded. */
static void
compare_block(PfsSegmentReader *reader, int column, uint32_t block, const PfsColumn *expected,
			  uint32_t rows)
{
	uint32_t start = block * PFS_BLOCK_ROWS;
	int64_t values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];
	bool has_nulls;
	PfsError error = { 0 };

	assert_int_equal(pfs_reader_block(reader, column, block, values, nulls, &has_nulls, &error),
					 PFS_OK);
	for (uint32_t i = 0; i < rows; i++)
	{
		bool is_null = expected->nulls != NULL && expected->nulls[start + i];

		assert_int_equal(has_nulls && nulls[i], is_null);
		if (!is_null)
			assert_int_equal(values[i], expected->values[start + i]);
	}
}

/*
 * Compares the encoded columns with the stored segment, except streams that may have zstd frames,
 * and decodes the stored segment.
 */
static void
check_columns(const char *name, const PfsColumn *columns, uint32_t column_count, uint32_t row_count,
			  bool has_zstd)
{
	TestHeap heap = { 0 };
	PfsAllocator allocator = test_allocator(&heap);
	PfsSegment fresh;
	PfsSegment stored;
	PfsSegmentReader *reader;
	PfsError error = { 0 };

	assert_int_equal(pfs_segment_encode(columns, column_count, row_count, PFS_EFFORT_DENSE,
										allocator, &fresh, &error),
					 PFS_OK);
	if (getenv("PFS_WRITE_GOLDEN") != NULL)
		golden_write(name, &fresh);
	golden_read(name, fresh.stream_count, &stored);
	if (!has_zstd)
		compare_bytes(name, stored.header, fresh.header);
	for (uint32_t i = 0; i < fresh.stream_count; i++)
		if (!has_zstd || fresh.streams[i].length == 0 ||
			(fresh.streams[i].data[0] & PFS_STREAM_PACKING_MASK) == PFS_PACKING_BITS)
			compare_bytes(name, stored.streams[i], fresh.streams[i]);
	assert_int_equal(test_open(&stored, allocator, &reader, &error), PFS_OK);
	for (uint32_t column = 0; column < column_count; column++)
		for (uint32_t block = 0; block < pfs_reader_block_count(reader); block++)
			compare_block(reader, (int) column, block, &columns[column],
						  pfs_block_rows(row_count, block));
	pfs_reader_close(reader);
	pfs_segment_free(&fresh, allocator);
	for (uint32_t i = 0; i < stored.stream_count; i++)
		free(stored.streams[i].data);
	free(stored.streams);
	free(stored.header.data);
	assert_int_equal(heap.live, 0);
}

static void
check_golden(const Golden *golden)
{
	static int64_t values[MAX_ROWS];
	static bool nulls[MAX_ROWS];
	PfsColumn column = { 1,		8,	  values, golden->is_null == NULL ? NULL : nulls, false, false,
						 false, NULL, 0 };

	for (uint32_t row = 0; row < golden->row_count; row++)
	{
		values[row] = golden->value(row);
		nulls[row] = golden->is_null != NULL && golden->is_null(row);
	}
	check_columns(golden->name, &column, 1, golden->row_count, golden->has_zstd);
}

static int64_t
scramble(uint32_t number, uint32_t limit)
{
	uint64_t mixed = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);

	mixed = (mixed ^ mixed >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	return (int64_t) ((mixed >> 33) % limit);
}

/*
 * Fills rows of four columns: a key, which 1 .. 16 rows share and which rises by 1 .. key_step;
 * time; value; and a column of few distinct values that lie far apart.
 */
static void
fill_grouped(uint32_t key_step, int64_t values[][GROUPED_ROWS])
{
	uint32_t row = 0;
	int64_t key = 0;

	for (uint32_t group = 0; row < GROUPED_ROWS; group++)
	{
		uint32_t end = row + 1 + (uint32_t) scramble(group, 16);
		int64_t time = 0;

		key += 1 + scramble(group + 77777, key_step);
		for (bool is_long = end > row + 7; row < end && row < GROUPED_ROWS; row++)
		{
			time += 1 + scramble(row + 88888, 3);
			values[0][row] = key;
			values[1][row] = INT64_C(10000000) * time;
			values[2][row] = 52631578 * (1 + (is_long ? scramble(row, 4) : 0));
			values[3][row] = scramble((uint32_t) scramble(row + 99999, 49), UINT32_MAX);
		}
	}
}

/* The stored segment has no zstd frames for keys, which the encoder would use today. */
static void
test_grouped(void **state)
{
	static int64_t values[4][GROUPED_ROWS];
	PfsColumn columns[4];

	(void) state;
	fill_grouped(4, values);
	for (int i = 0; i < 4; i++)
		columns[i] =
			(PfsColumn){ (int16_t) (i + 1), 8, values[i], NULL, i == 0, false, false, NULL, 0 };
	check_columns("grouped", columns, 4, GROUPED_ROWS, true);
}

static void
test_grouped_with_sums(void **state)
{
	static int64_t values[4][GROUPED_ROWS];
	PfsColumn columns[4];

	(void) state;
	fill_grouped(256, values);
	/*
	 * every other key has single units only, and of the others half the rows have 2, a quarter 3 …
	 */
	for (uint32_t row = 0; row < GROUPED_ROWS; row++)
		values[2][row] =
			52631578 * (values[0][row] % 2 == 0
							? 1
							: 2 + __builtin_ctzll((uint64_t) scramble(row, 4096) | 4096));
	for (int i = 0; i < 4; i++)
		columns[i] =
			(PfsColumn){ (int16_t) (i + 1), 8, values[i], NULL, i == 0, i == 2, false, NULL, 0 };
	check_columns("grouped_sums", columns, 4, GROUPED_ROWS, true);
}

/* Tests sums that are stored relative to row counts. */
static void
test_measured(void **state)
{
	static int64_t values[3][GROUPED_ROWS];
	PfsColumn columns[3];

	(void) state;
	for (uint32_t row = 0; row < GROUPED_ROWS; row++)
	{
		values[0][row] = 5 * (int64_t) row;
		values[1][row] = scramble(row, 256);
		values[2][row] = 77 * (values[1][row] + scramble(row + 77777, 4));
	}
	for (int i = 0; i < 3; i++)
		columns[i] =
			(PfsColumn){ (int16_t) (i + 1), 8, values[i], NULL, false, false, false, NULL, 0 };
	columns[2].row_counts = values[1];
	columns[2].measure = 1;
	check_columns("measured", columns, 3, GROUPED_ROWS, false);
}

static void
test_goldens(void **state)
{
	(void) state;
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++)
		check_golden(&goldens[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goldens),
		cmocka_unit_test(test_grouped),
		cmocka_unit_test(test_grouped_with_sums),
		cmocka_unit_test(test_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
