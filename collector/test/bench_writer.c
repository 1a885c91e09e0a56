/*
 * bench_writer.c
 *		Measures the cost of storing samples through the writer: interning, then samples of known
 *		stacks.
 *
 * Expects PG* in the environment and the extension in that database. Prints one figure a line.
 */
#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "writer/writer.h"

#define STACKS		  50000
#define DEPTH		  30
#define SERIES		  200
#define ROWS_PER_STEP 250000
#define STEPS		  8

/* start of today, so that the partitions are those that a collector uses */
static int64_t start_us;

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "bench_writer: %s: %s\n", what, why);
	exit(1);
}

static double
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* Returns the processor seconds of this process. */
static double
own_cpu_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		   (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Returns the processor seconds of the writer's backend; 0 if there is no backend. */
static double
backend_cpu_s(PGconn *connection)
{
	PGresult *result = PQexec(connection, "SELECT max(pid) FROM pg_stat_activity"
										  " WHERE application_name = 'profstore-collector'");
	unsigned long user = 0;
	unsigned long system = 0;
	char path[64];
	FILE *file;

	if (PQgetisnull(result, 0, 0))
	{
		PQclear(result);
		return 0; /* not connected yet */
	}
	snprintf(path, sizeof(path), "/proc/%s/stat", PQgetvalue(result, 0, 0));
	PQclear(result);
	file = fopen(path, "re");
	if (file == NULL ||
		fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			   &system) != 2)
		die(path, "could not read");
	fclose(file);
	return (double) (user + system) / (double) sysconf(_SC_CLK_TCK);
}

static void
check(int err, const char *what)
{
	if (err != 0)
		die(what, strerror(-err));
}

/* Returns 50,000 stacks of 30 frames, as a program has them: few roots, many leaves. */
static Batch *
make_batch(int step, size_t row_count)
{
	uint32_t series[SERIES];
	unsigned int seed = 1;
	Batch *batch = NULL;
	uint32_t index;

	check(batch_create((size_t) 1 << 30, &batch), "batch");
	check(batch_add_mapping(batch, &(BatchMapping){ "abcdef0123456789", "/usr/bin/bench" }, &index),
		  "mapping");
	for (uint32_t i = 0; i < SERIES; i++)
	{
		char comm[32];
		BatchLabel labels[] = { { "node", "bench" }, { "comm", comm } };
		BatchSeries item = { "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", 2, labels,
							 52631578 };

		snprintf(comm, sizeof(comm), "comm_%u", i);
		check(batch_add_series(batch, &item, &series[i]), "series");
	}
	for (uint32_t i = 0; i < 20000; i++)
	{
		char name[64];
		BatchLine line = { 0, (int32_t) i % 300 };
		BatchLocation location = { 0, 0x1000 + i * 16, 1, &line };

		snprintf(name, sizeof(name), "bench::module_%u::function_%u", i / 100, i / 4);
		check(batch_add_function(batch, &(BatchFunction){ name, name, "bench.c", 1 },
								 &line.function),
			  "function");
		check(batch_add_location(batch, &location, &index), "location");
	}
	for (uint32_t i = 0; i < STACKS; i++)
	{
		uint32_t frames[DEPTH];
		uint32_t stack;

		/* frames near the root depend on few bits of i, those near the leaf on all */
		for (uint32_t depth = 0; depth < DEPTH; depth++)
			frames[DEPTH - 1 - depth] =
				(uint32_t) ((i >> (DEPTH - 1 - depth > 16 ? 16 : DEPTH - 1 - depth)) * 31 + depth) %
				20000;
		check(batch_add_stack(batch, &(BatchStack){ "abcdef0123456789", DEPTH, frames }, &stack),
			  "stack");
	}
	for (size_t i = 0; i < row_count; i++)
	{
		BatchSample sample = { .time_us = start_us + (int64_t) step * 10000000 + (int64_t) (i % 10),
							   .series = series[rand_r(&seed) % SERIES],
							   .stack = (uint32_t) rand_r(&seed) % STACKS,
							   .value = 52631578 };

		check(batch_add_sample(batch, &sample), "sample");
	}
	return batch;
}

static Writer *
open_writer(void)
{
	WriterOptions options = { .conninfo = "", .node = "bench", .queue_bytes = (size_t) 2 << 30 };
	Failure failure = { 0 };
	Writer *writer = NULL;

	if (writer_create(&options, &writer, &failure) != EXIT_OK)
		die(failure.message, failure.detail);
	check(writer_start(writer), "thread");
	return writer;
}

/* Submits a batch and waits for it; returns the seconds that this took. */
static double
write_through(Writer *writer, Batch *batch, WriterStats *stats)
{
	double start = now_s();

	writer_submit_newest(writer, batch);
	do
	{
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		writer_stats(writer, stats);
	} while (stats->queued_bytes > 0);
	return now_s() - start;
}

/* Returns a batch of stacks with a sample each. The connection reads the backend's time. */
static void
intern_stacks(Writer *writer, PGconn *connection, const char *what)
{
	Batch *batch = make_batch(0, 1);
	double own_s = own_cpu_s();
	double backend_s = backend_cpu_s(connection);
	WriterStats stats;
	double seconds = write_through(writer, batch, &stats);

	own_s = own_cpu_s() - own_s;
	backend_s = backend_cpu_s(connection) - backend_s;
	printf("  %-44s %12.0f\n", what, STACKS / seconds);
	printf("  %-44s %12.2f\n", "  processor us per stack, collector", own_s / STACKS * 1e6);
	printf("  %-44s %12.2f\n", "  processor us per stack, server", backend_s / STACKS * 1e6);
}

int
main(void)
{
	PGconn *connection = PQconnectdb("");
	WriterStats stats;
	Writer *writer;
	double seconds = 0;
	double own_s;
	double backend_s;

	if (PQstatus(connection) != CONNECTION_OK)
		die("connection", PQerrorMessage(connection));
	start_us = (int64_t) (time(NULL) / 86400) * 86400 * 1000000;

	printf("\nWriter: stacks of %d frames, interned per second; batches of %d samples\n", DEPTH,
		   ROWS_PER_STEP);
	writer = open_writer();
	intern_stacks(writer, connection, "new stacks");
	writer_free(writer);

	writer = open_writer();
	intern_stacks(writer, connection, "stacks that the database knows");
	intern_stacks(writer, connection, "stacks that the writer knows");

	own_s = backend_s = seconds = 0;
	for (int step = 1; step <= STEPS; step++)
	{
		Batch *batch = make_batch(step, ROWS_PER_STEP);

		own_s -= own_cpu_s();
		backend_s -= backend_cpu_s(connection);
		seconds += write_through(writer, batch, &stats);
		own_s += own_cpu_s();
		backend_s += backend_cpu_s(connection);
	}
	printf("  %-44s %12.0f\n", "samples stored per second, stacks known",
		   (double) (stats.samples_written - 2) / seconds);
	printf("  %-44s %12.2f\n", "processor seconds per million, collector",
		   own_s / (double) (stats.samples_written - 2) * 1e6);
	printf("  %-44s %12.2f\n", "processor seconds per million, server",
		   backend_s / (double) (stats.samples_written - 2) * 1e6);
	writer_free(writer);
	PQfinish(connection);
	return stats.batches_written == STEPS + 2 ? 0 : 1;
}
