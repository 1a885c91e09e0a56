/*
 * test_writer.c
 *		The writer with a real PostgreSQL: everything is stored exactly once, whatever happens in
 *		between.
 */
#include "writer_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"
#include "database/session.h"
#include "program/version.h"

#define KILLED_BATCHES 100

static PrivateServer server;

static void
test_stores_a_batch(void **state)
{
	Writer *writer;
	Batch *batch = NULL;
	uint32_t frames[2];
	BatchStack stack = { "abcd", 2, frames };
	BatchSample sample = { .time_us = START_US + 123456, .value = -5 };
	WriterStats stats;

	create_database("stores");
	writer = open_writer("dbname=stores", QUEUE_BYTES);
	assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
	frames[0] = add_frame(batch, "/bin/x", "leaf \"quoted\" \xc3\xa9", 0x10);
	frames[1] = add_frame(batch, "/bin/x", "root", UINT64_C(0xffffffff81000000));
	sample.series = add_series(batch, "a\"b\\c\n\xff");
	assert_int_equal(batch_add_stack(batch, &stack, &sample.stack), 0);
	assert_int_equal(batch_add_sample(batch, &sample), 0);
	assert_int_equal(batch_add_stack(batch, &(BatchStack){ "", 0, NULL }, &sample.stack), 0);
	sample.value = INT64_MAX;
	assert_int_equal(batch_add_sample(batch, &sample), 0);
	assert_int_equal(batch_add_loss(batch, "ring_full", 12), 0);
	writer_submit_newest(writer, batch);
	stats = drain_and_free(writer);
	assert_int_equal(stats.batches_written, 1);
	assert_int_equal(stats.samples_written, 2);
	assert_int_equal(stats.queued_bytes, 0);
	assert_int_equal(stats.retries, 0);

	assert_string_equal(
		sql_in("stores", "SELECT string_agg(format('%s %s %s', extract(epoch FROM s.time), s.value,"
						 "   s.stack_id <> 0), ', ' ORDER BY s.value) FROM profstore.samples AS s"),
		"1795219200.123456 -5 t, 1795219200.123456 9223372036854775807 f");
	assert_string_equal(
		sql_in("stores",
			   "SELECT format('%s:%s:%s:%s:%s:%s %s', t.name, t.sample_type, t.sample_unit,"
			   "   t.period_type, t.period_unit, t.delta, s.period)"
			   " FROM profstore.series AS s JOIN profstore.profile_types AS t"
			   "   ON t.id = s.profile_type"),
		"process_cpu:cpu:nanoseconds:cpu:nanoseconds:t 52631578");
	assert_string_equal(sql_in("stores", "SELECT labels->>'comm' FROM profstore.series"),
						"a\"b\\c\n\xEF\xBF\xBD");
	assert_string_equal(
		sql_in("stores", "SELECT string_agg(format('%s %s %s %s:%s:%s %s', m.build_id, m.file,"
						 "   to_hex(l.address), f.name, f.filename, f.start_line, l.lines),"
						 "   '; ' ORDER BY n.id DESC)"
						 " FROM profstore.stacks AS n"
						 " JOIN profstore.locations AS l ON l.id = n.location"
						 " JOIN profstore.mappings AS m ON m.id = l.mapping"
						 " JOIN profstore.functions AS f ON f.id = l.function_ids[1]"),
		"abcd /bin/x 10 leaf \"quoted\" \xc3\xa9:f.c:7 {17}; "
		"abcd /bin/x ffffffff81000000 root:f.c:7 {-2130706431}");
	assert_string_equal(sql_in("stores",
							   "SELECT string_agg(format('%s %s %s %s', extract(epoch FROM time),"
							   "   node, reason, count), ',') FROM profstore.losses"),
						"1795219200.123456 test-node ring_full 12");
	assert_string_equal(sql_in("stores",
							   "SELECT format('%s %s %s', name, health, last_error IS NULL)"
							   " FROM profstore.targets"),
						"test-node stopped t");
	assert_string_equal(sql_in("stores",
							   "SELECT count(*) * max(last_batch) FROM profstore.writers"),
						"1024");
}

static void
fill_report(void *context, Figures *figures)
{
	figures_add_counter(figures, "a_total", "A.", 7);
	figures_add(figures, (Figure){ "b_total", "B.", "counter", "reason", 8 });
	figures_add_gauge(figures, "c", "C.", *(uint64_t *) context);
}

