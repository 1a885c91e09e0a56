/*
 * bench_fleet.c
 *		bench_fleet AGENTS SECONDS ROWS: simulated agents store samples at the rate of real ones.
 *
 * Each agent has a writer, as in the real program, and submits ROWS samples every 10 s. A hundredth
 * of its stacks is new each time. The program expects PG* in the environment and the extension in
 * that database. It prints a line every 30 s, and fails if a sample was dropped, if a write was
 * repeated, if memory or the age of the newest stored samples grows, or if the database lacks a
 * row.
 */
#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "writer/writer.h"

#define INTERVAL_S	   10
#define DEPTH		   20
#define FUNCTIONS	   20000
#define STACKS		   3000 /* number of stacks of an agent in one batch */
#define SERIES		   40
#define AGENTS_MAX	   4000
#define POINTS_MAX	   1000
#define LAG_MAX_S	   25.0
#define LAG_GROWTH_S   5.0
#define RSS_GROWTH_MB  16.0
#define PERIOD_NS	   52631578
#define PRINT_EVERY_S  30
#define DRAIN_LIMIT_MS 30000

typedef struct Point
{
	double rss_mb;
	double lag_s;
} Point;

static Writer *writers[AGENTS_MAX];
static unsigned seeds[AGENTS_MAX];

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "bench_fleet: %s: %s\n", what, why);
	exit(1);
}

static void
check(int err, const char *what)
{
	if (err != 0)
		die(what, strerror(-err));
}

static int64_t
wall_us(void)
{
	return clock_ns(CLOCK_REALTIME) / NS_PER_US;
}

static double
resident_mb(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1)
		die("/proc/self/statm", "could not read");
	fclose(file);
	return (double) pages * (double) sysconf(_SC_PAGESIZE) / 1048576.0;
}

static uint32_t
add_frame(Batch *batch, uint32_t function)
{
	char name[64];
	BatchLine line = { 0, (int32_t) function % 300 };
	BatchLocation location = { 0, 0x1000 + function * 16, 1, &line };
	uint32_t index;

	snprintf(name, sizeof(name), "fleet::module_%u::function_%u", function / 100, function);
	check(batch_add_function(batch, &(BatchFunction){ name, name, "fleet.c", 1 }, &line.function),
		  "function");
	check(batch_add_location(batch, &location, &index), "location");
	return index;
}

/* Creates a stack; stacks with near numbers share their outer frames. */
static uint32_t
add_stack(Batch *batch, uint32_t number)
{
	uint32_t frames[DEPTH];
	uint32_t index;

	for (uint32_t depth = 0; depth < DEPTH; depth++)
	{
		const uint32_t outward = DEPTH - 1 - depth;

		frames[outward] =
			add_frame(batch, ((number >> (outward > 14 ? 14 : outward)) * 31 + depth) % FUNCTIONS);
	}
	check(batch_add_stack(batch, &(BatchStack){ "abcdef0123456789", DEPTH, frames }, &index),
		  "stack");
	return index;
}

static Batch *
fleet_batch(unsigned agent, unsigned turn, size_t row_count)
{
	uint32_t series[SERIES];
	char node[32];
	Batch *batch = NULL;
	uint32_t index;

	check(batch_create((size_t) 64 << 20, &batch), "batch");
	check(batch_add_mapping(batch, &(BatchMapping){ "abcdef0123456789", "/usr/bin/fleet" }, &index),
		  "mapping");
	snprintf(node, sizeof(node), "fleet-%u", agent);
	for (uint32_t i = 0; i < SERIES; i++)
	{
		char comm[32];
		BatchLabel labels[] = { { "comm", comm }, { "node", node } };

		snprintf(comm, sizeof(comm), "comm_%u", i);
		check(batch_add_series(batch,
							   &(BatchSeries){ "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta",
											   2, labels, PERIOD_NS },
							   &series[i]),
			  "series");
	}
	for (size_t i = 0; i < row_count; i++)
	{
		/* a tenth of the agents run equal programs */
		const uint32_t first = agent % 10 * 100000 + turn * (STACKS / 100);
		BatchSample sample = { .time_us = wall_us() - INTERVAL_S * 1000000,
							   .series = series[rand_r(&seeds[agent]) % SERIES],
							   .stack = add_stack(batch, first + (uint32_t) rand_r(&seeds[agent]) %
																	 STACKS),
							   .value = PERIOD_NS };

		check(batch_add_sample(batch, &sample), "sample");
	}
	return batch;
}

static void
start_agents(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
	{
		static char nodes[AGENTS_MAX][32];
		WriterOptions options = { .conninfo = "", .queue_bytes = (size_t) 64 << 20 };
		Failure failure = { 0 };

		snprintf(nodes[i], sizeof(nodes[i]), "fleet-%u", i);
		options.node = nodes[i];
		seeds[i] = i + 1;
		if (writer_create(&options, &writers[i], &failure) != EXIT_OK)
			die(failure.message, failure.detail);
		check(writer_start(writers[i]), "thread");
	}
}

