/*
 * test_writer_states.c
 *		The writer when the database is unavailable, refuses, or was replaced; and the results that
 *		a submitter gets.
 */
#include "writer_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "database/session.h"

#define ENDS_MAX 64

static PrivateServer server;

/* Waits until that many attempts have failed, without the pauses between them. */
static void
wait_for_retries(Writer *writer, const char *conninfo, uint64_t retries)
{
	WriterStats stats;
	Failure failure;

	for (int i = 0; i < 6000; i++)
	{
		writer_stats(writer, &stats);
		if (stats.retries >= retries)
			return;
		assert_int_equal(writer_failure(writer, &failure), EXIT_OK);
		assert_int_equal(writer_reload(writer, conninfo, QUEUE_BYTES, &failure), EXIT_OK);
		sleep_ms(10);
	}
	fail_msg("the writer tried %d times", (int) stats.retries);
}

/* Waits until the writer has this state of the database. */
static void
wait_for_state(Writer *writer, RetryState state)
{
	WriterStats stats;

	for (int i = 0; i < 6000; i++)
	{
		writer_stats(writer, &stats);
		if (stats.state == state)
			return;
		sleep_ms(10);
	}
	fail_msg("the writer came to state %d", (int) stats.state);
}

static void
assert_nothing_given_up(Writer *writer, const char *database, int batches)
{
	WriterStats stats = drain_and_free(writer);

	assert_int_equal(stats.batches_refused, 0);
	assert_int_equal(stats.batches_dropped, 0);
	assert_int_equal(stats.batches_written, batches);
	assert_stored_once(database, batches);
}

/* --- away --- */

/* Samples wait for a server that starts later, and are stored there together. */
static void
test_starts_without_a_server(void **state)
{
	Writer *writer;
	WriterStats stats;

	create_database("later");
	assert_int_equal(server_control(&server, "stop", NULL), 0);
	writer = open_writer("dbname=later", QUEUE_BYTES);
	for (int i = 0; i < 20; i++)
		writer_submit_newest(writer, make_batch(i));
	wait_for_state(writer, RETRY_AWAY);
	assert_int_equal(server_control(&server, "start", NULL), 0);
	wait_until_done(writer, 20);
	writer_stats(writer, &stats);
	assert_int_equal(stats.away_count, 1);
	assert_int_equal(stats.transactions, 1);
	assert_nothing_given_up(writer, "later", 20);
}