static Writer *
open_reporter(const char *conninfo)
{
	static uint64_t value = 9;
	const WriterOptions options = { .conninfo = conninfo,
									.node = "test-node",
									.queue_bytes = QUEUE_BYTES,
									.report = { "test-node", "agent", fill_report, &value } };

	return start_writer(&options);
}

/* Reports are stored without a batch, and the last one states that the program ends. */
static void
test_reports(void **state)
{
	Writer *writer;

	create_database("reports");
	writer = open_reporter("dbname=reports");
	for (int i = 0; i < 600; i++)
	{
		if (strcmp(sql_in("reports", "SELECT count(*) FROM profstore.collectors"), "1") == 0)
			break;
		sleep_ms(100);
	}
	assert_string_equal(sql_in("reports", "SELECT format('%s %s %s %s', name, program, stopped,"
										  "   metrics) FROM profstore.collectors"),
						"test-node agent f {\"c\": 9, \"a_total\": 7}");
	assert_string_equal(sql_in("reports", "SELECT version FROM profstore.collectors"
										  " WHERE abs(extract(epoch FROM clock - reported)) < 60"
										  "   AND started <= clock"),
						collector_version());
	(void) drain_and_free(writer);
	assert_string_equal(sql_in("reports", "SELECT stopped FROM profstore.collectors"), "t");
}

/* An extension that does not support reports still stores batches. */
static void
test_reports_that_are_refused(void **state)
{
	Writer *writer;

	create_database("unreported");
	sql_in("unreported",
		   "ALTER EXTENSION profstore DROP FUNCTION profstore.report_collector(text, text, text,"
		   " timestamptz, timestamptz, bool, text[], int8[])");
	sql_in("unreported", "DROP FUNCTION profstore.report_collector");
	writer = open_reporter("dbname=unreported");
	for (int i = 0; i < 3; i++)
		writer_submit_newest(writer, make_batch(i));
	assert_int_equal(drain_and_free(writer).batches_written, 3);
	assert_stored_once("unreported", 3);
}

/* Runs a writer that stores a name and a loss, but no sample. */
static WriterStats
store_no_sample(const char *name, uint64_t address)
{
	Writer *writer = open_writer("dbname=seen", QUEUE_BYTES);
	Batch *batch;

	assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
	(void) add_frame(batch, "/bin/x", name, address);
	assert_int_equal(batch_add_loss(batch, "ring_full", 1), 0);
	writer_submit_newest(writer, batch);
	return drain_and_free(writer);
}

/*
 * A target is seen through its samples: losses or names that a writer stores do not show that it
 * samples.
 */
static void
last_seen_is_that_of_samples(void **state)
{
	Writer *writer;
	Batch *batch;
	BatchSample sample = { .time_us = START_US, .value = 1 };
	WriterStats stats;

	create_database("seen");
	writer = open_writer("dbname=seen", QUEUE_BYTES);
	assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
	sample.series = add_series(batch, "a");
	assert_int_equal(batch_add_stack(batch, &(BatchStack){ "", 0, NULL }, &sample.stack), 0);
	assert_int_equal(batch_add_sample(batch, &sample), 0);
	writer_submit_newest(writer, batch);
	stats = drain_and_free(writer);
	assert_int_equal(stats.newest_sample_us, START_US);
	sql_in("seen", "UPDATE profstore.targets SET health = 'up'");

	/*
	 * nor does a writer without samples report that the target has been stopped, because another
	 * may sample it
	 */
	stats = store_no_sample("late", 0x10);
	assert_int_equal(stats.batches_written, 1);
	assert_int_equal(stats.newest_sample_us, 0);
	assert_string_equal(
		sql_in("seen", "SELECT format('%s %s %s', health, extract(epoch FROM last_seen)::int8,"
					   "   (SELECT count(*) FROM profstore.locations))"
					   " FROM profstore.targets"),
		"up 1795219200 1");

	/* a target that was stopped, and returns without samples, is silent */
	sql_in("seen", "UPDATE profstore.targets SET health = 'stopped'");
	stats = store_no_sample("later", 0x20);
	assert_int_equal(stats.batches_written, 1);
	assert_string_equal(sql_in("seen", "SELECT health FROM profstore.targets"), "unknown");
}

