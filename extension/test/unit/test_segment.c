/*
 * test_segment.c
 *		Tests segments: round trips of every shape and row count, damage of every bit, failure of
 *		every allocation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/crc32c.h"
#include "codec/segment_format.h"
#include "test/unit/codec_harness.h"
#include "test/unit/values.h"

#define MAX_COLUMNS 4

/* counts checks of ranks, in grouped columns that have a dictionary */
static uint32_t ranks_checked;
static uint32_t units_checked; /* counts checks of units, in blocks that are stored in units */

/* Columns of test data, with what a reader must report about them. */
typedef struct Table
{
	uint32_t column_count;
	uint32_t row_count;
	PfsColumn columns[MAX_COLUMNS];
	int64_t *values[MAX_COLUMNS];
	bool *nulls[MAX_COLUMNS];
} Table;

static void
table_make(Table *table, Random *random, uint32_t column_count, uint32_t row_count)
{
	table->column_count = column_count;
	table->row_count = row_count;
	for (uint32_t i = 0; i < column_count; i++)
	{
		table->values[i] = malloc(row_count * sizeof(int64_t));
		table->nulls[i] = calloc(row_count, sizeof(bool));
		assert_non_null(table->values[i]);
		assert_non_null(table->nulls[i]);
		values_fill(random, (ValueShape) random_below(random, VALUE_SHAPE_COUNT),
					(unsigned) random_below(random, 65), table->values[i], row_count);
		table->columns[i] = (PfsColumn){
			(int16_t) (10 - 3 * (int) i), 8, table->values[i], NULL, false, false, false, NULL, 0
		};
	}
}

/* Makes rows of the column null: every row, about one row in one_in, or whole blocks. */
static void
table_add_nulls(Table *table, Random *random, uint32_t column, uint64_t one_in, bool whole_blocks)
{
	bool block_is_null = false;

	for (uint32_t row = 0; row < table->row_count; row++)
	{
		if (row % PFS_BLOCK_ROWS == 0)
			block_is_null = random_below(random, one_in) == 0;
		table->nulls[column][row] =
			whole_blocks ? block_is_null : random_below(random, one_in) == 0;
	}
	table->columns[column].nulls = table->nulls[column];
}

static void
table_free(Table *table)
{
	for (uint32_t i = 0; i < table->column_count; i++)
	{
		free(table->values[i]);
		free(table->nulls[i]);
	}
}

/* range of the values that are not null */
typedef struct Range
{
	bool found;
	int64_t least;
	int64_t greatest;
} Range;

/*
 * Compares rows [start, start + rows) of a column with those that the reader returns; returns their
 * range, computed naively.
 */
static Range
check_rows(const Table *table, uint32_t column, uint32_t start, uint32_t rows,
		   const int64_t *values, const bool *nulls)
{
	Range range = { 0 };

	for (uint32_t i = 0; i < rows; i++)
	{
		bool is_null = table->columns[column].nulls != NULL && table->nulls[column][start + i];
		int64_t value = table->values[column][start + i];

		assert_int_equal(nulls != NULL && nulls[i], is_null);
		if (is_null)
			continue;
		if (values[i] != value)
			fail_msg("column %u row %u: %lld instead of %lld", column, start + i,
					 (long long) values[i], (long long) value);
		range.least = !range.found || value < range.least ? value : range.least;
		range.greatest = !range.found || value > range.greatest ? value : range.greatest;
		range.found = true;
	}
	return range;
}

static bool
same_keys(const Table *table, uint32_t left, uint32_t right)
{
	for (uint32_t i = 0; i < table->column_count; i++)
		if (table->columns[i].is_key && table->values[i][left] != table->values[i][right])
			return false;
	return true;
}

/*
 * If a block is stored in units, checks that the units of wanted groups (NULL: all) give the
 * values.
 */
