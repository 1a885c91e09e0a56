/*
 * codec_bench.c
 *		Measures bytes and nanoseconds per row of each stream, on data like those of a fleet.
 *
 * The fleet has services of 5,000 stacks each (leaves of a tree of 75,000 nodes), whose frequencies
 * follow Zipf's law, sampled at 19 Hz into windows of 10 s. A series is one service on one node. A
 * segment has the rows sorted by series, stack and time. Prints a Markdown table per segment size.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codec/segment_format.h"
#include "test/unit/values.h"

#define STACKS_PER_SERVICE 5000
#define NODES_PER_SERVICE  75000
#define SERVICES		   10
#define SAMPLES_PER_WINDOW 190
#define PERIOD_NS		   52631578
#define WINDOW_US		   INT64_C(10000000)
#define FIRST_TIME_US	   INT64_C(817000000000000)
#define COLUMNS			   4
#define KEYS			   2 /* the number of key columns, which come first */
#define SUMMED			   3 /* the column of which level 2 keeps the sums of groups */
#define MIN_SECONDS		   0.2

static const char *const column_names[COLUMNS] = { "series_id", "stack_id", "time", "value" };

typedef struct Row
{
	int64_t values[COLUMNS];
} Row;

/*
 * Returns the time in seconds. Each measured operation is repeated, and its fastest run counts,
 * because the machine may have other work.
 */
static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

static void *
bench_realloc(void *context, void *pointer, size_t bytes)
{
	(void) context;
	if (bytes == 0)
	{
		free(pointer);
		return NULL;
	}
	return realloc(pointer, bytes);
}

static const PfsAllocator allocator = { bench_realloc, NULL };

static void
check(PfsStatus status, const PfsError *error)
{
	if (status == PFS_OK)
		return;
	fprintf(stderr, "codec_bench: %s\n", error->message);
	exit(1);
}

static int
compare_rows(const void *left, const void *right)
{
	const Row *a = left;
	const Row *b = right;

	for (int i = 0; i < COLUMNS; i++)
		if (a->values[i] != b->values[i])
			return a->values[i] < b->values[i] ? -1 : 1;
	return 0;
}

/*
 * Returns the stack of a sample: draws a rank by Zipf's law with exponent 1, and maps it to a leaf
 * by a fixed permutation.
 */
static int64_t
draw_stack(Random *random, int service)
{
	double uniform = (double) random_below(random, 1 << 30) / (1 << 30);
	uint64_t rank = (uint64_t) (pow(STACKS_PER_SERVICE + 1.0, uniform)) - 1;
	uint64_t leaf = (rank * 2654435761u + (uint64_t) service * 40503) % STACKS_PER_SERVICE;
	uint64_t node = leaf * (NODES_PER_SERVICE / STACKS_PER_SERVICE) + leaf * 7919 % 14 + 1;

	return (int64_t) (service + 1) << 40 | (int64_t) node;
}

/*
 * Samples the given number of windows of every service, on as many nodes as row_count needs;
 * returns sorted, summed rows.
 */
static Row *
make_rows(uint32_t row_count, int windows)
{
	Random random = { 42 };
	Row *rows =
		malloc((row_count + SERVICES * SAMPLES_PER_WINDOW * (size_t) windows) * sizeof(Row));
	uint32_t filled = 0;

	if (rows == NULL)
		abort();
	for (int series = 0; filled < row_count; series++)
		for (int window = 0; window < windows; window++)
		{
			uint32_t start = filled;
			uint32_t kept = filled;

			for (int sample = 0; sample < SAMPLES_PER_WINDOW; sample++)
			{
				rows[filled++] = (Row){ { 1000 + series, draw_stack(&random, series % SERVICES),
										  FIRST_TIME_US + window * WINDOW_US, PERIOD_NS } };
			}
			qsort(rows + start, filled - start, sizeof(Row), compare_rows);
			for (uint32_t i = start + 1; i < filled; i++)
			{
				if (rows[i].values[1] == rows[kept].values[1])
					rows[kept].values[3] += PERIOD_NS;
				else
					rows[++kept] = rows[i];
			}
			filled = kept + 1;
		}
	qsort(rows, row_count, sizeof(Row), compare_rows);
	return rows;
}