/* Adds a frame of code without a file: its mapping is the runtime, its address 0. */
static uint32_t
add_code(Batch *batch, const char *name, int32_t line_number)
{
	BatchLine line = { .line = line_number };
	BatchLocation location = { .line_count = 1, .lines = &line };
	uint32_t index;

	assert_int_equal(batch_add_mapping(batch, &(BatchMapping){ "", "[python]" }, &location.mapping),
					 0);
	assert_int_equal(batch_add_function(batch, &(BatchFunction){ name, name, "/app/view.py", 10 },
										&line.function),
					 0);
	assert_int_equal(batch_add_location(batch, &location, &index), 0);
	return index;
}

/*
 * Samples of two kinds on one stack are two profile types of one batch. Frames without an address
 * are distinguished by function and line, and recognized later.
 */
static void
test_kinds_and_code(void **state)
{
	static const char *const types[] = { PROFILE_TYPE,
										 "wallclock:wall:nanoseconds:wall:nanoseconds:delta" };
	BatchLabel labels[] = { { "node", "test-node" } };
	Writer *writer;

	create_database("kinds");
	for (int round = 0; round < 2; round++)
	{
		Batch *batch = NULL;
		uint32_t frames[3];
		BatchStack stack = { "abcd", 3, frames };
		BatchSample sample = { .time_us = START_US + round };

		assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
		frames[0] = add_code(batch, "render", 12);
		frames[1] = add_code(batch, "render", 15);
		frames[2] = add_code(batch, "serve", 40);
		assert_int_equal(batch_add_stack(batch, &stack, &sample.stack), 0);
		for (int i = 0; i < 2; i++)
		{
			BatchSeries series = { types[i], 1, labels, 1000 };

			assert_int_equal(batch_add_series(batch, &series, &sample.series), 0);
			sample.value = i == 0 ? 7 : INT64_C(1) << 40;
			assert_int_equal(batch_add_sample(batch, &sample), 0);
		}
		writer = open_writer("dbname=kinds", QUEUE_BYTES); /* a new writer, which knows no ids */
		writer_submit_newest(writer, batch);
		(void) drain_and_free(writer);
	}
	assert_string_equal(sql_in("kinds", "SELECT count(*)::text FROM profstore.locations"), "3");
	assert_string_equal(sql_in("kinds",
							   "SELECT string_agg(format('%s %s', profile_type, unit), ', '"
							   " ORDER BY profile_type) FROM profstore.profile_types()"),
						"process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta nanoseconds, "
						"wallclock:wall:nanoseconds:wall:nanoseconds:delta nanoseconds");
	assert_string_equal(
		sql_in("kinds",
			   "SELECT string_agg(format('%s %s %s', stack, value / (1::bigint << 40),"
			   "   value), ', ')"
			   " FROM profstore.stacks_of('wallclock:wall:nanoseconds:wall:nanoseconds:delta',"
			   "   '-infinity', 'infinity')"),
		"{serve,render,render} 2 2199023255552");
	assert_string_equal(
		sql_in("kinds",
			   "SELECT string_agg(format('%s %s %s', line, self, total), ', ' ORDER BY line)"
			   " FROM profstore.source('" PROFILE_TYPE "', '-infinity', 'infinity',"
			   "   '/app/view.py')"),
		"12 14 14, 15 0 14, 40 0 14");
	assert_string_equal(sql_in("kinds",
							   "SELECT string_agg(format('%s %s %s', function, file, mapping), ', '"
							   "   ORDER BY function)"
							   " FROM profstore.top('" PROFILE_TYPE "', '-infinity', 'infinity')"),
						"render /app/view.py [python], serve /app/view.py [python]");
}

/* Content that is stored twice adds no row anywhere; another writer finds equal ids. */
static void
test_interns_once(void **state)
{
	Writer *writer;
	char counts[2][64];

	create_database("interns");
	for (int i = 0; i < 2; i++)
	{
		writer = open_writer("dbname=interns", QUEUE_BYTES);
		for (int j = 0; j < 3; j++)
			writer_submit_newest(writer, make_batch(j * 7));
		assert_true(writer_drain(writer, DRAIN_MS));
		writer_free(writer);
		snprintf(counts[i], sizeof(counts[i]), "%s",
				 sql_in("interns", "SELECT format('%s %s %s %s %s',"
								   "   (SELECT count(*) FROM profstore.series),"
								   "   (SELECT count(*) FROM profstore.mappings),"
								   "   (SELECT count(*) FROM profstore.functions),"
								   "   (SELECT count(*) FROM profstore.locations),"
								   "   (SELECT count(*) FROM profstore.stacks))"));
	}
	/*
	 * leaves: 90 that recur, 10 for each of 3 batches; in two partitions 3 times middle, and main
	 */
	assert_string_equal(counts[0], "1 1 122 124 128");
	assert_string_equal(counts[1], counts[0]);
	assert_string_equal(sql_in("interns", "SELECT count(*) FROM profstore.writers"), "2");
}