/* A drain does not wait for batches that are submitted after it began. */
static void
test_ends_without_a_server(void **state)
{
	Writer *writer = open_writer("host=/nonexistent", QUEUE_BYTES);
	WriterStats stats;

	wait_for_state(writer, RETRY_AWAY);
	assert_true(writer_drain(writer, DRAIN_MS)); /* nothing was queued */
	writer_free(writer);

	writer = open_writer("host=/nonexistent", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	assert_false(writer_drain(writer, 100));
	writer_stats(writer, &stats);
	assert_int_equal(stats.batches_dropped, 1);
	writer_free(writer);
}

/* A user, or the statement timeout, cancels one statement after the other. */
static void
test_cancelled_statements(void **state)
{
	PGconn *locker;
	Writer *writer;
	WriterStats stats;

	create_database("cancels");
	writer = open_writer("dbname=cancels", QUEUE_BYTES);
	locker = server_connect("cancels");
	sql_on(locker, "BEGIN; LOCK TABLE profstore.losses IN ACCESS EXCLUSIVE MODE");
	writer_submit_newest(writer, make_batch(0));
	do
	{
		/* pg_stat_activity is constant within a transaction, so the locker cannot use it */
		sql_in("postgres", "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE"
						   " datname = 'cancels' AND application_name = 'profstore-collector'"
						   " AND wait_event_type = 'Lock'");
		sleep_ms(10);
		writer_stats(writer, &stats);
		assert_int_equal(stats.batches_refused, 0);
	} while (stats.retries < 4);
	sql_on(locker, "ROLLBACK");
	PQfinish(locker);
	assert_nothing_given_up(writer, "cancels", 1);
}

/* A temporary error never costs a batch, however often it occurs. */
static void
test_transient_errors(void **state)
{
	static const char fail_each_time[] =
		"CREATE SEQUENCE public.attempts; GRANT USAGE ON SEQUENCE public.attempts TO PUBLIC;"
		"CREATE OR REPLACE FUNCTION profstore.touch_each_series(series_ids int4[],"
		"   first_times timestamptz[], last_times timestamptz[]) RETURNS void LANGUAGE plpgsql AS $$"
		"DECLARE"
		"   states text[] := '{08000,08006,25006,25P03,40001,40P01,53000,53100,53200,53300,55006,"
		"                      55P03,57014,57P01,57P02,57P03,57P05,58000,58030}';"
		"   state text := states[(nextval('public.attempts') - 1) / 4 + 1];"
		"BEGIN"
		"   IF state IS NOT NULL THEN RAISE EXCEPTION 'injected' USING ERRCODE = state; END IF;"
		"END $$";
	Writer *writer;

	create_database("transient");
	sql_in("transient", fail_each_time);
	writer = open_writer("dbname=transient", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	wait_for_retries(writer, "dbname=transient", 19 * 4);
	assert_nothing_given_up(writer, "transient", 1);
}

/* --- denied --- */

/*
 * An error that a user must correct: the queue is kept until then, and its batches are stored
 * afterwards.
 */
static void
assert_outlasts(const char *database, const char *conninfo, const char *breaks, const char *repairs)
{
	Writer *writer = open_writer(conninfo, QUEUE_BYTES);
	Failure failure;
	WriterStats stats;

	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);
	sql_in("postgres", breaks);
	writer_submit_newest(writer, make_batch(1));
	wait_for_state(writer, RETRY_DENIED);
	writer_stats(writer, &stats);
	wait_for_retries(writer, conninfo, stats.retries + 4);
	writer_submit_newest(writer, make_batch(2));
	sql_in("postgres", repairs);
	assert_int_equal(writer_reload(writer, conninfo, QUEUE_BYTES, &failure), EXIT_OK);
	wait_until_done(writer, 3);
	writer_stats(writer, &stats);
	assert_true(stats.denied_count >= 1);
	assert_nothing_given_up(writer, database, 3);
}

#define END_BACKENDS(role)                                                                          \
	"; SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE usename = '" role \
	"'"

static void
test_password_rotated(void **state)
{
	create_database("rotated");
	sql_in("postgres", "DROP ROLE IF EXISTS test_rotated");
	sql_in("rotated", "CREATE ROLE test_rotated LOGIN PASSWORD 'old';"
					  " SELECT profstore.grant_write('test_rotated')");
	require_password(&server, "test_rotated");
	assert_outlasts("rotated", "dbname=rotated user=test_rotated password=old",
					"ALTER ROLE test_rotated PASSWORD 'new'" END_BACKENDS("test_rotated"),
					"ALTER ROLE test_rotated PASSWORD 'old'");
}

static void
test_role_broken(void **state)
{
	create_database("broken");
	sql_in("postgres", "DROP ROLE IF EXISTS test_broken; CREATE ROLE test_broken LOGIN");
	sql_in("broken", "SELECT profstore.grant_write('test_broken')");
	assert_outlasts("broken", "dbname=broken user=test_broken",
					"ALTER ROLE test_broken NOLOGIN" END_BACKENDS("test_broken"),
					"ALTER ROLE test_broken LOGIN");
}

static void
test_database_renamed(void **state)
{
	create_database("renamed");
	sql_in("postgres", "CREATE ROLE test_renaming LOGIN");
	sql_in("renamed", "SELECT profstore.grant_write('test_renaming')");
	assert_outlasts(
		"renamed", "dbname=renamed user=test_renaming",
		"ALTER DATABASE renamed ALLOW_CONNECTIONS false" END_BACKENDS(
			"test_renaming") "; ALTER DATABASE renamed RENAME TO other; ALTER DATABASE other ALLOW_CONNECTIONS true",
		"ALTER DATABASE other RENAME TO renamed");
}

static void
test_privileges_revoked(void **state)
{
	Writer *writer;

	create_database("revoked");
	sql_in("postgres", "DROP ROLE IF EXISTS test_revoked; CREATE ROLE test_revoked LOGIN");
	sql_in("revoked", "SELECT profstore.grant_write('test_revoked')");
	writer = open_writer("dbname=revoked user=test_revoked", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);
	sql_in("revoked", "REVOKE INSERT ON profstore.samples FROM test_revoked");
	writer_submit_newest(writer, make_batch(1));
	wait_for_state(writer, RETRY_DENIED);
	sql_in("revoked", "SELECT profstore.grant_write('test_revoked')");
	wait_until_done(writer, 2);
	assert_nothing_given_up(writer, "revoked", 2);
}

/* A user who has just started the program gets the error at once, not after minutes. */
static void
test_denied_at_the_start(void **state)
{
	Writer *writer = open_writer("dbname=nowhere", QUEUE_BYTES);
	Failure failure;
	WriterStats stats;

	wait_for_state(writer, RETRY_ENDED);
	while (writer_failure(writer, &failure) == EXIT_OK)
		sleep_ms(1);
	assert_int_equal(failure.code, EXIT_DATABASE);
	assert_non_null(strstr(failure.detail, "database \"nowhere\" does not exist"));
	writer_stats(writer, &stats);
	assert_int_equal(stats.retries, 0);
	writer_free(writer);
}

/* --- the log --- */

static int
count_lines(const char *path, const char *words)
{
	char line[8192];
	FILE *file = fopen(path, "re");
	int count = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, words) != NULL;
	fclose(file);
	return count;
}