/*
 * Returns the seconds to decode all blocks of a column once: the sum of each block's fastest round.
 * The stream must be loaded.
 */
static double
time_decode(PfsSegmentReader *reader, int column)
{
	static int64_t values[PFS_BLOCK_ROWS];
	static bool nulls[PFS_BLOCK_ROWS];
	static double best[PFS_SEGMENT_MAX_ROWS / PFS_BLOCK_ROWS];
	double deadline = now() + MIN_SECONDS;
	double sum = 0;

	for (uint32_t block = 0; block < pfs_reader_block_count(reader); block++)
		best[block] = HUGE_VAL;
	while (now() < deadline)
		for (uint32_t block = 0; block < pfs_reader_block_count(reader); block++)
		{
			double start = now();
			bool has_nulls;
			PfsError error;

			check(pfs_reader_block(reader, column, block, values, nulls, &has_nulls, &error),
				  &error);
			best[block] = fmin(best[block], now() - start);
		}
	for (uint32_t block = 0; block < pfs_reader_block_count(reader); block++)
		sum += best[block];
	return sum;
}

/* Loads a stream, or nothing for number -1; returns its bytes. */
static double
load_stream(PfsSegmentReader *reader, const PfsSegment *segment, int number)
{
	PfsError error;

	if (number < 0)
		return 0;
	check(pfs_reader_load_stream(reader, (uint32_t) number, segment->streams[number].data,
								 segment->streams[number].length, &error),
		  &error);
	return (double) segment->streams[number].length;
}

/* Opens the segment and loads the streams of a column; for column -1, the stream of the groups. */
static PfsSegmentReader *
open_column(const PfsSegment *segment, int column)
{
	PfsSegmentReader *reader;
	PfsError error;
	int numbers[3] = { -1, -1, -1 };

	check(pfs_reader_open(segment->header.data, segment->header.length, allocator, &reader, &error),
		  &error);
	numbers[0] = pfs_reader_groups_stream(reader);
	if (column >= 0)
	{
		pfs_reader_column_streams(reader, column, &numbers[0], &numbers[1]);
		numbers[2] = pfs_reader_sums_stream(reader, column);
	}
	for (int i = 0; i < 3; i++)
		load_stream(reader, segment, numbers[i]);
	return reader;
}

/* Returns the seconds to open a segment and load a column's stream, or that of the groups. */
static double
time_load(const PfsSegment *segment, int column)
{
	double deadline = now() + MIN_SECONDS;
	double best = HUGE_VAL;

	while (now() < deadline)
	{
		double start = now();

		pfs_reader_close(open_column(segment, column));
		best = fmin(best, now() - start);
	}
	return best;
}

static double
time_encode(const PfsColumn *columns, uint32_t row_count, PfsEffort effort, PfsSegment *segment)
{
	double deadline = now() + MIN_SECONDS;
	double best = HUGE_VAL;

	while (now() < deadline)
	{
		double start = now();

		PfsError error;

		if (best < HUGE_VAL)
			pfs_segment_free(segment, allocator);
		check(pfs_segment_encode(columns, COLUMNS, row_count, effort, allocator, segment, &error),
			  &error);
		best = fmin(best, now() - start);
	}
	return best;
}

/* Returns the seconds to read the number of rows of every group. */
static double
time_groups(PfsSegmentReader *reader)
{
	static int64_t rows[PFS_BLOCK_ROWS];
	double deadline = now() + MIN_SECONDS;
	double best = HUGE_VAL;

	while (now() < deadline)
	{
		double start = now();

		for (uint32_t first = 0; first < pfs_reader_group_count(reader); first += PFS_BLOCK_ROWS)
		{
			uint32_t left = pfs_reader_group_count(reader) - first;
			PfsError error;

			check(pfs_reader_group_rows(reader, first,
										left < PFS_BLOCK_ROWS ? left : PFS_BLOCK_ROWS, rows,
										&error),
				  &error);
		}
		best = fmin(best, now() - start);
	}
	return best;
}