/* Returns a batch with one sample, whose stack is at one address and has these lines. */
static Batch *
make_answer(BatchFunction *functions, const int32_t *lines, uint32_t line_count)
{
	BatchLine batch_lines[2];
	BatchLocation location = { .address = 4096, .line_count = line_count, .lines = batch_lines };
	BatchStack stack = { .partition = "abcd", .depth = 1 };
	BatchSample sample = { .time_us = START_US, .value = 1 };
	Batch *batch = NULL;
	uint32_t frame;

	assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
	assert_int_equal(batch_add_mapping(batch, &(BatchMapping){ "abcd", "/bin/x" },
									   &location.mapping),
					 0);
	for (uint32_t i = 0; i < line_count; i++)
	{
		assert_int_equal(batch_add_function(batch, &functions[i], &batch_lines[i].function), 0);
		batch_lines[i].line = lines[i];
	}
	assert_int_equal(batch_add_location(batch, &location, &frame), 0);
	stack.locations = &frame;
	sample.series = add_series(batch, "answers");
	assert_int_equal(batch_add_stack(batch, &stack, &sample.stack), 0);
	assert_int_equal(batch_add_sample(batch, &sample), 0);
	return batch;
}

/*
 * Two writers know one address without symbols, by a symbol table and by DWARF: there is one
 * location, one stack, and the best lines, in whatever order they are stored.
 */
static void
test_better_answers(void **state)
{
	BatchFunction symbol[] = { { "f", "f", "", 0 } };
	BatchFunction source[] = { { "inlined", "inlined", "f.c", 1 }, { "f", "f", "f.c", 7 } };
	Writer *first;
	Writer *second;

	create_database("answers");
	first = open_writer("dbname=answers", QUEUE_BYTES);
	second = open_writer("dbname=answers", QUEUE_BYTES);
	writer_submit_newest(first, make_answer(symbol, (int32_t[]){ 0 }, 0));
	wait_until_done(first, 1);
	writer_submit_newest(second, make_answer(symbol, (int32_t[]){ 0 }, 1));
	wait_until_done(second, 1);
	writer_submit_newest(first, make_answer(source, (int32_t[]){ 3, 9 }, 2));
	wait_until_done(first, 2);
	for (uint32_t i = 0; i < 2; i++)
		writer_submit_newest(second, make_answer(symbol, (int32_t[]){ 0 }, i));
	drain_and_free(first);
	drain_and_free(second);
	assert_string_equal(
		sql_in("answers", "SELECT format('%s %s %s %s', string_agg(f.name || ':' || u.line, ' '"
						  "   ORDER BY u.ord), (SELECT count(*) FROM profstore.locations),"
						  "   (SELECT count(*) FROM profstore.stacks),"
						  "   (SELECT count(DISTINCT stack_id) || ' ' || sum(value)"
						  "    FROM profstore.samples))"
						  " FROM profstore.locations AS l, unnest(l.function_ids, l.lines)"
						  "   WITH ORDINALITY AS u(id, line, ord)"
						  " JOIN profstore.functions AS f USING (id)"),
		"inlined:3 f:9 1 1 1 5");
}

/*
 * Ends the writer's backend again and again, each time at a moment drawn from a seed after some
 * progress.
 */
typedef struct Killer
{
	Writer *writer;
	unsigned int seed;
	atomic_int kills;
	atomic_bool stop;
} Killer;

static void *
kill_backends(void *arg)
{
	Killer *killer = arg;
	PGconn *connection = server_connect("postgres");
	uint64_t seen = 0;
	WriterStats stats;

	while (!killer->stop)
	{
		writer_stats(killer->writer, &stats);
		if (stats.batches_written > seen)
		{
			sleep_ms(rand_r(&killer->seed) % 40);
			killer->kills +=
				atoi(sql_on(connection, "SELECT count(pg_terminate_backend(pid))"
										" FROM pg_stat_activity WHERE datname = 'kills'"
										" AND application_name = 'profstore-collector'"));
			seen = stats.batches_written + 1;
		}
		sleep_ms(1);
	}
	PQfinish(connection);
	return NULL;
}

