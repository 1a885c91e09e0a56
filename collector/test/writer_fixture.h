/*
 * writer_fixture.h
 *		A writer connected to a real server, and batches whose arrival can be verified.
 */
#ifndef COLLECTOR_TEST_WRITER_FIXTURE_H
#define COLLECTOR_TEST_WRITER_FIXTURE_H

#include "private_server.h"

#include <time.h>

#include "database/session.h"
#include "writer/writer.h"

#define QUEUE_BYTES	 ((size_t) 64 << 20)
#define BATCH_BYTES	 ((size_t) 16 << 20)
#define DRAIN_MS	 60000
#define PROFILE_TYPE "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"

/* 2026-11-21 00:00:00 UTC */
#define START_US INT64_C(1795219200000000)

static inline void
sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* Returns the statement by which this collector announces the writer protocols that it supports. */
static inline const char *
protocol_spoken(void)
{
	static char text[32];

	snprintf(text, sizeof(text), "speaks %d.", WRITER_PROTOCOL);
	return text;
}

/* Creates a fresh database with the extension. */
static inline void
create_database(const char *name)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "DROP DATABASE IF EXISTS %s (FORCE)", name);
	sql_in("postgres", sql);
	snprintf(sql, sizeof(sql), "CREATE DATABASE %s", name);
	sql_in("postgres", sql);
	sql_in(name, "CREATE EXTENSION profstore");
}

static inline Writer *
start_writer(const WriterOptions *options)
{
	Failure failure = { 0 };
	Writer *writer = NULL;

	if (writer_create(options, &writer, &failure) != EXIT_OK)
		fail_msg("%s: %s", failure.message, failure.detail);
	assert_int_equal(writer_start(writer), 0);
	return writer;
}

static inline Writer *
open_writer(const char *conninfo, size_t queue_bytes)
{
	const WriterOptions options = { .conninfo = conninfo,
									.node = "test-node",
									.queue_bytes = queue_bytes };

	return start_writer(&options);
}

/* Opens a writer that waits denied_ms if the database denies access. */
static inline Writer *
open_patient_writer(const char *conninfo, int64_t denied_ms)
{
	const WriterOptions options = { .conninfo = conninfo,
									.node = "test-node",
									.queue_bytes = QUEUE_BYTES,
									.denied_ms = denied_ms };

	return start_writer(&options);
}

/* Adds a location with one line for a function of that name; its address is the name's number. */
static inline uint32_t
add_frame(Batch *batch, const char *mapping, const char *name, uint64_t address)
{
	BatchLine line = { .line = (int32_t) address + 1 };
	BatchLocation location = { .address = address, .line_count = 1, .lines = &line };
	uint32_t index;

	assert_int_equal(batch_add_mapping(batch, &(BatchMapping){ "abcd", mapping },
									   &location.mapping),
					 0);
	assert_int_equal(batch_add_function(batch, &(BatchFunction){ name, name, "f.c", 7 },
										&line.function),
					 0);
	assert_int_equal(batch_add_location(batch, &location, &index), 0);
	return index;
}

static inline uint32_t
add_series(Batch *batch, const char *comm)
{
	BatchLabel labels[] = { { "node", "test-node" }, { "comm", comm } };
	BatchSeries series = { PROFILE_TYPE, 2, labels, 52631578 };
	uint32_t index;

	assert_int_equal(batch_add_series(batch, &series, &index), 0);
	return index;
}

/*
 * Returns batch number n of a workload: 100 samples of value 1, each with the batch's own time,
 * over stacks some of which are new in each batch.
 */