static const char *
packing_name(const PfsSegment *segment, int stream)
{
	static const char *const names[] = { "bits", "planes",		  "",
										 "",	 "ranks in bits", "ranks in planes" };

	if (stream < 0 || segment->streams[stream].length == 0)
		return "none";
	return names[segment->streams[stream].data[0] % 6];
}

/* Prints one line of the table. The figures are in bytes and seconds. */
static void
print_line(const char *name, const char *packing, double bytes, double load, double decode,
		   uint32_t row_count)
{
	printf("| %s | %s | %.3f | %.2f | %.2f |\n", name, packing, bytes / row_count,
		   load * 1e9 / row_count, decode * 1e9 / row_count);
}

static void
bench_streams(const PfsSegment *segment, uint32_t row_count)
{
	double sums[3] = { (double) segment->header.length, 0, 0 };
	PfsSegmentReader *whole;
	int groups;

	PfsSegmentReader *reader = open_column(segment, -1);

	groups = pfs_reader_groups_stream(reader);
	if (groups >= 0)
	{
		double load = time_load(segment, -1);
		double decode = time_groups(reader);

		print_line("(groups)", "", (double) segment->streams[groups].length, load, decode,
				   row_count);
		sums[0] += (double) segment->streams[groups].length;
		sums[1] += load;
	}
	whole = reader;
	for (int i = 0; i < COLUMNS; i++)
	{
		double load = time_load(segment, i);
		double decode;
		double bytes = 0;
		int streams[3];

		pfs_reader_column_streams(whole, i, &streams[0], &streams[1]);
		streams[2] = pfs_reader_sums_stream(whole, i);
		for (int j = 0; j < 3; j++)
			bytes += load_stream(whole, segment, streams[j]);
		decode = time_decode(whole, i);
		print_line(column_names[i], packing_name(segment, streams[0]), bytes, load, decode,
				   row_count);
		if (streams[2] >= 0)
			print_line("(its sums)", packing_name(segment, streams[2]),
					   (double) segment->streams[streams[2]].length, 0, 0, row_count);
		sums[0] += bytes;
		sums[1] += load;
		sums[2] += decode;
	}
	print_line("all", "", sums[0], sums[1], sums[2], row_count);
	pfs_reader_close(whole);
}

static void
bench_segment(uint32_t row_count, int windows, PfsEffort effort)
{
	Row *rows = make_rows(row_count, windows);
	PfsColumn columns[COLUMNS];
	PfsSegment segment;
	double encode;

	for (int i = 0; i < COLUMNS; i++)
	{
		int64_t *values = malloc(row_count * sizeof(int64_t));

		if (values == NULL)
			abort();
		for (uint32_t row = 0; row < row_count; row++)
			values[row] = rows[row].values[i];
		columns[i] = (PfsColumn){ .attnum = (int16_t) (i + 1),
								  .width = 8,
								  .values = values,
								  .is_key = i < KEYS,
								  .wants_sums = i == SUMMED && effort == PFS_EFFORT_DENSE };
	}
	encode = time_encode(columns, row_count, effort, &segment);
	printf("\n%u rows of %d windows, %s: encode %.0f ns/row\n\n"
		   "| column | packing | bytes/row | load ns/row | decode ns/row |\n"
		   "|---|---|---|---|---|\n",
		   row_count, windows, effort == PFS_EFFORT_FAST ? "fast" : "dense",
		   encode * 1e9 / row_count);
	bench_streams(&segment, row_count);
	pfs_segment_free(&segment, allocator);
	for (int i = 0; i < COLUMNS; i++)
		free((void *) (uintptr_t) columns[i].values);
	free(rows);
}

int
main(void)
{
	bench_segment(3000, 1, PFS_EFFORT_FAST);
	bench_segment(131072, 60, PFS_EFFORT_DENSE);
	bench_segment(1500000, 60, PFS_EFFORT_DENSE);
	return 0;
}