static void
test_exactly_once_when_backends_end(void **state)
{
	Killer killer = { .seed = 7 };
	int batches = 0;
	pthread_t thread;
	Writer *writer;
	WriterStats stats;

	create_database("kills");
	writer = open_writer("dbname=kills", QUEUE_BYTES);
	killer.writer = writer;
	assert_int_equal(pthread_create(&thread, NULL, kill_backends, &killer), 0);
	do
	{
		for (int i = 0; i < KILLED_BATCHES; i++)
			writer_submit_newest(writer, make_batch(batches++));
		do
		{
			sleep_ms(10);
			writer_stats(writer, &stats);
		} while (stats.queued_bytes > 0);
	} while ((killer.kills < 10 || stats.retries < 5) && batches < 50 * KILLED_BATCHES);
	killer.stop = true;
	pthread_join(thread, NULL);
	stats = drain_and_free(writer);
	print_message("# %d backends ended, %d retries\n", killer.kills, (int) stats.retries);
	assert_true(killer.kills >= 10);
	assert_true(stats.retries >= 5);
	assert_int_equal(stats.batches_written, batches);
	assert_stored_once("kills", batches);
}

/*
 * Waits until commits wait for the missing standby, which is so once the checkpointer has read the
 * setting.
 */
static void
wait_until_commits_wait(PGconn *connection)
{
	PGconn *probe = server_connect("postgres");
	char sql[256];

	snprintf(sql, sizeof(sql),
			 "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
			 " WHERE wait_event = 'SyncRep' AND pid = %d",
			 PQbackendPID(probe));
	do
	{
		PGresult *result;

		assert_true(PQconsumeInput(probe));
		if (!PQisBusy(probe))
		{
			while ((result = PQgetResult(probe)) != NULL)
				PQclear(result);
			assert_true(PQsendQuery(probe, "SELECT pg_logical_emit_message(true, 'probe', '')"));
		}
		sleep_ms(10);
	} while (strcmp(sql_on(connection, sql), "0") == 0);
	PQfinish(probe);
}

/*
 * The worst moment: the server has committed and the connection ends before it reports that. A
 * commit that waits for a synchronous standby is in that state: it is done, and its session can be
 * ended.
 */