static void
check_units(const Table *table, PfsSegmentReader *reader, uint32_t column, uint32_t block,
			const bool *wanted)
{
	uint32_t start = block * PFS_BLOCK_ROWS;
	uint32_t end =
		table->row_count - start < PFS_BLOCK_ROWS ? table->row_count : start + PFS_BLOCK_ROWS;
	uint32_t first;
	uint32_t count;
	uint32_t group = 0;
	uint32_t group_end = start;
	const int64_t *lengths = NULL;
	bool are_kept;
	PfsUnits units;
	PfsError error = { 0 };

	assert_int_equal(pfs_reader_block_units(reader, (int) column, block, wanted, &units, &are_kept,
											&error),
					 PFS_OK);
	if (!are_kept)
		return;
	units_checked++;
	if (wanted != NULL)
		assert_int_equal(pfs_reader_block_groups(reader, block, &first, &count, &lengths, &error),
						 PFS_OK);
	for (uint32_t row = start; row < end; row++)
	{
		uint64_t unit = units.units == NULL ? 0 : units.units[row - start];

		while (wanted != NULL && row == group_end)
			group_end += (uint32_t) lengths[group++] + 1;
		if (wanted != NULL && !wanted[group - 1])
			continue;
		assert_true(unit <= units.range);
		assert_int_equal((uint64_t) units.least + units.divisor * unit, table->values[column][row]);
	}
}

static void
check_block(const Table *table, PfsSegmentReader *reader, uint32_t column, uint32_t block)
{
	uint32_t start = block * PFS_BLOCK_ROWS;
	uint32_t rows = table->row_count - start;
	int64_t values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];
	bool has_nulls;
	Range oracle;
	int64_t least;
	int64_t greatest;
	PfsError error = { 0 };

	rows = rows < PFS_BLOCK_ROWS ? rows : PFS_BLOCK_ROWS;
	memset(values, 0x5a, sizeof(values));
	assert_int_equal(pfs_reader_block(reader, (int) column, block, values, nulls, &has_nulls,
									  &error),
					 PFS_OK);
	for (uint32_t i = rows; i < PFS_BLOCK_ROWS; i++)
		assert_int_equal(values[i], 0x5a5a5a5a5a5a5a5a);
	oracle = check_rows(table, column, start, rows, values, has_nulls ? nulls : NULL);
	check_units(table, reader, column, block, NULL);
	assert_int_equal(pfs_reader_block_range(reader, (int) column, block, &least, &greatest),
					 oracle.found);
	if (oracle.found && pfs_reader_range_is_bounds(reader, (int) column))
	{
		assert_true(least <= oracle.least);
		assert_true(greatest >= oracle.greatest);
	}
	else if (oracle.found)
	{
		assert_int_equal(least, oracle.least);
		assert_int_equal(greatest, oracle.greatest);
	}
}

/*
 * If every other or every third group is wanted, checks that the rows of these groups are as in the
 * whole block.
 */
static void
check_wanted(const Table *table, PfsSegmentReader *reader, uint32_t column, uint32_t block)
{
	uint32_t start = block * PFS_BLOCK_ROWS;
	int64_t values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];
	bool wanted[PFS_BLOCK_ROWS];
	bool has_nulls;
	const int64_t *lengths;
	uint32_t first;
	uint32_t count;
	uint32_t row = 0;
	PfsError error = { 0 };

	assert_int_equal(pfs_reader_block_groups(reader, block, &first, &count, &lengths, &error),
					 PFS_OK);
	for (uint32_t group = 0; group < count; group++)
		wanted[group] = (first + group) % (2 + block % 2) == 0;
	assert_int_equal(pfs_reader_block_of_groups(reader, (int) column, block, wanted, values, nulls,
												&has_nulls, &error),
					 PFS_OK);
	assert_int_equal(pfs_reader_block_groups(reader, block, &first, &count, &lengths, &error),
					 PFS_OK);
	for (uint32_t group = 0; group < count; group++)
	{
		uint32_t rows = (uint32_t) lengths[group] + 1;

		if (wanted[group])
			check_rows(table, column, start + row, rows, values + row,
					   has_nulls ? nulls + row : NULL);
		row += rows;
	}
	assert_int_equal(start + row, table->row_count < start + PFS_BLOCK_ROWS
									  ? table->row_count
									  : start + PFS_BLOCK_ROWS);
	check_units(table, reader, column, block, wanted);
}

/* Compares the sum of a group with the one that the reader returns. */
static void
check_sum(const Table *table, PfsSegmentReader *reader, uint32_t column, uint32_t group,
		  uint32_t first, uint32_t end)
{
	uint64_t sum = 0;
	int64_t value;
	PfsError error = { 0 };

	for (uint32_t row = first; row < end; row++)
		sum += (uint64_t) table->values[column][row];
	assert_int_equal(pfs_reader_group_values(reader, (int) column, group, 1, &value, &error),
					 PFS_OK);
	assert_int_equal(value, sum);
}

