/*
 * test_writer_spool.c
 *		Batches that a writer keeps on disk while its database is unavailable: nothing is lost and
 *		nothing is stored twice, whatever is killed, cut, full or damaged.
 */
#include "shell.h"
#include "writer_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "spool/spool.h"

#define NOWHERE "host=/nonexistent"

static PrivateServer server;
static char spool_path[64];

static WriterOptions
spooling_options(const char *conninfo)
{
	return (WriterOptions){
		.conninfo = conninfo,
		.node = "test-node",
		.queue_bytes = QUEUE_BYTES,
		.spool = { .directory = spool_path, .size_bytes = (size_t) 1 << 30, .age_ms = 86400000 }
	};
}

static Writer *
open_spooling(const char *conninfo)
{
	const WriterOptions options = spooling_options(conninfo);

	return start_writer(&options);
}

static void
wait_until_spooled(Writer *writer, uint64_t batches)
{
	WriterStats stats = { 0 };

	for (int i = 0; i < 600 && stats.spooled_batches != batches; i++)
	{
		sleep_ms(50);
		writer_stats(writer, &stats);
	}
	assert_int_equal(stats.spooled_batches, batches);
}

static void
wait_until_stored(Writer *writer)
{
	WriterStats stats;

	for (int i = 0; i < 1200; i++)
	{
		writer_stats(writer, &stats);
		if (stats.spooled_batches == 0 && stats.waiting_since_ns == 0)
			return;
		sleep_ms(50);
	}
	fail_msg("batches stay in the spool");
}

static int
count_files(void)
{
	DIR *directory = opendir(spool_path);
	struct dirent *entry;
	int count = 0;

	while (directory != NULL && (entry = readdir(directory)) != NULL)
		count += strstr(entry->d_name, ".batch") != NULL;
	if (directory != NULL)
		closedir(directory);
	return count;
}

/*
 * Runs a process with a writer whose database is unavailable, submits batches first to last - 1,
 * and kills it with SIGKILL once these and earlier ones are on disk.
 */
