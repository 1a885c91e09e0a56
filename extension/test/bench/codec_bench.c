/*
 * codec_bench.c
 *		Bytes and nanoseconds per row of each stream, on data like a fleet's.
 *
 * The fleet: services of 5,000 stacks each (leaves of a tree of 75,000 nodes), popular by Zipf's
 * law, sampled at 19 Hz into windows of 10 s; a series is one service on one node. A segment holds
 * the rows sorted by series, stack and time. Prints a Markdown table per segment size.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codec/format.h"
#include "test/unit/lanes.h"

#define STACKS_PER_SERVICE 5000
#define NODES_PER_SERVICE  75000
#define SERVICES		   10
#define SAMPLES_PER_WINDOW 190
#define PERIOD_NS		   52631578
#define WINDOW_US		   INT64_C(10000000)
#define FIRST_TIME_US	   INT64_C(817000000000000)
#define COLUMNS			   4
#define MIN_SECONDS		   0.2

static const char *const column_names[COLUMNS] = { "series_id", "stack_id", "time", "value" };

typedef struct Row
{
	int64_t lanes[COLUMNS];
} Row;

/*
 * Seconds. What is timed runs again and again, and the fastest counts: the machine may have other
 * work.
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
		if (a->lanes[i] != b->lanes[i])
			return a->lanes[i] < b->lanes[i] ? -1 : 1;
	return 0;
}

/*
 * The stack of a sample: rank by Zipf's law with exponent 1, rank to leaf node by a fixed scramble.
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
 * Samples `windows` windows of every service on as many nodes as it takes; returns sorted, summed
 * rows.
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
				if (rows[i].lanes[1] == rows[kept].lanes[1])
					rows[kept].lanes[3] += PERIOD_NS;
				else
					rows[++kept] = rows[i];
			}
			filled = kept + 1;
		}
	qsort(rows, row_count, sizeof(Row), compare_rows);
	return rows;
}

/*
 * Seconds to decode all blocks of a column once, the stream being loaded: the sum of each block's
 * fastest round.
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

/* Seconds to open a segment of one column and load its stream. */
static double
time_load(const PfsSegment *segment)
{
	double deadline = now() + MIN_SECONDS;
	double best = HUGE_VAL;

	while (now() < deadline)
	{
		double start = now();

		PfsSegmentReader *reader;
		PfsError error;

		check(pfs_reader_open(segment->header.data, segment->header.length, allocator, &reader,
							  &error),
			  &error);
		check(pfs_reader_load_stream(reader, 0, segment->streams[0].data,
									 segment->streams[0].length, &error),
			  &error);
		pfs_reader_close(reader);
		best = fmin(best, now() - start);
	}
	return best;
}

static double
time_encode(const PfsColumn *column, uint32_t row_count, PfsEffort effort, PfsSegment *segment)
{
	double deadline = now() + MIN_SECONDS;
	double best = HUGE_VAL;

	while (now() < deadline)
	{
		double start = now();

		PfsError error;

		if (best < HUGE_VAL)
			pfs_segment_free(segment, allocator);
		check(pfs_segment_encode(column, 1, row_count, effort, allocator, segment, &error), &error);
		best = fmin(best, now() - start);
	}
	return best;
}

static const char *
packing_name(const PfsBytes *stream)
{
	if (stream->length == 0)
		return "none";
	return stream->data[0] == PFS_PACKING_BITS ? "bits" : "planes";
}

static void
bench_segment(uint32_t row_count, int windows, PfsEffort effort)
{
	Row *rows = make_rows(row_count, windows);
	int64_t *lanes = malloc(row_count * sizeof(int64_t));
	double sums[4] = { 0 };

	if (lanes == NULL)
		abort();
	printf("\n%u rows, %s\n\n"
		   "| column | packing | bytes/row | encode ns/row | load ns/row | decode ns/row |\n"
		   "|---|---|---|---|---|---|\n",
		   row_count, effort == PFS_EFFORT_FAST ? "fast" : "dense");
	for (int i = 0; i < COLUMNS; i++)
	{
		PfsColumn column = { 1, 8, lanes, NULL };
		PfsSegment segment;
		PfsSegmentReader *reader;
		PfsError error;
		double figures[4];

		for (uint32_t row = 0; row < row_count; row++)
			lanes[row] = rows[row].lanes[i];
		figures[1] = time_encode(&column, row_count, effort, &segment) * 1e9;
		figures[0] = (double) (segment.streams[0].length + segment.header.length);
		figures[2] = time_load(&segment) * 1e9;
		check(pfs_reader_open(segment.header.data, segment.header.length, allocator, &reader,
							  &error),
			  &error);
		check(pfs_reader_load_stream(reader, 0, segment.streams[0].data, segment.streams[0].length,
									 &error),
			  &error);
		figures[3] = time_decode(reader, 0) * 1e9;
		printf("| %s | %s |", column_names[i], packing_name(&segment.streams[0]));
		for (int figure = 0; figure < 4; figure++)
		{
			sums[figure] += figures[figure];
			printf(" %.3f |", figures[figure] / row_count);
		}
		printf("\n");
		pfs_reader_close(reader);
		pfs_segment_free(&segment, allocator);
	}
	printf("| all | |");
	for (int figure = 0; figure < 4; figure++)
		printf(" %.3f |", sums[figure] / row_count);
	printf("\n");
	free(lanes);
	free(rows);
}

int
main(void)
{
	bench_segment(3000, 1, PFS_EFFORT_FAST);
	bench_segment(131072, 90, PFS_EFFORT_DENSE);
	bench_segment(1048576, 360, PFS_EFFORT_DENSE);
	return 0;
}