/* Compares the value to which a group's rank leads with the group's value. */
static void
check_rank(const Table *table, PfsSegmentReader *reader, uint32_t column, uint32_t group,
		   uint32_t first)
{
	int64_t value;
	PfsError error = { 0 };

	if (pfs_reader_distinct_count(reader, (int) column) == 0)
		return;
	assert_int_equal(pfs_reader_group_ranks(reader, (int) column, group, 1, &value, &error),
					 PFS_OK);
	assert_true(value >= 0 && value < pfs_reader_distinct_count(reader, (int) column));
	assert_int_equal(pfs_reader_look_up(reader, (int) column, 1, &value, &error), PFS_OK);
	assert_int_equal(value, table->values[column][first]);
	ranks_checked++;
}

/*
 * Finds the groups naively, and compares their rows, values and sums with those that the reader
 * returns.
 */
static void
check_groups(const Table *table, PfsSegmentReader *reader)
{
	uint32_t group = 0;
	uint32_t end;
	PfsError error = { 0 };

	if (pfs_reader_group_count(reader) == 0)
		return;
	for (uint32_t row = 0; row < table->row_count; row = end, group++)
	{
		int64_t value;

		for (end = row + 1; end < table->row_count && end % PFS_BLOCK_ROWS != 0; end++)
			if (!same_keys(table, row, end))
				break;
		assert_true(group < pfs_reader_group_count(reader));
		assert_int_equal(pfs_reader_group_rows(reader, group, 1, &value, &error), PFS_OK);
		assert_int_equal(value, end - row);
		for (uint32_t column = 0; column < table->column_count; column++)
			if (table->columns[column].is_key)
			{
				assert_int_equal(pfs_reader_group_values(reader, (int) column, group, 1, &value,
														 &error),
								 PFS_OK);
				assert_int_equal(value, table->values[column][row]);
				check_rank(table, reader, column, group, row);
			}
			else if (pfs_reader_sums_stream(reader, (int) column) >= 0)
				check_sum(table, reader, column, group, row, end);
	}
	assert_int_equal(group, pfs_reader_group_count(reader));
}

/* Encodes and decodes the table and compares; returns the bytes of the segment. */
static size_t
round_trip(const Table *table, PfsEffort effort)
{
	TestHeap heap = { 0 };
	PfsAllocator allocator = test_allocator(&heap);
	PfsSegment segment;
	PfsSegmentReader *reader;
	PfsError error = { 0 };
	size_t bytes;

	assert_int_equal(pfs_segment_encode(table->columns, table->column_count, table->row_count,
										effort, allocator, &segment, &error),
					 PFS_OK);
	bytes = segment.header.length;
	for (uint32_t i = 0; i < segment.stream_count; i++)
		bytes += segment.streams[i].length;
	assert_int_equal(test_open(&segment, allocator, &reader, &error), PFS_OK);
	assert_int_equal(pfs_reader_row_count(reader), table->row_count);
	assert_int_equal(pfs_reader_column_count(reader), table->column_count);
	assert_int_equal(pfs_reader_find_column(reader, 999), -1);
	for (uint32_t column = 0; column < table->column_count; column++)
	{
		assert_int_equal(pfs_reader_find_column(reader, table->columns[column].attnum), column);
		/* read blocks backwards, so that groups and blocks are decoded out of order */
		for (uint32_t block = pfs_reader_block_count(reader); block-- > 0;)
		{
			check_block(table, reader, column, block);
			if (pfs_reader_group_count(reader) > 0)
				check_wanted(table, reader, column, block);
		}
	}
	check_groups(table, reader);
	pfs_reader_close(reader);
	pfs_segment_free(&segment, allocator);
	assert_int_equal(heap.live, 0);
	return bytes;
}

static void
test_round_trip_of_every_shape(void **state)
{
	Random random = { 1 };

	(void) state;
	for (ValueShape shape = 0; shape < VALUE_SHAPE_COUNT; shape++)
		for (unsigned width = 0; width <= 64; width++)
		{
			Table table;

			table_make(&table, &random, 1, 2 * PFS_BLOCK_ROWS + 17);
			values_fill(&random, shape, width, table.values[0], table.row_count);
			round_trip(&table, width % 2 == 0 ? PFS_EFFORT_FAST : PFS_EFFORT_DENSE);
			table_free(&table);
		}
}

static void
test_round_trip_of_every_row_count(void **state)
{
	static const uint32_t around[] = { 0, 1024, 2048, 32 * 1024, 64 * 1024 };
	Random random = { 2 };

	(void) state;
	for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++)
		for (int offset = -3; offset <= 40; offset++)
		{
			Table table;

			if ((int) around[i] + offset <= 0 || (around[i] > 2048 && offset > 2))
				continue;
			table_make(&table, &random, 2, around[i] + (uint32_t) offset);
			round_trip(&table, PFS_EFFORT_DENSE);
			table_free(&table);
		}
}