/*
 * A state is reported when it begins and when it ends, regardless of attempts in between. The error
 * is one that no number of attempts resolves (a batch is dropped after ten timeouts).
 */
static void
test_states_are_told_once(void **state)
{
	char path[] = "/tmp/writer-log-XXXXXX";
	int before = dup(STDERR_FILENO);
	int log = mkstemp(path);
	Writer *writer;

	create_database("told");
	sql_in("told", "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS"
				   " 'BEGIN RAISE EXCEPTION ''injected'' USING ERRCODE = ''53100''; END';"
				   "CREATE TRIGGER fail BEFORE INSERT ON profstore.losses"
				   " FOR EACH STATEMENT EXECUTE FUNCTION public.fail()");
	dup2(log, STDERR_FILENO);
	writer = open_writer("dbname=told", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	wait_for_retries(writer, "dbname=told", 8);
	sql_in("told", "DROP TRIGGER fail ON profstore.losses");
	drain_and_free(writer);
	dup2(before, STDERR_FILENO);
	close(before);
	close(log);
	assert_int_equal(count_lines(path, "msg=\"database is not available; batches stay queued\""),
					 1);
	assert_int_equal(count_lines(path, "sqlstate=53100"), 1);
	assert_int_equal(count_lines(path, "msg=\"database is available again\""), 1);
	assert_int_equal(count_lines(path, "msg=connected host="), 1);
	assert_int_equal(count_lines(path, " database=told role="), 1);
	unlink(path);
}

/* --- numbers, callbacks, back-pressure --- */

typedef struct Ends
{
	atomic_int count;
	uint64_t numbers[ENDS_MAX];
	BatchEnd ends[ENDS_MAX];
	char sqlstates[ENDS_MAX][6];
} Ends;

static void
take_end(void *context, const BatchResult *result)
{
	Ends *ends = context;
	int at = ends->count;

	assert_true(at < ENDS_MAX);
	assert_non_null(result->batch);
	ends->numbers[at] = result->number;
	ends->ends[at] = result->end;
	snprintf(ends->sqlstates[at], sizeof(ends->sqlstates[at]), "%s", result->sqlstate);
	ends->count++;
}

static Batch *
make_poisoned_batch(void)
{
	BatchLabel label = { "not-a-label-name", "x" };
	BatchSeries series = { PROFILE_TYPE, 1, &label, 1 };
	BatchSample sample = { .time_us = START_US, .value = 1 };
	Batch *batch = NULL;

	assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
	assert_int_equal(batch_add_series(batch, &series, &sample.series), 0);
	assert_int_equal(batch_add_stack(batch, &(BatchStack){ "", 0, NULL }, &sample.stack), 0);
	assert_int_equal(batch_add_sample(batch, &sample), 0);
	return batch;
}

/* Of several waiting batches only the one that the server refuses is dropped. */
static void
test_one_poisoned_batch(void **state)
{
	Ends ends = { 0 };
	BatchCallback callback = { take_end, &ends };
	Writer *writer;
	WriterStats stats;

	create_database("poison");
	assert_int_equal(server_control(&server, "stop", NULL), 0);
	writer = open_writer("dbname=poison", QUEUE_BYTES);
	for (int i = 0; i < 11; i++)
	{
		Batch *batch = i == 4 ? make_poisoned_batch() : make_batch(i < 4 ? i : i - 1);

		assert_int_equal(writer_submit(writer, batch, &callback), 0);
	}
	assert_int_equal(server_control(&server, "start", NULL), 0);
	stats = drain_and_free(writer);
	assert_int_equal(stats.batches_written, 10);
	assert_int_equal(stats.batches_refused, 1);
	assert_int_equal(ends.count, 11);
	for (int i = 0; i < 11; i++)
	{
		assert_true(i == 0 || ends.numbers[i] > ends.numbers[i - 1]);
		assert_int_equal(ends.ends[i], i == 4 ? BATCH_REFUSED : BATCH_STORED);
		assert_string_equal(ends.sqlstates[i], i == 4 ? "22023" : "");
	}
	assert_stored_once("poison", 10);

	/* a submitter with a callback reports the loss itself */
	assert_string_equal(sql_in("poison", "SELECT count(*) FROM profstore.losses"
										 " WHERE reason <> 'test'"),
						"0");
}

/* Returns true for series 17 and 40 to 42 of 64, which have an invalid label. */
static bool
is_poisoned(int number)
{
	return number == 17 || (number >= 40 && number <= 42);
}

static Batch *
make_batch_of_senders(void)
{
	Batch *batch = NULL;

	assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
	for (int i = 0; i < 64; i++)
	{
		char value[20];
		uint32_t frame;
		BatchLabel label = { is_poisoned(i) ? "not-a-label-name" : "sender", value };
		BatchSeries series = { PROFILE_TYPE, 1, &label, 1 };
		BatchStack stack = { "abcd", 1, &frame };
		BatchSample sample = { .time_us = START_US };

		snprintf(value, sizeof(value), "s%d", i);
		frame = add_frame(batch, "/bin/x", value, (uint64_t) i);
		assert_int_equal(batch_add_series(batch, &series, &sample.series), 0);
		for (int j = 0; j < 8; j++)
		{
			sample.time_us += 1000;
			sample.value = i * 8 + j;
			assert_int_equal(batch_add_stack(batch, &stack, &sample.stack), 0);
			assert_int_equal(batch_add_sample(batch, &sample), 0);
		}
	}
	assert_int_equal(batch_add_loss(batch, "test", 5), 0);
	assert_int_equal(batch_add_unwound(batch, &(BatchUnwound){ "/bin/x", 4, 3 }), 0);
	return batch;
}

/* A refused item affects its sender only, also within one batch. */
static void
test_poison_within_a_batch(void **state)
{
	Writer *writer;
	WriterStats stats;

	create_database("senders");
	writer = open_writer("dbname=senders", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch_of_senders());
	writer_submit_newest(writer, make_batch(0));
	writer_submit_newest(writer, make_batch(1));
	stats = drain_and_free(writer);
	assert_int_equal(stats.batches_refused, 4);
	assert_int_equal(stats.samples_refused, 32);
	assert_int_equal(stats.samples_written, 480 + 200);
	assert_int_equal(stats.samples_dropped, 0);

	/* each sample once, with its own value and stack */
	assert_string_equal(sql_in("senders",
							   "SELECT format('%s %s %s', count(*), count(DISTINCT value),"
							   "   count(*) FILTER (WHERE f.name = 's' || value / 8"
							   "     AND s.labels->>'sender' = f.name))"
							   " FROM profstore.samples AS v"
							   " JOIN profstore.series AS s ON s.id = v.series_id"
							   " JOIN profstore.stacks AS n ON n.id = v.stack_id"
							   " JOIN profstore.locations AS l ON l.id = n.location"
							   " JOIN profstore.functions AS f ON f.id = l.function_ids[1]"
							   " WHERE s.labels ? 'sender'"),
						"480 480 480");
	assert_string_equal(sql_in("senders",
							   "SELECT string_agg(reason || ' ' || n, ', ' ORDER BY reason)"
							   " FROM (SELECT reason, sum(count) AS n"
							   "   FROM profstore.losses GROUP BY reason) AS l"),
						"database_refused 32, test 7");
	assert_string_equal(
		sql_in("senders",
			   "SELECT sum(stacks)::text || ' ' || sum(complete) FROM profstore.unwind_counts"),
		"8 5");
}

static bool
is_any(int number)
{
	return true;
}

static bool
is_of_first_132(int number)
{
	return number < 132;
}

static bool
is_even(int number)
{
	return number % 2 == 0;
}

/*
 * Returns a batch of series with one sample each. The server refuses the label of those that are
 * bad.
 */
static Batch *
make_series(int count, bool (*is_bad)(int number))
{
	Batch *batch = NULL;

	assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
	for (int i = 0; i < count; i++)
	{
		char value[20];
		BatchLabel label = { is_bad(i) ? "not-a-label-name" : "sender", value };
		BatchSeries series = { PROFILE_TYPE, 1, &label, 1 };
		BatchSample sample = { .time_us = START_US, .value = 1 };

		snprintf(value, sizeof(value), "s%d", i);
		assert_int_equal(batch_add_series(batch, &series, &sample.series), 0);
		assert_int_equal(batch_add_stack(batch, &(BatchStack){ "", 0, NULL }, &sample.stack), 0);
		assert_int_equal(batch_add_sample(batch, &sample), 0);
	}
	return batch;
}

/*
 * So many that dividing would take too long: the rest is refused whole, and the next batch is
 * stored.
 */
static void
test_poison_without_end(void **state)
{
	Writer *writer;
	WriterStats stats;

	create_database("endless");
	writer = open_writer("dbname=endless", QUEUE_BYTES);
	writer_submit_newest(writer, make_series(2000, is_any));
	writer_submit_newest(writer, make_batch(0));
	stats = drain_and_free(writer);
	assert_int_equal(stats.samples_refused, 2000);
	assert_in_range(stats.batches_refused, 2, 300);
	assert_stored_once("endless", 1);
}

/* Many bad series side by side leave divisions to the piece that contains others' series, too. */
static void
test_poison_side_by_side(void **state)
{
	Writer *writer;
	WriterStats stats;

	create_database("neighbours");
	writer = open_writer("dbname=neighbours", QUEUE_BYTES);
	writer_submit_newest(writer, make_series(256, is_of_first_132));
	writer_submit_newest(writer, make_batch(0));
	stats = drain_and_free(writer);
	assert_int_equal(stats.samples_refused, 132);
	assert_string_equal(sql_in("neighbours", "SELECT count(*) FROM profstore.samples AS v"
											 " JOIN profstore.series AS s ON s.id = v.series_id"
											 " WHERE s.labels ? 'sender'"),
						"124");
}

/* Every other series is bad: none of those between them is refused with it. */
static void
test_poison_scattered(void **state)
{
	Writer *writer;
	WriterStats stats;

	create_database("scattered");
	writer = open_writer("dbname=scattered", QUEUE_BYTES);
	writer_submit_newest(writer, make_series(160, is_even));
	stats = drain_and_free(writer);
	assert_int_equal(stats.samples_refused, 80);
	assert_int_equal(stats.samples_written, 80);
}

/* A full queue refuses batches, keeps its own, and accepts again when there is room. */
static void
test_refuses_when_full(void **state)
{
	Ends ends = { 0 };
	BatchCallback callback = { take_end, &ends };
	Batch *batch = make_batch(0);
	size_t queue_bytes = 3 * batch_bytes(batch) + batch_bytes(batch) / 2;
	WriterOptions options = { .conninfo = "dbname=filled", .node = "n", .queue_bytes = 1024 };
	Writer *writer;
	WriterStats stats;
	int stored = 0;

	create_database("filled");
	assert_int_equal(server_control(&server, "stop", NULL), 0);
	writer = start_writer(&options);
	assert_int_equal(writer_submit(writer, batch, NULL), -EMSGSIZE);
	writer_free(writer);

	options.queue_bytes = queue_bytes;
	writer = start_writer(&options);
	while (writer_submit(writer, batch, &callback) == 0)
		batch = make_batch(++stored);
	assert_int_equal(writer_submit(writer, batch, &callback), -EAGAIN);
	assert_int_equal(stored, 3);
	assert_int_equal(ends.count, 0);
	assert_int_equal(server_control(&server, "start", NULL), 0);
	wait_until_done(writer, 3);
	assert_int_equal(writer_submit(writer, batch, &callback), 0);
	assert_true(writer_drain(writer, DRAIN_MS));
	writer_stats(writer, &stats);
	assert_int_equal(stats.batches_dropped, 0);
	assert_int_equal(ends.count, 4);
	batch = make_batch(9);
	assert_int_equal(writer_submit(writer, batch, NULL), -EPIPE);
	batch_free(batch);
	writer_free(writer);
	assert_stored_once("filled", 4);
}

/* Each accepted batch gets a result, at the latest when the writer ends. */
static void
test_left_over_batches_are_told(void **state)
{
	Ends ends = { 0 };
	BatchCallback callback = { take_end, &ends };
	Writer *writer = open_writer("host=/nonexistent", QUEUE_BYTES);

	for (int i = 0; i < 3; i++)
		assert_int_equal(writer_submit(writer, make_batch(i), &callback), 0);
	writer_free(writer);
	assert_int_equal(ends.count, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ends.ends[i], BATCH_LEFT);
}

/* Writers share nothing: one without a server does not delay another. */
static void
test_two_targets(void **state)
{
	Writer *writers[3];

	create_database("target_a");
	create_database("target_b");
	writers[0] = open_writer("dbname=target_a", QUEUE_BYTES);
	writers[1] = open_writer("dbname=target_b", QUEUE_BYTES);
	writers[2] = open_writer("host=/nonexistent", QUEUE_BYTES);
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 3; j++)
			writer_submit_newest(writers[j], make_batch(i));
	assert_nothing_given_up(writers[0], "target_a", 5);
	assert_nothing_given_up(writers[1], "target_b", 5);
	writer_free(writers[2]);
}