static void
kill_after_spooling(int first, int last)
{
	int status;
	pid_t child = fork();

	if (child == 0)
	{
		Writer *writer = open_spooling(NOWHERE);

		for (int i = first; i < last; i++)
			writer_submit_newest(writer, make_batch(i));
		wait_until_spooled(writer, (uint64_t) last);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/*
 * Two processes are killed in turn while there is no database; the third one stores all their
 * batches.
 */
static void
test_killed(void **state)
{
	Writer *writer;
	WriterStats stats;

	create_database("killed");
	kill_after_spooling(0, 5);
	assert_int_equal(count_files(), 5);
	kill_after_spooling(5, 8);
	assert_int_equal(count_files(), 8);
	writer = open_spooling("dbname=killed");
	for (int i = 8; i < 10; i++)
		writer_submit_newest(writer, make_batch(i));
	stats = drain_and_free(writer);
	assert_int_equal(stats.batches_written, 10);
	assert_int_equal(stats.samples_dropped, 0);
	assert_stored_once("killed", 10);
	assert_int_equal(count_files(), 0);
}

/*
 * Files that reappear, as after a power cut before their removal was on disk, are not stored twice.
 */
static void
test_files_come_back(void **state)
{
	Writer *writer;

	create_database("back");
	kill_after_spooling(0, 6);
	run("cp -a %s %s.copy", spool_path, spool_path);
	drain_and_free(open_spooling("dbname=back"));
	assert_stored_once("back", 6);
	assert_int_equal(count_files(), 0);
	run("cp -a %s.copy/. %s/ && rm -r /tmp/test_writer_spool.*.copy", spool_path, spool_path);
	assert_int_equal(count_files(), 6);
	writer = open_spooling("dbname=back");
	writer_submit_newest(writer, make_batch(6));
	drain_and_free(writer);
	assert_stored_once("back", 7);
	assert_int_equal(count_files(), 0);
}

/*
 * The first of three files was stored before its process was killed: the next process does not
 * store it with the others.
 */
static void
test_first_was_stored(void **state)
{
	create_database("first");
	kill_after_spooling(0, 3);
	run("cp -a %s %s.copy && cd %s && ls *.batch | tail -n 2 | xargs rm", spool_path, spool_path,
		spool_path);
	drain_and_free(open_spooling("dbname=first"));
	assert_stored_once("first", 1);
	run("cp -a %s.copy/. %s/ && rm -r %s.copy", spool_path, spool_path, spool_path);
	assert_int_equal(count_files(), 3);
	drain_and_free(open_spooling("dbname=first"));
	assert_stored_once("first", 3);
}

/* Server and writer are killed again and again, at any moment. */
static void
test_all_are_killed(void **state)
{
	const int rounds = 8;

	create_database("storm");
	for (int round = 0; round < rounds; round++)
	{
		int status;
		pid_t child = fork();

		if (child == 0)
		{
			Writer *writer = open_spooling("dbname=storm");

			/* a batch counts once it is on disk or in the database */
			for (int i = 0; i < 4; i++)
				writer_submit_newest(writer, make_batch(round * 4 + i));
			if (!writer_drain(writer, 50 * round))
				_exit(1);
			raise(SIGKILL);
		}
		sleep_ms(20 + 37 * round);
		if (round % 2 == 1)
			assert_int_equal(server_control(&server, "stop", NULL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		if (round % 2 == 1)
			assert_int_equal(server_control(&server, "start", NULL), 0);
	}
	drain_and_free(open_spooling("dbname=storm"));
	assert_stored_once("storm", rounds * 4);
	assert_int_equal(count_files(), 0);
}

/* Batches leave the memory once they are on disk: many more wait there than the queue may hold. */
static void
test_more_than_memory(void **state)
{
	WriterOptions options = spooling_options("dbname=more");
	Writer *writer;
	WriterStats stats;

	create_database("more");
	assert_int_equal(server_control(&server, "stop", NULL), 0);
	options.queue_bytes = 1 << 20;
	writer = start_writer(&options);
	for (int i = 0; i < 40; i++)
	{
		writer_submit_newest(writer, make_batch(i));
		wait_until_spooled(writer, (uint64_t) i + 1);
	}
	writer_stats(writer, &stats);
	assert_true(stats.queued_bytes < options.queue_bytes);
	assert_true(stats.spooled_bytes > 0);
	assert_int_equal(stats.batches_spooled, 40);
	assert_int_equal(server_control(&server, "start", NULL), 0);
	wait_until_stored(writer);
	drain_and_free(writer);
	assert_stored_once("more", 40);
}

/* Returns the losses of a database: reasons and numbers. */
static const char *
losses_in(const char *database)
{
	return sql_in(
		database,
		"SELECT coalesce(string_agg(reason || ' ' || n, ', ' ORDER BY reason), '')"
		" FROM (SELECT reason, sum(count) AS n FROM profstore.losses GROUP BY reason) AS l");
}

/*
 * Batches that do not fit are dropped, oldest first, and counted together with the losses that they
 * carried.
 */
static void
test_full(void **state)
{
	WriterOptions options = spooling_options(NOWHERE);
	Writer *writer;
	WriterStats stats;
	uint64_t bytes;

	create_database("filled_up");
	writer = start_writer(&options);
	writer_submit_newest(writer, make_batch(0));
	wait_until_spooled(writer, 1);
	writer_stats(writer, &stats);
	bytes = stats.spooled_bytes;
	writer_free(writer);

	options.spool.size_bytes = bytes * 7 / 2;
	writer = start_writer(&options);
	for (int i = 1; i < 10; i++)
		writer_submit_newest(writer, make_batch(i));
	do
	{
		sleep_ms(20);
		writer_stats(writer, &stats);
	} while (stats.batches_spooled < 9);
	wait_until_spooled(writer, 3);
	writer_stats(writer, &stats);
	assert_int_equal(stats.samples_dropped, 700);
	assert_true(stats.spooled_bytes <= options.spool.size_bytes);
	writer_free(writer);

	/* the report of the losses waited on disk as well */
	drain_and_free(open_spooling("dbname=filled_up"));
	assert_string_equal(sql_in("filled_up", "SELECT count(*)::text || ' ' || min(time)"
											" FROM profstore.samples"),
						sql_in("filled_up", "SELECT '300 ' || (timestamptz '2026-11-21 00:00:00+00'"
											" + interval '7 us')"));
	assert_string_equal(losses_in("filled_up"), "spool_full 700, test 10");
}

/* Batches that wait for too long are dropped, also if they waited in an earlier process. */
static void
test_expired(void **state)
{
	WriterOptions options = spooling_options(NOWHERE);
	Writer *writer;

	create_database("expired");
	kill_after_spooling(0, 2);
	sleep_ms(2100);
	options.spool.age_ms = 2000;
	writer = start_writer(&options);
	wait_until_spooled(writer, 0);
	writer_free(writer);
	drain_and_free(open_spooling("dbname=expired"));
	assert_string_equal(losses_in("expired"), "spool_expired 200, test 2");
}

/* A batch that expires while it is being stored is dropped without any younger ones. */
static void
test_expired_in_flight(void **state)
{
	WriterOptions options = spooling_options("dbname=in_flight");
	Writer *writer;
	WriterStats stats;

	create_database("in_flight");
	options.spool.age_ms = 6000;
	writer = start_writer(&options);
	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);
	assert_int_equal(server_control(&server, "stop", NULL), 0);
	writer_submit_newest(writer, make_batch(1));
	wait_until_spooled(writer, 1);
	sleep_ms(6200);
	for (int i = 2; i < 4; i++)
		writer_submit_newest(writer, make_batch(i));
	wait_until_spooled(writer, 3);
	writer_stats(writer, &stats);
	assert_int_equal(stats.samples_dropped, 0);
	writer_free(writer);
	assert_int_equal(server_control(&server, "start", NULL), 0);
	drain_and_free(open_spooling("dbname=in_flight"));
	assert_string_equal(sql_in("in_flight", "SELECT count(DISTINCT time) >= 3"
											" FROM profstore.samples"),
						"t");
}

/* A file that cannot be read is dropped and counted; the others are stored. */
static void
test_damaged(void **state)
{
	create_database("damaged");
	kill_after_spooling(0, 4);
	run("f=$(ls %s/*.batch | sed -n 2p); printf '\\377\\376\\375' |"
		" dd of=\"$f\" bs=1 seek=150 conv=notrunc status=none",
		spool_path);
	run("f=$(ls %s/*.batch | sed -n 3p); printf '\\377\\376\\375' |"
		" dd of=\"$f\" bs=1 seek=20 conv=notrunc status=none",
		spool_path);
	drain_and_free(open_spooling("dbname=damaged"));
	assert_string_equal(sql_in("damaged", "SELECT count(*)::text || ' ' || count(DISTINCT time)"
										  " FROM profstore.samples"),
						"200 2");
	/* the content of the third file is unknown: it counts as one */
	assert_string_equal(losses_in("damaged"), "spool_damaged 101, test 2");
	assert_int_equal(count_files(), 0);
}

/* Returns a batch of series with one sample each. The server refuses the label of every fifth. */
static Batch *
make_poisoned(void)
{
	Batch *batch = NULL;

	assert_int_equal(batch_create(BATCH_BYTES, &batch), 0);
	for (int i = 0; i < 20; i++)
	{
		char value[20];
		BatchLabel label = { i % 5 == 0 ? "not-a-label-name" : "sender", value };
		BatchSeries series = { PROFILE_TYPE, 1, &label, 1 };
		BatchSample sample = { .time_us = START_US, .value = 1 };

		snprintf(value, sizeof(value), "s%d", i);
		assert_int_equal(batch_add_series(batch, &series, &sample.series), 0);
		assert_int_equal(batch_add_stack(batch, &(BatchStack){ "", 0, NULL }, &sample.stack), 0);
		assert_int_equal(batch_add_sample(batch, &sample), 0);
	}
	return batch;
}

static const char *
senders_in(const char *database)
{
	return sql_in(database, "SELECT count(*)::text || ' ' || count(DISTINCT s.id)"
							" FROM profstore.samples AS v"
							" JOIN profstore.series AS s ON s.id = v.series_id"
							" WHERE s.labels ? 'sender'");
}

/*
 * A refused batch is divided on disk. The process is killed at many moments of the division; stored
 * pieces are not stored again, and all series that the server accepts are present.
 */
static void
test_divided(void **state)
{
	create_database("divided");
	for (int round = 0; round < 12; round++)
	{
		int status;
		pid_t child = fork();

		if (child == 0)
		{
			Writer *writer;

			if (round == 0)
			{
				writer = open_spooling(NOWHERE);
				writer_submit_newest(writer, make_poisoned());
				writer_submit_newest(writer, make_batch(0));
				wait_until_spooled(writer, 2);
			}
			else
			{
				writer = open_spooling("dbname=divided");
				sleep_ms(10 * round * round);
			}
			raise(SIGKILL);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
	}
	drain_and_free(open_spooling("dbname=divided"));
	assert_string_equal(senders_in("divided"), "16 16");
	assert_string_equal(sql_in("divided", "SELECT count(*) FROM profstore.samples"), "116");
	assert_int_equal(count_files(), 0);
}

/* Pieces that were written from memory are divided further without using each other's numbers. */
static void
test_pieces_of_memory(void **state)
{
	Failure failure = { 0 };
	Batch *batches[] = { make_poisoned(), make_batch(0) };
	Spool *spool;

	create_database("pieces");
	assert_int_equal(spool_open(spool_path, &spool, &failure), EXIT_OK);
	for (uint64_t i = 0; i < 2; i++)
	{
		SpooledBatch file = { .id = { .writer = "0123456789abcde", .number = 1025 + i },
							  .samples = i == 0 ? 20 : 100 };

		assert_int_equal(spool_put(spool, batches[i], &file), 0);
		batch_free(batches[i]);
	}
	spool_close(spool);
	drain_and_free(open_spooling("dbname=pieces"));
	assert_string_equal(senders_in("pieces"), "16 16");
	assert_string_equal(sql_in("pieces", "SELECT count(*) FROM profstore.samples"), "116");
	assert_int_equal(count_files(), 0);
}

/*
 * A full disk delays nothing: batches stay in memory, and are stored from there. It is tried once a
 * second, not once for each batch.
 */
static void
test_disk_is_full(void **state)
{
	Writer *writer;
	WriterStats stats;
	int64_t begun_ns;

	if (geteuid() != 0)
		skip();
	create_database("disk");
	run("mkdir -p -m 700 %s && mount -t tmpfs -o size=16k,mode=700 none %s", spool_path,
		spool_path);
	run("head -c 100000 /dev/zero >%s/filler 2>/dev/null || true", spool_path);
	assert_int_equal(server_control(&server, "stop", NULL), 0);
	writer = open_spooling("dbname=disk");
	for (int i = 0; i < 20; i++)
		writer_submit_newest(writer, make_batch(i));
	begun_ns = clock_ns(CLOCK_MONOTONIC);
	do
	{
		sleep_ms(20);
		writer_stats(writer, &stats);
	} while (stats.spool_failures < 2);
	assert_true((int64_t) stats.spool_failures <=
				(clock_ns(CLOCK_MONOTONIC) - begun_ns) / NS_PER_S + 3);
	assert_int_equal(stats.spooled_batches, 0);
	assert_int_equal(server_control(&server, "start", NULL), 0);
	stats = drain_and_free(writer);
	assert_int_equal(stats.batches_written, 20);
	run("umount %s && rmdir %s", spool_path, spool_path);
	assert_stored_once("disk", 20);
}

static atomic_bool unlinking_fails;

/* The linker prefers this function to that of libc, so the spool calls it. */
int
unlinkat(int fd, const char *name, int flags)
{
	if (atomic_load(&unlinking_fails))
	{
		errno = EROFS;
		return -1;
	}
	return (int) syscall(SYS_unlinkat, fd, name, flags);
}

/* A file that cannot be removed is counted. The next process finds it and stores it no more. */
static void
test_files_stay(void **state)
{
	WriterStats stats;

	create_database("stay");
	kill_after_spooling(0, 3);
	atomic_store(&unlinking_fails, true);
	stats = drain_and_free(open_spooling("dbname=stay"));
	atomic_store(&unlinking_fails, false);
	assert_int_equal(stats.batches_written, 3);
	assert_int_equal(stats.spool_failures, 3);
	assert_int_equal(count_files(), 3);
	(void) drain_and_free(open_spooling("dbname=stay"));
	assert_int_equal(count_files(), 0);
	assert_stored_once("stay", 3);
}

typedef struct Taken
{
	atomic_int count;
	BatchEnd ends[8];
} Taken;

static void
take_end(void *context, const BatchResult *result)
{
	Taken *taken = context;

	assert_non_null(result->batch);
	taken->ends[taken->count] = result->end;
	taken->count++;
}

/*
 * A submitter for whom the spool suffices gets its result at once; another one waits for the
 * database.
 */
static void
test_acknowledged(void **state)
{
	Taken spooled = { 0 };
	Taken stored = { 0 };
	const BatchCallback takes_spooled = { take_end, &spooled, .takes_spooled = true };
	const BatchCallback waits = { take_end, &stored };
	Writer *writer;

	create_database("acknowledged");
	assert_int_equal(server_control(&server, "stop", NULL), 0);
	writer = open_spooling("dbname=acknowledged");
	assert_int_equal(writer_submit(writer, make_batch(0), &takes_spooled), 0);
	assert_int_equal(writer_submit(writer, make_batch(1), &waits), 0);
	for (int i = 0; i < 600 && spooled.count == 0; i++)
		sleep_ms(50);
	assert_int_equal(spooled.count, 1);
	assert_int_equal(spooled.ends[0], BATCH_SPOOLED);
	assert_int_equal(count_files(), 1);
	assert_int_equal(stored.count, 0);
	assert_int_equal(server_control(&server, "start", NULL), 0);
	drain_and_free(writer);
	assert_int_equal(spooled.count, 1);
	assert_int_equal(stored.count, 1);
	assert_int_equal(stored.ends[0], BATCH_STORED);
	assert_stored_once("acknowledged", 2);
}

static int
setup_server(void **state)
{
	static char template[] = "/tmp/test_writer_spool.XXXXXX";

	if (mkdtemp(template) == NULL || rmdir(template) != 0)
		return -1;
	snprintf(spool_path, sizeof(spool_path), "%s", template);
	server_start(&server, "writer-spool");
	return 0;
}

static int
empty_spool(void **state)
{
	run("rm -rf %s", spool_path);
	return 0;
}

static int
stop_server(void **state)
{
	run("rm -rf %s", spool_path);
	return server_control(&server, "purge", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_killed, empty_spool),
		cmocka_unit_test_setup(test_files_come_back, empty_spool),
		cmocka_unit_test_setup(test_first_was_stored, empty_spool),
		cmocka_unit_test_setup(test_all_are_killed, empty_spool),
		cmocka_unit_test_setup(test_more_than_memory, empty_spool),
		cmocka_unit_test_setup(test_full, empty_spool),
		cmocka_unit_test_setup(test_expired, empty_spool),
		cmocka_unit_test_setup(test_expired_in_flight, empty_spool),
		cmocka_unit_test_setup(test_damaged, empty_spool),
		cmocka_unit_test_setup(test_divided, empty_spool),
		cmocka_unit_test_setup(test_pieces_of_memory, empty_spool),
		cmocka_unit_test_setup(test_disk_is_full, empty_spool),
		cmocka_unit_test_setup(test_files_stay, empty_spool),
		cmocka_unit_test_setup(test_acknowledged, empty_spool),
	};

	return cmocka_run_group_tests(tests, setup_server, stop_server);
}