static void
test_round_trip_with_nulls(void **state)
{
	static const uint64_t one_in[] = { 1, 2, 3, 20, 3000 };
	Random random = { 3 };

	(void) state;
	for (int round = 0; round < 200; round++)
	{
		Table table;

		table_make(&table, &random, 3, 1 + (uint32_t) random_below(&random, 6000));
		for (uint32_t column = 0; column < 2; column++)
			table_add_nulls(&table, &random, column, one_in[random_below(&random, 5)],
							round % 4 == 0);
		round_trip(&table, round % 2 == 0 ? PFS_EFFORT_FAST : PFS_EFFORT_DENSE);
		table_free(&table);
	}
}

/*
 * Fills four columns with rows like samples: series, stack, time, value. A stack has up to
 * most_rows rows. Its times rise, unless scrambled is true.
 */
static void
table_fill_groups(Table *table, Random *random, uint32_t windows, uint32_t most_rows,
				  bool scrambled)
{
	uint64_t unit = 1 + random_below(random, 1 << 20);
	uint64_t gap = 1 + random_below(random, 30);
	uint32_t row = 0;
	int64_t series = -5;
	int64_t stack = 0;

	while (row < table->row_count)
	{
		uint32_t rows = 1 + (uint32_t) random_below(random, 1 + random_below(random, most_rows));
		uint32_t left = rows < windows ? rows : windows;

		if (random_below(random, 500) == 0)
		{
			series++;
			stack = 0;
		}
		stack += 1 + (int64_t) random_below(random, gap);
		for (uint32_t window = 0; window < windows && left > 0 && row < table->row_count; window++)
		{
			if (random_below(random, windows - window) >= left)
				continue;
			left--;
			table->values[0][row] = series;
			table->values[1][row] = stack * 7 << 20;
			table->values[2][row] = INT64_C(1000000) * window - 77;
			table->values[3][row] =
				(int64_t) (unit * (1 + random_below(random, 1 + (rows > 12 ? rows : 0))));
			if (scrambled && random_below(random, 900) == 0)
				table->values[2][row] = 0;
			row++;
		}
	}
	table->columns[0].is_key = table->columns[1].is_key = true;
}

static void
test_round_trip_of_groups(void **state)
{
	static const uint32_t windows[] = { 2, 9, 60, 64, 65, 130, 1000, 4096, 5000 };
	static const uint32_t most_rows[] = { 3, 12, 70, 700, 3000 };
	static const uint32_t row_counts[] = { 700, 1024, 1025, 6000, 40000 };
	Random random = { 6 };

	(void) state;
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++)
		for (size_t j = 0; j < sizeof(most_rows) / sizeof(most_rows[0]); j++)
			for (int round = 0; round < 5; round++)
			{
				Table table;

				table_make(&table, &random, 4, row_counts[round]);
				table_fill_groups(&table, &random, windows[i], most_rows[j], round == 2);
				table.columns[2].wants_sums = round == 3;
				table.columns[3].wants_sums = round != 0;
				if (round == 1)
					table_add_nulls(&table, &random, 3, 5, false);
				round_trip(&table, round % 2 == 0 ? PFS_EFFORT_DENSE : PFS_EFFORT_FAST);
				table_free(&table);
			}
}

/* Keys with nulls, keys of a single value, and keys whose groups have one row. */
static void
test_round_trip_of_odd_keys(void **state)
{
	Random random = { 7 };

	(void) state;
	for (int round = 0; round < 40; round++)
	{
		Table table;

		table_make(&table, &random, 3, 1 + (uint32_t) random_below(&random, 9000));
		for (uint32_t column = 0; column < 3; column++)
			table.columns[column].is_key = random_below(&random, 2) == 0;
		if (round % 4 == 0)
			table_add_nulls(&table, &random, 1, 9, false);
		round_trip(&table, round % 2 == 0 ? PFS_EFFORT_DENSE : PFS_EFFORT_FAST);
		table_free(&table);
	}
}