static inline Batch *
make_batch(int n)
{
	Batch *batch = NULL;
	char name[32];

	assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
	for (uint32_t i = 0; i < 100; i++)
	{
		uint32_t frames[3];
		BatchStack stack = { .depth = 3, .locations = frames };
		BatchSample sample = { .time_us = START_US + n, .value = 1 };

		snprintf(name, sizeof(name), "leaf_%u", i % 10 ? i : i + 1000 * (uint32_t) n);
		frames[0] = add_frame(batch, "/bin/x", name, 1000 + i);
		frames[1] = add_frame(batch, "/bin/x", "middle", 100 + i % 3);
		frames[2] = add_frame(batch, "/bin/x", "main", 1);
		stack.partition = i % 2 ? "abcd" : "ef01";
		snprintf(name, sizeof(name), "comm_%d", n % 7);
		sample.series = add_series(batch, name);
		assert_int_equal(batch_add_stack(batch, &stack, &sample.stack), 0);
		assert_int_equal(batch_add_sample(batch, &sample), 0);
	}
	assert_int_equal(batch_add_loss(batch, "test", 1), 0);
	assert_int_equal(batch_add_unwound(batch, &(BatchUnwound){ "/bin/x", 2, 1 }), 0);
	return batch;
}

/* Asserts that every batch of make_batch from 0 to count - 1 is stored once, with its losses. */
static inline void
assert_stored_once(const char *database, int count)
{
	char expected[64];

	snprintf(expected, sizeof(expected), "%d %d %d %d %d %d", count, count * 100, count * 100,
			 count, 2 * count, count);
	assert_string_equal(sql_in(database,
							   "SELECT format('%s %s %s %s %s %s', count(DISTINCT time), count(*),"
							   "   sum(value),"
							   "   (SELECT sum(count) FROM profstore.losses WHERE reason = 'test'),"
							   "   (SELECT sum(stacks) FROM profstore.unwind_counts),"
							   "   (SELECT sum(complete) FROM profstore.unwind_counts))"
							   " FROM profstore.samples"),
						expected);

	/* every stack leads to its leaf through both its callers */
	assert_string_equal(sql_in(database,
							   "SELECT count(*) FROM profstore.samples AS s"
							   " JOIN profstore.stacks AS leaf ON leaf.id = s.stack_id"
							   " JOIN profstore.stacks AS middle ON middle.id = leaf.parent"
							   " JOIN profstore.stacks AS root ON root.id = middle.parent"
							   " JOIN profstore.locations AS l ON l.id = root.location"
							   " JOIN profstore.functions AS f ON f.id = l.function_ids[1]"
							   " WHERE root.parent = 0 AND f.name = 'main'"),
						sql_in(database, "SELECT count(*) FROM profstore.samples"));
}

/* Waits until all submitted batches are stored. */
static inline WriterStats
drain_and_free(Writer *writer)
{
	WriterStats stats;

	assert_true(writer_drain(writer, DRAIN_MS));
	writer_stats(writer, &stats);
	writer_free(writer);
	return stats;
}

/* Waits until the writer has written or refused that many batches. */
static inline void
wait_until_done(Writer *writer, uint64_t batches)
{
	WriterStats stats;
	Failure failure;

	for (int i = 0; i < 600; i++)
	{
		writer_stats(writer, &stats);
		if (stats.batches_written + stats.batches_refused >= batches ||
			writer_failure(writer, &failure) != EXIT_OK)
			return;
		sleep_ms(100);
	}
	fail_msg("the writer did not come to an end");
}

/* Tries to connect without a password. Returns true if the server accepts it. */
static inline bool
can_connect_as(const char *role)
{
	const char *const keywords[] = { "dbname", "user", NULL };
	const char *const values[] = { "postgres", role, NULL };
	PGconn *connection = PQconnectdbParams(keywords, values, 0);
	bool connected = PQstatus(connection) == CONNECTION_OK;

	PQfinish(connection);
	return connected;
}

/* Makes the server require this role's password. */
static inline void
require_password(const PrivateServer *server, const char *role)
{
	char command[PATH_MAX + 128];

	snprintf(command, sizeof(command), "sed -i '1i local all %s scram-sha-256' '%s/pg_hba.conf'",
			 role, server->data);
	assert_int_equal(system(command), 0);
	sql_in("postgres", "SELECT pg_reload_conf()");
	while (can_connect_as(role))
		sleep_ms(10);
}

#endif