/* --- reload --- */

static void
test_reload(void **state)
{
	Failure failure = { 0 };
	Writer *writer;

	create_database("reload_a");
	create_database("reload_b");
	writer = open_writer("dbname=reload_a", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);

	/* a string that cannot be parsed, or to which no connection is possible, changes nothing */
	assert_int_equal(writer_reload(writer, "dbname=x nonsense", 1, &failure), EXIT_CONFIG);
	assert_string_equal(failure.message, "invalid connection string");
	assert_int_equal(writer_reload(writer, "dbname=nowhere", QUEUE_BYTES, &failure), EXIT_OK);
	writer_submit_newest(writer, make_batch(1));
	wait_until_done(writer, 2);
	assert_stored_once("reload_a", 2);

	assert_int_equal(writer_reload(writer, "dbname=reload_b", QUEUE_BYTES, &failure), EXIT_OK);
	writer_submit_newest(writer, make_batch(0));
	drain_and_free(writer);
	assert_stored_once("reload_a", 2);
	assert_stored_once("reload_b", 1);
}

/* If there is no connection to keep, the new string is used, because it cannot be worse. */
static void
test_reload_while_away(void **state)
{
	Failure failure;
	Writer *writer;

	create_database("reloaded");
	writer = open_writer("host=/nonexistent", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	wait_for_state(writer, RETRY_AWAY);
	assert_int_equal(writer_reload(writer, "dbname=nowhere", QUEUE_BYTES, &failure), EXIT_OK);
	wait_for_state(writer, RETRY_DENIED);
	assert_int_equal(writer_reload(writer, "dbname=reloaded", QUEUE_BYTES, &failure), EXIT_OK);
	assert_nothing_given_up(writer, "reloaded", 1);
}

/* --- protocols --- */

static void
serve_protocols(const char *database, int oldest, int newest)
{
	char sql[256];

	snprintf(
		sql, sizeof(sql),
		"CREATE OR REPLACE FUNCTION profstore.writer_protocols(OUT oldest int4, OUT newest int4)"
		" LANGUAGE sql IMMUTABLE AS 'SELECT %d, %d'",
		oldest, newest);
	sql_in(database, sql);
}

static void
test_protocols(void **state)
{
	const int newer = WRITER_PROTOCOL + 1;
	Failure failure;
	char served[64];

	create_database("protocols");
	serve_protocols("protocols", WRITER_PROTOCOL, newer);
	assert_int_equal(session_check("dbname=protocols", &failure), EXIT_OK);

	serve_protocols("protocols", newer, newer + 1);
	snprintf(served, sizeof(served), "serves writer protocols %d to %d; this collector", newer,
			 newer + 1);
	assert_int_equal(session_check("dbname=protocols", &failure), EXIT_DATABASE);
	assert_string_equal(failure.message,
						"extension \"profstore\" is not compatible with this collector");
	assert_non_null(strstr(failure.detail, served));
	assert_non_null(strstr(failure.detail, protocol_spoken()));
	assert_string_equal(failure.hint, "Use a newer collector.");

	serve_protocols("protocols", WRITER_PROTOCOL - 1, WRITER_PROTOCOL - 1);
	assert_int_equal(session_check("dbname=protocols", &failure), EXIT_DATABASE);
	assert_non_null(strstr(failure.hint, "ALTER EXTENSION profstore UPDATE"));
}

/*
 * The database still has the tables and functions of an earlier version: samples are stored, also
 * by a writer that runs during the update.
 */
static void
test_extension_of_the_version_before(void **state)
{
	Writer *writer;

	create_database("before");
	sql_in("before", "DROP EXTENSION profstore CASCADE");
	sql_in("before", "CREATE EXTENSION profstore VERSION '0.9'");
	writer = open_writer("dbname=before", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);
	sql_in("before", "ALTER EXTENSION profstore UPDATE");
	writer_submit_newest(writer, make_batch(1));
	assert_nothing_given_up(writer, "before", 2);
}

/*
 * The extension is updated to a version that does not serve this collector: its samples wait, and
 * are stored once the extension serves it again.
 */
static void
test_extension_of_a_later_version(void **state)
{
	Writer *writer;

	create_database("after");
	writer = open_writer("dbname=after", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);
	serve_protocols("after", WRITER_PROTOCOL + 1, WRITER_PROTOCOL + 1);
	sql_in("after", "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
					" WHERE datname = 'after' AND pid <> pg_backend_pid()");
	writer_submit_newest(writer, make_batch(1));
	wait_for_state(writer, RETRY_DENIED);
	assert_string_equal(sql_in("after", "SELECT count(DISTINCT time) FROM profstore.samples"), "1");
	serve_protocols("after", WRITER_PROTOCOL, WRITER_PROTOCOL + 1);
	assert_nothing_given_up(writer, "after", 2);
}

/* --- traces --- */

/* Returns a batch with two spans of its first sample. */
static Batch *
with_traces(Batch *batch)
{
	const BatchSample *samples;
	BatchTrace trace = { .trace = { 1 } };

	assert_true(batch_samples(batch, &samples) > 0);
	trace.sample = samples[0];
	for (trace.span[0] = 1; trace.span[0] <= 2; trace.span[0]++)
		assert_int_equal(batch_add_trace(batch, &trace), 0);
	return batch;
}

static void
test_traces(void **state)
{
	Writer *writer;

	create_database("traces");
	writer = open_writer("dbname=traces", QUEUE_BYTES);
	for (int i = 0; i < 3; i++)
		writer_submit_newest(writer, with_traces(make_batch(i)));
	assert_int_equal(drain_and_free(writer).batches_written, 3);
	assert_stored_once("traces", 3);
	assert_string_equal(sql_in("traces",
							   "SELECT count(*) || ' ' || count(DISTINCT (t.time, t.span_id))"
							   " FROM profstore.trace_samples AS t"
							   " JOIN profstore.samples USING (time, series_id, stack_id)"),
						"6 6");
}

/* --- kinds --- */

/* One batch contains profiles of several types, with values of 64 bits, over equal stacks. */
static void
test_several_profile_types(void **state)
{
	static const char *const types[] = { PROFILE_TYPE,
										 "off_cpu:time:nanoseconds:wall:nanoseconds:delta",
										 "memory:alloc_space:bytes:space:bytes:delta" };
	static const int64_t values[] = { 52631578, INT64_C(3000000000000), INT64_MAX - 1 };
	BatchLabel label = { "comm", "x" };
	Batch *batch = NULL;
	Writer *writer;

	create_database("kinds");
	assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
	for (int i = 0; i < 3; i++)
	{
		BatchSeries series = { types[i], 1, &label, i == 0 ? 52631578 : 0 };
		BatchSample sample = { .time_us = START_US, .value = values[i] };
		uint32_t frame = add_frame(batch, "/bin/x", "leaf", 1);

		assert_int_equal(batch_add_series(batch, &series, &sample.series), 0);
		assert_int_equal(batch_add_stack(batch, &(BatchStack){ "abcd", 1, &frame }, &sample.stack),
						 0);
		assert_int_equal(batch_add_sample(batch, &sample), 0);
		sample.value = 1;
		assert_int_equal(batch_add_sample(batch, &sample), 0);
	}
	writer = open_writer("dbname=kinds", QUEUE_BYTES);
	writer_submit_newest(writer, batch);
	drain_and_free(writer);
	assert_string_equal(
		sql_in("kinds",
			   "SELECT string_agg(format('%s:%s %s %s', t.name, t.sample_unit, s.period,"
			   "   p.value), ', ' ORDER BY p.value)"
			   " FROM profstore.samples AS p JOIN profstore.series AS s ON s.id = p.series_id"
			   " JOIN profstore.profile_types AS t ON t.id = s.profile_type"),
		"process_cpu:nanoseconds 52631578 52631579, off_cpu:nanoseconds 0 3000000000001,"
		" memory:bytes 0 9223372036854775807");
	assert_string_equal(sql_in("kinds", "SELECT count(DISTINCT stack_id) FROM profstore.samples"),
						"1");
}

static int
setup_server(void **state)
{
	server_start(&server, "writer-states");
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
		cmocka_unit_test(test_states_are_told_once), /* before other tests use up LOG_BURST */
		cmocka_unit_test(test_starts_without_a_server),
		cmocka_unit_test(test_ends_without_a_server),
		cmocka_unit_test(test_cancelled_statements),
		cmocka_unit_test(test_transient_errors),
		cmocka_unit_test(test_password_rotated),
		cmocka_unit_test(test_role_broken),
		cmocka_unit_test(test_database_renamed),
		cmocka_unit_test(test_privileges_revoked),
		cmocka_unit_test(test_denied_at_the_start),
		cmocka_unit_test(test_one_poisoned_batch),
		cmocka_unit_test(test_poison_within_a_batch),
		cmocka_unit_test(test_poison_side_by_side),
		cmocka_unit_test(test_poison_scattered),
		cmocka_unit_test(test_poison_without_end),
		cmocka_unit_test(test_refuses_when_full),
		cmocka_unit_test(test_left_over_batches_are_told),
		cmocka_unit_test(test_two_targets),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_reload_while_away),
		cmocka_unit_test(test_protocols),
		cmocka_unit_test(test_extension_of_the_version_before),
		cmocka_unit_test(test_extension_of_a_later_version),
		cmocka_unit_test(test_traces),
		cmocka_unit_test(test_several_profile_types),
	};

	return cmocka_run_group_tests(tests, setup_server, stop_server);
}