/* A key of few values that lie far apart gets a dictionary, if there are some thousand groups. */
static void
test_round_trip_of_ranks(void **state)
{
	Random random = { 9 };

	(void) state;
	ranks_checked = units_checked = 0;
	for (int round = 0; round < 4; round++)
	{
		Table table;

		table_make(&table, &random, 4, 60000);
		table_fill_groups(&table, &random, 60, 12, false);
		for (uint32_t row = 0; row < table.row_count; row++)
			table.values[1][row] =
				(int64_t) ((uint64_t) table.values[1][row] % 50 * UINT64_C(0x9e3779b97f4a7c15));
		round_trip(&table, round % 2 == 0 ? PFS_EFFORT_DENSE : PFS_EFFORT_FAST);
		table_free(&table);
	}
	assert_true(ranks_checked > 0);
	assert_true(units_checked > 0);
}

static void
test_one_row_is_small(void **state)
{
	int64_t values[4] = { 123456, INT64_C(817000000000000), INT64_C(5) << 40 | 77777, 52631578 };
	Table table = { 4, 1, { { 0 } }, { 0 }, { 0 } };

	(void) state;
	for (int i = 0; i < 4; i++)
	{
		table.values[i] = &values[i];
		table.columns[i] =
			(PfsColumn){ (int16_t) (i + 1), 8, &values[i], NULL, false, false, false, NULL, 0 };
	}
	assert_in_range(round_trip(&table, PFS_EFFORT_FAST), 30, 60);
}

/*
 * Encodes a small segment in which streams of both packings and nulls occur, or rows are grouped.
 */
static void
make_small(PfsSegment *segment, PfsAllocator allocator, uint32_t row_count, bool grouped)
{
	Random random = { 4 };
	PfsError error = { 0 };
	Table table;

	table_make(&table, &random, 4, row_count);
	values_fill(&random, VALUES_SAWTOOTH, 0, table.values[0], row_count);
	values_fill(&random, VALUES_RUNS, 12, table.values[1], row_count);
	values_fill(&random, VALUES_SKEWED, 30, table.values[2], row_count);
	values_fill(&random, VALUES_UNIFORM_BITS, 44, table.values[3], row_count);
	if (grouped)
	{
		table_fill_groups(&table, &random, 60, 20, false);
		table.columns[3].wants_sums = true;
	}
	else
		table_add_nulls(&table, &random, 3, 4, false);
	assert_int_equal(pfs_segment_encode(table.columns, 4, row_count, PFS_EFFORT_DENSE, allocator,
										segment, &error),
					 PFS_OK);
	table_free(&table);
}

static PfsBytes *
segment_part(PfsSegment *segment, uint32_t part)
{
	return part == 0 ? &segment->header : &segment->streams[part - 1];
}

/* Opens and reads a damaged segment, which must be refused, and nothing may be left allocated. */
static void
expect_refusal(const PfsSegment *segment, TestHeap *heap)
{
	uint64_t live = heap->live;
	PfsSegmentReader *reader;
	PfsError error = { 0 };
	PfsStatus status = test_open(segment, test_allocator(heap), &reader, &error);

	assert_true(status == PFS_CORRUPT || status == PFS_UNSUPPORTED);
	assert_non_null(error.message);
	assert_int_equal(heap->live, live);
}

static void
check_every_flipped_bit_is_noticed(bool grouped)
{
	TestHeap heap = { 0 };
	PfsSegment segment;

	make_small(&segment, test_allocator(&heap), 300, grouped);
	for (uint32_t part = 0; part <= segment.stream_count; part++)
	{
		PfsBytes *bytes = segment_part(&segment, part);

		for (size_t bit = 0; bit < bytes->length * 8; bit++)
		{
			bytes->data[bit / 8] ^= (uint8_t) (1 << bit % 8);
			expect_refusal(&segment, &heap);
			bytes->data[bit / 8] ^= (uint8_t) (1 << bit % 8);
		}
	}
	pfs_segment_free(&segment, test_allocator(&heap));
	assert_int_equal(heap.live, 0);
}

static void
test_every_flipped_bit_is_noticed(void **state)
{
	(void) state;
	check_every_flipped_bit_is_noticed(false);
	check_every_flipped_bit_is_noticed(true);
}

static void
check_every_truncation_is_noticed(bool grouped)
{
	TestHeap heap = { 0 };
	PfsSegment segment;

	make_small(&segment, test_allocator(&heap), 300, grouped);
	for (uint32_t part = 0; part <= segment.stream_count; part++)
	{
		PfsBytes *bytes = segment_part(&segment, part);
		uint8_t *whole = bytes->data;
		size_t length = bytes->length;

		for (size_t shorter = 0; shorter < length; shorter++)
		{
			/* a copy of exactly that size lets the address sanitizer see a read past the end */
			bytes->data = malloc(shorter);
			assert_non_null(bytes->data);
			memcpy(bytes->data, whole, shorter);
			bytes->length = shorter;
			expect_refusal(&segment, &heap);
			free(bytes->data);
		}
		bytes->data = whole;
		bytes->length = length;
	}
	pfs_segment_free(&segment, test_allocator(&heap));
}