static void
test_commit_without_an_answer(void **state)
{
	PGconn *connection;
	Writer *writer;
	WriterStats stats;
	int ended = 0;

	create_database("unsure");
	writer = open_writer("dbname=unsure", QUEUE_BYTES);
	connection = server_connect("unsure");
	sql_on(connection, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
	sql_on(connection, "SELECT pg_reload_conf()");
	wait_until_commits_wait(connection);
	writer_submit_newest(writer, make_batch(0));
	for (int i = 0;
		 i < 1200 && strcmp(sql_on(connection, "SELECT count(*) FROM profstore.samples"), "100");
		 i++)
	{
		ended +=
			atoi(sql_on(connection, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
									" WHERE wait_event = 'SyncRep' AND datname = 'unsure'"
									" AND application_name = 'profstore-collector'"));
		sleep_ms(50);
	}
	sql_on(connection, "ALTER SYSTEM RESET synchronous_standby_names");
	sql_on(connection, "SELECT pg_reload_conf()");
	PQfinish(connection);
	stats = drain_and_free(writer);
	assert_true(ended >= 2); /* one for interning and one for samples */
	assert_true(stats.retries >= 2);
	assert_int_equal(stats.batches_written, 1);
	assert_stored_once("unsure", 1);
}

/* The server ends as in a crash, and recovers. */
static void
test_crash_of_the_server(void **state)
{
	Writer *writer;

	create_database("crashes");
	writer = open_writer("dbname=crashes", QUEUE_BYTES);
	for (int i = 0; i < 30; i++)
	{
		writer_submit_newest(writer, make_batch(i));
		if (i % 10 == 5)
		{
			sleep_ms(5 + i);
			assert_int_equal(kill(server_pid(&server), SIGQUIT), 0);
			while (server_has_pid_file(&server)) /* the file is removed last */
				sleep_ms(10);
			assert_int_equal(server_control(&server, "start", NULL), 0);
		}
	}
	assert_true(writer_drain(writer, DRAIN_MS));
	writer_free(writer);
	assert_stored_once("crashes", 30);
}

/*
 * While the server is stopped the queue stays within its budget; dropped batches are reported
 * later.
 */
static void
test_queue_overflow(void **state)
{
	Writer *writer;
	WriterStats stats;
	char expected[64];
	int submitted = 0;

	create_database("overflow");
	writer = open_writer("dbname=overflow", 1 << 20);
	assert_int_equal(server_control(&server, "stop", NULL), 0);
	do
	{
		writer_submit_newest(writer, make_batch(submitted++));
		writer_stats(writer, &stats);
		assert_true(stats.queued_bytes <= 1 << 20);
	} while (stats.batches_dropped < 5);
	assert_int_equal(stats.samples_dropped, 500);
	assert_int_equal(server_control(&server, "start", NULL), 0);
	stats = drain_and_free(writer);
	assert_int_equal(stats.batches_dropped, 5);
	assert_int_equal(stats.batches_written, submitted - 5);
	assert_true(stats.retries > 0);

	snprintf(expected, sizeof(expected), "%d %d 500", (submitted - 5) * 100, submitted);
	assert_string_equal(sql_in("overflow",
							   "SELECT format('%s %s %s', (SELECT count(*) FROM profstore.samples),"
							   "   (SELECT sum(count) FROM profstore.losses WHERE reason = 'test'),"
							   "   (SELECT sum(count) FROM profstore.losses"
							   "    WHERE reason = 'writer_queue_full'))"),
						expected);
}

static void
test_drain_keeps_its_deadline(void **state)
{
	Writer *writer;
	WriterStats stats;
	struct timespec before;
	struct timespec after;

	create_database("deadline");
	writer = open_writer("dbname=deadline", QUEUE_BYTES);
	assert_int_equal(server_control(&server, "stop", NULL), 0);
	writer_submit_newest(writer, make_batch(0));
	writer_submit_newest(writer, make_batch(1));
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_false(writer_drain(writer, 500));
	clock_gettime(CLOCK_MONOTONIC, &after);
	/* without a deadline the writer would wait for ever */
	assert_in_range(after.tv_sec - before.tv_sec, 0, DRAIN_MS / 2000);
	writer_stats(writer, &stats);
	assert_int_equal(stats.batches_dropped, 2);
	assert_int_equal(stats.samples_dropped, 200);
	writer_free(writer);
	assert_int_equal(server_control(&server, "start", NULL), 0);
}

/* A server that keeps the connection but does not answer must not delay the writer's end. */
static void
test_drain_from_a_stalled_server(void **state)
{
	PGconn *locker;
	Writer *writer;

	create_database("stalls");
	writer = open_writer("dbname=stalls", QUEUE_BYTES);
	locker = server_connect("stalls");
	sql_on(locker, "BEGIN; LOCK TABLE profstore.losses IN ACCESS EXCLUSIVE MODE");
	writer_submit_newest(writer, make_batch(0));
	assert_false(writer_drain(writer, 300));
	writer_free(writer);
	PQfinish(locker);
}

/* Ids that the writer remembers must not outlive the rows that they name. */
static void
test_epoch_makes_ids_void(void **state)
{
	Writer *writer;
	WriterStats stats;

	create_database("epochs");
	writer = open_writer("dbname=epochs", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);
	sql_in(
		"epochs",
		"BEGIN; TRUNCATE profstore.samples; DELETE FROM profstore.series; DELETE FROM profstore.mappings;"
		" DELETE FROM profstore.functions; DELETE FROM profstore.locations;"
		" DELETE FROM profstore.stack_chunks; TRUNCATE profstore.losses, profstore.unwind_counts;"
		" SELECT profstore.bump_epoch(); COMMIT");
	writer_submit_newest(writer, make_batch(0));
	stats = drain_and_free(writer);
	assert_int_equal(stats.batches_written, 2);
	assert_int_equal(stats.retries, 1);
	assert_stored_once("epochs", 1);
	assert_string_equal(sql_in("epochs", "SELECT count(*) FROM profstore.samples AS s"
										 " JOIN profstore.series AS k ON k.id = s.series_id"),
						"100");
}

/* The writer knows half of the next batch, by ids that were collected meanwhile. */
static void
test_collected_ids_are_interned_again(void **state)
{
	Writer *writer;
	WriterStats stats;

	create_database("collected");
	writer = open_writer("dbname=collected", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);
	sql_in("collected", "TRUNCATE profstore.samples");
	for (int i = 0; i < 5; i++)
		sql_in("collected", "SELECT count(*) FROM profstore.collect_dictionary('0')");
	assert_string_equal(sql_in("collected", "SELECT (SELECT count(*) FROM profstore.stack_chunks)"
											" + (SELECT count(*) FROM profstore.locations)"
											" + (SELECT count(*) FROM profstore.functions)"),
						"0");
	writer_submit_newest(writer, make_batch(1));
	stats = drain_and_free(writer);
	assert_int_equal(stats.batches_written, 2);
	assert_int_equal(stats.retries, 1);
	assert_string_equal(sql_in("collected",
							   "SELECT count(*) FROM profstore.samples AS s"
							   " JOIN profstore.stacks AS n ON n.id = s.stack_id"
							   " JOIN profstore.locations AS l ON l.id = n.location"
							   " JOIN profstore.functions AS f ON f.id = l.function_ids[1]"
							   " JOIN profstore.series AS k ON k.id = s.series_id"),
						"100");
}

/* Drops and creates the extension again while the writer's connection is open. */
static void
test_extension_made_anew(void **state)
{
	Writer *writer;
	WriterStats stats;

	create_database("anew");
	writer = open_writer("dbname=anew", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);
	sleep_ms(1100); /* the epoch of a new extension is the second of its creation */
	sql_in("anew",
		   "BEGIN; DROP EXTENSION profstore CASCADE; DROP SCHEMA IF EXISTS profstore CASCADE;"
		   " CREATE EXTENSION profstore; COMMIT");
	writer_submit_newest(writer, make_batch(0));
	writer_submit_newest(writer, make_batch(1));
	stats = drain_and_free(writer);
	assert_int_equal(stats.batches_written, 3);
	assert_stored_once("anew", 2);
}

/* A partition that was dropped after the writer had seen it is created again. */
static void
test_partition_dropped(void **state)
{
	Writer *writer;

	create_database("dropped");
	writer = open_writer("dbname=dropped", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);
	sql_in(
		"dropped",
		"DROP TABLE profstore.samples_20261121; TRUNCATE profstore.losses, profstore.unwind_counts");
	writer_submit_newest(writer, make_batch(1));
	assert_true(writer_drain(writer, DRAIN_MS));
	writer_free(writer);
	assert_stored_once("dropped", 1);
}

/* A batch that the server refuses must not delay the following ones. */
static void
test_refused_batch(void **state)
{
	BatchLabel label = { "not-a-label-name", "x" };
	BatchSeries series = { PROFILE_TYPE, 1, &label, 1 };
	BatchSample sample = { .time_us = START_US, .value = 1 };
	Batch *batch = NULL;
	Writer *writer;
	WriterStats stats;

	create_database("refuses");
	writer = open_writer("dbname=refuses", QUEUE_BYTES);
	assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
	assert_int_equal(batch_add_series(batch, &series, &sample.series), 0);
	assert_int_equal(batch_add_stack(batch, &(BatchStack){ "", 0, NULL }, &sample.stack), 0);
	assert_int_equal(batch_add_sample(batch, &sample), 0);
	assert_int_equal(batch_add_loss(batch, "ring_full", 3), 0);
	writer_submit_newest(writer, batch);
	writer_submit_newest(writer, make_batch(0));
	stats = drain_and_free(writer);
	assert_int_equal(stats.batches_refused, 1);
	assert_int_equal(stats.samples_refused, 1);
	assert_int_equal(stats.batches_written, 1);
	assert_stored_once("refuses", 1);
	assert_string_equal(sql_in("refuses", "SELECT string_agg(reason || count, ' ' ORDER BY reason)"
										  " FROM profstore.losses"),
						"database_refused1 ring_full3 test1");
}

/*
 * Citus refuses COPY with a condition. random(), the condition's function, raises an error with the
 * code of Citus's: the batch is stored by a COPY without a condition. If Citus is there from the
 * beginning, no COPY has a condition.
 */
static void
test_copy_for_citus(void **state)
{
	static const char refusal[] =
		"ALTER FUNCTION pg_catalog.random() RENAME TO former_random;"
		" CREATE FUNCTION pg_catalog.random() RETURNS float8 LANGUAGE plpgsql VOLATILE AS"
		" 'BEGIN RAISE internal_error USING MESSAGE = ''no COPY with WHERE''; END'";
	static const char catalog[] =
		"SET allow_system_table_mods = on; CREATE TABLE pg_catalog.pg_dist_partition"
		" (logicalrelid regclass)";
	Writer *writer;
	WriterStats stats;

	create_database("citus");
	for (int i = 0; i < 2; i++)
	{
		sql_in("citus", i == 0 ? refusal : catalog);
		writer = open_writer("dbname=citus", QUEUE_BYTES);
		writer_submit_newest(writer, make_batch(i));
		stats = drain_and_free(writer);
		assert_int_equal(stats.batches_written, 1);
		assert_int_equal(stats.batches_refused, 0);
		assert_int_equal(stats.retries, i == 0 ? 1 : 0);
	}
	assert_stored_once("citus", 2);
}

/*
 * A batch that is refused for another reason leaves the condition. random() is called for each of a
 * batch's 100 rows, for the row that has no partition, and for each row of the second try.
 */
static void
test_copy_after_refusal(void **state)
{
	Writer *writer;

	create_database("conditional");
	sql_in("conditional",
		   "ALTER FUNCTION pg_catalog.random() RENAME TO former_random; CREATE SEQUENCE calls;"
		   " CREATE FUNCTION pg_catalog.random() RETURNS float8 VOLATILE"
		   " RETURN nextval('public.calls')::float8");
	writer = open_writer("dbname=conditional", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);
	sql_in("conditional", "DROP TABLE profstore.samples_20261121; TRUNCATE profstore.losses,"
						  " profstore.unwind_counts");
	writer_submit_newest(writer, make_batch(1));
	assert_int_equal(drain_and_free(writer).retries, 1);
	assert_stored_once("conditional", 1);
	assert_string_equal(sql_in("conditional", "SELECT last_value FROM calls"), "201");
}

/* A time that no partition can hold is refused, without endless attempts. */
static void
test_absurd_time(void **state)
{
	const int64_t times[] = { INT64_MIN, INT64_MAX, -1 };
	Writer *writer;
	WriterStats stats;

	create_database("absurd");
	writer = open_writer("dbname=absurd", QUEUE_BYTES);
	for (int i = 0; i < 3; i++)
	{
		BatchSample sample = { .time_us = times[i], .value = 1 };
		Batch *batch = NULL;

		assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
		sample.series = add_series(batch, "x");
		assert_int_equal(batch_add_stack(batch, &(BatchStack){ "", 0, NULL }, &sample.stack), 0);
		assert_int_equal(batch_add_sample(batch, &sample), 0);
		writer_submit_newest(writer, batch);
	}
	stats = drain_and_free(writer);
	assert_int_equal(stats.batches_refused + stats.batches_written, 3);
	assert_true(stats.batches_refused >= 2);
}

static int
setup_server(void **state)
{
	server_start(&server, "writer-test");
	return 0;
}

static int
stop_server(void **state)
{
	return server_control(&server, "purge", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stores_a_batch),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_reports_that_are_refused),
		cmocka_unit_test(last_seen_is_that_of_samples),
		cmocka_unit_test(test_kinds_and_code),
		cmocka_unit_test(test_interns_once),
		cmocka_unit_test(test_better_answers),
		cmocka_unit_test(test_exactly_once_when_backends_end),
		cmocka_unit_test(test_commit_without_an_answer),
		cmocka_unit_test(test_crash_of_the_server),
		cmocka_unit_test(test_queue_overflow),
		cmocka_unit_test(test_drain_keeps_its_deadline),
		cmocka_unit_test(test_drain_from_a_stalled_server),
		cmocka_unit_test(test_epoch_makes_ids_void),
		cmocka_unit_test(test_collected_ids_are_interned_again),
		cmocka_unit_test(test_extension_made_anew),
		cmocka_unit_test(test_partition_dropped),
		cmocka_unit_test(test_refused_batch),
		cmocka_unit_test(test_copy_for_citus),
		cmocka_unit_test(test_copy_after_refusal),
		cmocka_unit_test(test_absurd_time),
	};

	return cmocka_run_group_tests(tests, setup_server, stop_server);
}