/* Adds up all writers' counters; the lag is that of the agent that is furthest behind. */
static WriterStats
sum_stats(unsigned count, double *lag_s)
{
	WriterStats sum = { .samples_written = 0 };
	const int64_t now = wall_us();

	*lag_s = 0;
	for (unsigned i = 0; i < count; i++)
	{
		WriterStats stats;
		double lag;

		writer_stats(writers[i], &stats);
		sum.samples_written += stats.samples_written;
		sum.samples_dropped += stats.samples_dropped + stats.samples_refused;
		sum.retries += stats.retries;
		sum.transactions += stats.transactions;
		sum.queued_bytes += stats.queued_bytes;
		lag = stats.newest_sample_us == 0 ? 0 : (double) (now - stats.newest_sample_us) / 1e6;
		*lag_s = lag > *lag_s ? lag : *lag_s;
	}
	return sum;
}

/* Returns the mean of a part of the points. */
static Point
mean(const Point *points, size_t count)
{
	Point sum = { 0, 0 };

	for (size_t i = 0; i < count; i++)
	{
		sum.rss_mb += points[i].rss_mb / (double) count;
		sum.lag_s += points[i].lag_s / (double) count;
	}
	return sum;
}

/* Compares the last third of the run with the second. */
static bool
is_flat(const Point *points, size_t count)
{
	const size_t third = count / 3;
	Point middle;
	Point last;

	if (third == 0)
		return true;
	middle = mean(points + count - 2 * third, third);
	last = mean(points + count - third, third);
	printf("second third: %.1f MB, lag %.1f s; last third: %.1f MB, lag %.1f s\n", middle.rss_mb,
		   middle.lag_s, last.rss_mb, last.lag_s);
	return last.rss_mb - middle.rss_mb < RSS_GROWTH_MB && last.lag_s - middle.lag_s < LAG_GROWTH_S;
}

static bool
print_point(unsigned agents, double elapsed_s, Point *point)
{
	WriterStats stats = sum_stats(agents, &point->lag_s);

	point->rss_mb = resident_mb();
	printf(
		"%4.0f s: %llu rows stored in %llu transactions, %zu kB wait, %llu retries, %llu dropped,"
		" resident %.1f MB, lag %.1f s\n",
		elapsed_s, (unsigned long long) stats.samples_written,
		(unsigned long long) stats.transactions, stats.queued_bytes / 1024,
		(unsigned long long) stats.retries, (unsigned long long) stats.samples_dropped,
		point->rss_mb, point->lag_s);
	fflush(stdout);
	return stats.retries == 0 && stats.samples_dropped == 0 && point->lag_s < LAG_MAX_S;
}

int
main(int argc, char **argv)
{
	const unsigned agents = argc == 4 ? (unsigned) atoi(argv[1]) : 0;
	const int64_t seconds = argc == 4 ? atoi(argv[2]) : 0;
	const size_t rows = argc == 4 ? (size_t) atoi(argv[3]) : 0;
	static Point points[POINTS_MAX];
	const int64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t next_print_s = PRINT_EVERY_S;
	uint64_t submitted = 0;
	size_t point_count = 0;
	double lag_s;
	bool good = true;

	if (agents == 0 || agents > AGENTS_MAX || rows == 0)
		die("usage", "bench_fleet AGENTS SECONDS ROWS");
	start_agents(agents);
	for (unsigned due = 0;; due++)
	{
		const int64_t due_ns = begin_ns + (int64_t) due * INTERVAL_S * NS_PER_S / agents;
		const int64_t wait_ns = due_ns - clock_ns(CLOCK_MONOTONIC);
		const int64_t elapsed_s = (clock_ns(CLOCK_MONOTONIC) - begin_ns) / NS_PER_S;

		if (elapsed_s >= next_print_s && point_count < POINTS_MAX)
		{
			good &= print_point(agents, (double) elapsed_s, &points[point_count++]);
			next_print_s += PRINT_EVERY_S;
		}
		if (elapsed_s >= seconds)
			break;
		if (wait_ns > 0)
			nanosleep(&(struct timespec){ wait_ns / NS_PER_S, wait_ns % NS_PER_S }, NULL);
		check(writer_submit(writers[due % agents], fleet_batch(due % agents, due / agents, rows),
							NULL),
			  "submit");
		submitted += rows;
	}
	for (unsigned i = 0; i < agents; i++)
		good &= writer_drain(writers[i], DRAIN_LIMIT_MS);
	good &= sum_stats(agents, &lag_s).samples_written == submitted;
	good &= is_flat(points, point_count);
	printf("submitted %llu\n", (unsigned long long) submitted);
	for (unsigned i = 0; i < agents; i++)
		writer_free(writers[i]);
	return good ? 0 : 1;
}