static void
test_every_truncation_is_noticed(void **state)
{
	(void) state;
	check_every_truncation_is_noticed(false);
	check_every_truncation_is_noticed(true);
}

static void
header_sign(PfsBytes *header)
{
	uint32_t crc = pfs_crc32c(header->data, header->length - PFS_HEADER_CRC_BYTES);

	for (int i = 0; i < 4; i++)
		header->data[header->length - PFS_HEADER_CRC_BYTES + (size_t) i] =
			(uint8_t) (crc >> (8 * i));
}

/* A forged header with the right CRC must be refused, or read without harm. */
static void
check_forged_headers_do_no_harm(bool grouped)
{
	TestHeap heap = { 0 };
	PfsSegment segment;

	make_small(&segment, test_allocator(&heap), 300, grouped);
	for (size_t i = 0; i < segment.header.length - PFS_HEADER_CRC_BYTES; i++)
	{
		uint8_t saved = segment.header.data[i];

		for (int byte = 0; byte < 256; byte++)
		{
			PfsSegmentReader *reader;
			PfsError error = { 0 };

			segment.header.data[i] = (uint8_t) byte;
			header_sign(&segment.header);
			if (test_open(&segment, test_allocator(&heap), &reader, &error) == PFS_OK)
				test_read_all(reader, &error);
			pfs_reader_close(reader);
		}
		segment.header.data[i] = saved;
	}
	pfs_segment_free(&segment, test_allocator(&heap));
	assert_int_equal(heap.live, 0);
}

static void
test_forged_headers_do_no_harm(void **state)
{
	(void) state;
	check_forged_headers_do_no_harm(false);
	check_forged_headers_do_no_harm(true);
}

static void
test_longer_header_is_refused(void **state)
{
	TestHeap heap = { 0 };
	PfsSegment segment;
	PfsBytes header;

	(void) state;
	make_small(&segment, test_allocator(&heap), 300, false);
	header = segment.header;
	segment.header.data = calloc(header.length + 1, 1);
	assert_non_null(segment.header.data);
	memcpy(segment.header.data, header.data, header.length);
	segment.header.length++;
	header_sign(&segment.header);
	expect_refusal(&segment, &heap);
	free(segment.header.data);
	segment.header = header;
	pfs_segment_free(&segment, test_allocator(&heap));
}

/* A column without nulls may not have a block of nulls, even in a stream with the right CRC. */
static void
test_forged_block_of_nulls_is_refused(void **state)
{
	/* head: packing "bits"; entry: transform NULLS */
	static const uint8_t forged[] = { PFS_PACKING_BITS, PFS_TRANSFORM_NULLS };
	/* the column's entry: attribute number, kind, least value and range of one byte each */
	const size_t length_at = 12 + 2 + 1 + 1 + 1;

	(void) state;
	for (int grouped = 0; grouped < 2; grouped++)
	{
		TestHeap heap = { 0 };
		PfsSegment segment;
		PfsError error = { 0 };
		int64_t values[40];
		PfsColumn column = { .attnum = 1, .width = 8, .values = values, .is_key = grouped };

		for (int row = 0; row < 40; row++)
			values[row] = row / 20;
		assert_int_equal(pfs_segment_encode(&column, 1, 40, PFS_EFFORT_FAST, test_allocator(&heap),
											&segment, &error),
						 PFS_OK);
		assert_true(segment.streams[0].length >= sizeof(forged));
		memcpy(segment.streams[0].data, forged, sizeof(forged));
		segment.streams[0].length = sizeof(forged);
		segment.header.data[length_at] = sizeof(forged);
		for (int i = 0; i < 4; i++)
			segment.header.data[length_at + 1 + (size_t) i] =
				(uint8_t) (pfs_crc32c(forged, sizeof(forged)) >> (8 * i));
		header_sign(&segment.header);
		expect_refusal(&segment, &heap);
		pfs_segment_free(&segment, test_allocator(&heap));
		assert_int_equal(heap.live, 0);
	}
}

static void
test_newer_format_is_unsupported(void **state)
{
	TestHeap heap = { 0 };
	PfsSegment segment;
	PfsSegmentReader *reader;
	PfsError error = { 0 };

	(void) state;
	make_small(&segment, test_allocator(&heap), 10, false);
	segment.header.data[4] = PFS_FORMAT_VERSION + 1;
	header_sign(&segment.header);
	assert_int_equal(test_open(&segment, test_allocator(&heap), &reader, &error), PFS_UNSUPPORTED);
	assert_int_equal(error.stream, -1);
	assert_int_equal(error.offset, 4);
	pfs_segment_free(&segment, test_allocator(&heap));
}

/* Lets the n-th allocation of opening and reading fail, for every n. */
static void
check_every_allocation_of_read_may_fail(bool grouped)
{
	TestHeap good = { 0 };
	TestHeap heap = { 0 };
	PfsSegment segment;

	make_small(&segment, test_allocator(&good), 1500, grouped);
	for (uint64_t n = 1; n == 1 || heap.allocations >= n - 1; n++)
	{
		PfsSegmentReader *reader;
		PfsError error = { 0 };
		PfsStatus status;

		heap = (TestHeap){ .fail_after = n };
		status = test_open(&segment, test_allocator(&heap), &reader, &error);
		if (status == PFS_OK)
			status = test_read_all(reader, &error);
		assert_int_equal(status, heap.allocations >= n ? PFS_NO_MEMORY : PFS_OK);
		pfs_reader_close(reader);
		assert_int_equal(heap.live, 0);
	}
	pfs_segment_free(&segment, test_allocator(&good));
}

static void
test_every_allocation_of_read_may_fail(void **state)
{
	(void) state;
	check_every_allocation_of_read_may_fail(false);
	check_every_allocation_of_read_may_fail(true);
}

/*
 * Lets each allocation of encoding fail once. The encoder may continue if it cannot shrink a
 * buffer.
 */
static void
fail_encode(const Table *table)
{
	TestHeap heap = { 0 };

	for (uint64_t n = 1; n == 1 || heap.allocations >= n - 1; n++)
	{
		PfsSegment segment;
		PfsError error = { 0 };
		PfsStatus status;

		heap = (TestHeap){ .fail_after = n };
		status = pfs_segment_encode(table->columns, table->column_count, table->row_count,
									PFS_EFFORT_DENSE, test_allocator(&heap), &segment, &error);
		assert_true(status == PFS_OK || (status == PFS_NO_MEMORY && heap.allocations >= n));
		pfs_segment_free(&segment, test_allocator(&heap));
		assert_int_equal(heap.live, 0);
	}
}

static void
test_every_allocation_of_encode_may_fail(void **state)
{
	Random random = { 5 };
	Table table;

	(void) state;
	table_make(&table, &random, 2, 3000);
	values_fill(&random, VALUES_SAWTOOTH, 0, table.values[0], table.row_count);
	table_add_nulls(&table, &random, 1, 5, false);
	fail_encode(&table);
	table_free(&table);

	/* this table has groups, and a column that gets a dictionary */
	table_make(&table, &random, 4, 5000);
	table_fill_groups(&table, &random, 60, 12, false);
	for (uint32_t row = 0; row < table.row_count; row++)
		table.values[3][row] = (int64_t) (row * 7 % 50 * UINT64_C(0x9e3779b97f4a7c15));
	fail_encode(&table);
	table_free(&table);

	/* this table has sums of groups */
	table_make(&table, &random, 4, 3000);
	table_fill_groups(&table, &random, 60, 40, false);
	table.columns[3].wants_sums = true;
	fail_encode(&table);
	table_free(&table);
}

/* Tests a segment of sums beside one whose groups, and perhaps sums, it shares. */
static void
check_sums_beside_base(bool base_has_sums)
{
	Random random = { 8 };
	TestHeap heap = { 0 };
	PfsAllocator allocator = test_allocator(&heap);
	PfsSegment segments[2];
	PfsSegmentReader *base;
	PfsSegmentReader *reader;
	PfsError error = { 0 };
	Table table;
	Table sums;
	uint32_t count;

	table_make(&table, &random, 4, 20000);
	table_fill_groups(&table, &random, 60, 40, false);
	table.columns[3].wants_sums = base_has_sums;
	assert_int_equal(pfs_segment_encode(table.columns, 4, table.row_count, PFS_EFFORT_DENSE,
										allocator, &segments[0], &error),
					 PFS_OK);
	count = segments[0].group_count;
	assert_in_range(count, 1, table.row_count);
	assert_int_equal(test_open(&segments[0], allocator, &base, &error), PFS_OK);
	assert_int_equal(pfs_reader_sums_stream(base, 3) >= 0, base_has_sums);

	table_make(&sums, &random, 4, count);
	for (uint32_t row = 0, group = 0; row < table.row_count; group++)
	{
		int64_t rows;

		assert_int_equal(pfs_reader_group_rows(base, group, 1, &rows, &error), PFS_OK);
		sums.values[0][group] = table.values[0][row];
		sums.values[1][group] = table.values[1][row];
		sums.values[2][group] = rows;
		sums.values[3][group] = 0;
		for (uint32_t end = row + (uint32_t) rows; row < end; row++)
			sums.values[3][group] += table.values[3][row];
	}
	for (uint32_t i = 0; i < 3; i++)
	{
		sums.columns[i].is_shared = true;
		sums.columns[i].attnum = i == 2 ? -100 : table.columns[i].attnum;
	}
	sums.columns[3].is_shared = base_has_sums;
	sums.columns[3].row_counts = base_has_sums ? NULL : sums.values[2];
	assert_int_equal(pfs_segment_encode(sums.columns, 4, count, PFS_EFFORT_DENSE, allocator,
										&segments[1], &error),
					 PFS_OK);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(segments[1].streams[i].length, 0);
	assert_int_equal(test_open(&segments[1], allocator, &reader, &error), PFS_OK);
	assert_int_equal(test_read_all(reader, &error), PFS_CORRUPT); /* the base was not set */
	pfs_reader_set_base(reader, base);
	for (uint32_t column = 0; column < 4; column++)
		for (uint32_t block = 0; block < pfs_reader_block_count(reader); block++)
			check_block(&sums, reader, column, block);
	/* the segment itself as base has another number of groups */
	pfs_reader_set_base(reader, reader);
	assert_int_equal(test_read_all(reader, &error), PFS_CORRUPT);
	pfs_reader_close(reader);
	pfs_reader_close(base);
	for (int i = 0; i < 2; i++)
		pfs_segment_free(&segments[i], allocator);
	assert_int_equal(heap.live, 0);
	table_free(&table);
	table_free(&sums);
}

static void
test_sums_share_the_groups_of_their_base(void **state)
{
	(void) state;
	check_sums_beside_base(false);
	check_sums_beside_base(true);
}

/* Tests sums that are stored relative to their row counts, and may equal them. */
static void
test_sums_above_another_column(void **state)
{
	Random random = { 9 };

	(void) state;
	for (int round = 0; round < 20; round++)
	{
		Table table;
		size_t alone;

		table_make(&table, &random, 3, 1 + (uint32_t) random_below(&random, 9000));
		for (uint32_t row = 0; row < table.row_count; row++)
		{
			table.values[1][row] = round == 0 ? 7 : (int64_t) random_below(&random, 1000);
			table.values[2][row] = 77 * (table.values[1][row] + (int64_t) random_below(&random, 3));
		}
		alone = round_trip(&table, PFS_EFFORT_DENSE);
		table.columns[2].row_counts = table.values[1];
		table.columns[2].measure = 1;
		if (table.row_count > 100 && round > 0)
			assert_in_range(round_trip(&table, PFS_EFFORT_DENSE), 1, alone - 1);
		else
			round_trip(&table, PFS_EFFORT_DENSE);
		table_free(&table);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip_of_every_shape),
		cmocka_unit_test(test_round_trip_of_every_row_count),
		cmocka_unit_test(test_round_trip_with_nulls),
		cmocka_unit_test(test_round_trip_of_groups),
		cmocka_unit_test(test_round_trip_of_odd_keys),
		cmocka_unit_test(test_round_trip_of_ranks),
		cmocka_unit_test(test_sums_share_the_groups_of_their_base),
		cmocka_unit_test(test_sums_above_another_column),
		cmocka_unit_test(test_one_row_is_small),
		cmocka_unit_test(test_every_flipped_bit_is_noticed),
		cmocka_unit_test(test_every_truncation_is_noticed),
		cmocka_unit_test(test_forged_headers_do_no_harm),
		cmocka_unit_test(test_longer_header_is_refused),
		cmocka_unit_test(test_forged_block_of_nulls_is_refused),
		cmocka_unit_test(test_newer_format_is_unsupported),
		cmocka_unit_test(test_every_allocation_of_read_may_fail),
		cmocka_unit_test(test_every_allocation_of_encode_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
