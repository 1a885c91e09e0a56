/*
 * test_base.c
 *		Parsers, tables, arenas and the log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/table.h"
#include "program/parse.h"

static void
test_durations(void **state)
{
	static const struct
	{
		const char *text;
		int err;
		int64_t ms;
	} cases[] = {
		{ "500ms", 0, 500 },
		{ "10s", 0, 10000 },
		{ "1m", 0, 60000 },
		{ "1h30m", 0, 5400000 },
		{ "1d2h3m4s5ms", 0, 93784005 },
		{ "0s", 0, 0 },
		{ "106751991167d", 0, INT64_C(106751991167) * 86400000 },
		{ "106751991168d", -ERANGE, 0 },
		{ "99999999999999999999s", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "10", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ " 1s", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1.5s", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "30m1h", -EINVAL, 0 },
		{ "1s1s", -EINVAL, 0 },
		{ "10sx", -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		int64_t ms = -7;

		assert_int_equal(parse_duration_ms(cases[i].text, &ms), cases[i].err);
		assert_int_equal(ms, cases[i].err == 0 ? cases[i].ms : -7);
	}
}

static void
test_sizes(void **state)
{
	size_t bytes = 7;

	assert_int_equal(parse_size_bytes("64MB", &bytes), 0);
	assert_int_equal(bytes, 64 * 1024 * 1024);
	assert_int_equal(parse_size_bytes("512kB", &bytes), 0);
	assert_int_equal(bytes, 512 * 1024);
	assert_int_equal(parse_size_bytes("3B", &bytes), 0);
	assert_int_equal(bytes, 3);
	assert_int_equal(parse_size_bytes("16777215TB", &bytes), 0);
	assert_int_equal(parse_size_bytes("16777216TB", &bytes), -ERANGE);
	assert_int_equal(parse_size_bytes("64", &bytes), -EINVAL);
	assert_int_equal(parse_size_bytes("64mb", &bytes), -EINVAL);
	assert_int_equal(parse_size_bytes("1GB1MB", &bytes), -EINVAL);
	assert_int_equal(parse_size_bytes("", &bytes), -EINVAL);
	assert_int_equal(bytes, 16777215 * (UINT64_C(1) << 40));
}

static void
test_format_quantities(void **state)
{
	static const char *const durations[] = { "0ms", "1ms", "1500ms", "59s",
											 "1m",	"90m", "7d",	 "366d" };
	static const char *const sizes[] = { "0B", "1023B", "1kB", "1536MB", "3GB", "2TB" };
	char text[QUANTITY_TEXT_MAX];
	int64_t ms;
	size_t bytes;

	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
	{
		assert_int_equal(parse_duration_ms(durations[i], &ms), 0);
		format_duration_ms(ms, text);
		assert_string_equal(text, durations[i]);
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		assert_int_equal(parse_size_bytes(sizes[i], &bytes), 0);
		format_size_bytes(bytes, text);
		assert_string_equal(text, sizes[i]);
	}
}

static bool
number_equal(const void *item, const void *key)
{
	return *(const uint64_t *) item == *(const uint64_t *) key;
}

/* The oracle: the position of a number is known, because numbers are added in order. */
static void
test_table(void **state)
{
	Budget budget = { .limit_bytes = 1 << 24 };
	Table table;
	uint32_t position;

	table_init(&table, &budget, sizeof(uint64_t));
	for (uint64_t i = 0; i < 100000; i++)
	{
		uint64_t number = i * i;
		uint64_t hash = hash_word(table.seed, number);

		assert_false(table_find(&table, hash, number_equal, &number, &position));
		assert_int_equal(table_reserve(&table), 0);
		*(uint64_t *) table_append(&table, hash) = number;
	}
	for (uint64_t i = 0; i < 100000; i++)
	{
		uint64_t number = i * i;

		assert_true(
			table_find(&table, hash_word(table.seed, number), number_equal, &number, &position));
		assert_int_equal(position, i);
	}
	assert_true(budget.used_bytes >= 100000 * (sizeof(uint64_t) + sizeof(TableSlot)));
	table_fini(&table);
	assert_int_equal(budget.used_bytes, 0);
}

static void
test_table_budget(void **state)
{
	Budget budget = { .limit_bytes = 2000 };
	Table table;
	uint32_t position;
	uint64_t number = 0;

	table_init(&table, &budget, sizeof(uint64_t));
	while (table_reserve(&table) == 0)
	{
		number++;
		*(uint64_t *) table_append(&table, hash_word(table.seed, number)) = number;
	}
	assert_in_range(number, 16, 2000 / sizeof(uint64_t));
	assert_true(budget.used_bytes <= budget.limit_bytes);
	for (uint64_t i = 1; i <= number; i++)
		assert_true(table_find(&table, hash_word(table.seed, i), number_equal, &i, &position));
	table_fini(&table);
	assert_int_equal(budget.used_bytes, 0);
}

/*
 * Keys equal those that the plain rule computes from the words; similar contents have different
 * keys.
 */
static void
test_content_keys(void **state)
{
	static const char text[] = "0123456789abcdefghij";
	const ContentSecret secret = content_secret();
	Budget budget = { .limit_bytes = 1 << 24 };
	ContentKey sum = CONTENT_BEGIN;
	unsigned __int128 naive = 0;
	Table table;
	uint32_t position;

	assert_true(secret.points[0] != secret.points[1]);
	for (uint64_t word = 0; word < 1000; word++)
	{
		sum = content_add(&secret, sum, word << 51);
		naive = (naive + (word << 51)) * secret.points[1] % CONTENT_PRIME;
		assert_true(content_key(sum).words[1] == (uint64_t) naive);
	}

	/* all pieces of a text, cut in two at every place, and as many zeros */
	table_init_keyed(&table, &budget, sizeof(int));
	for (size_t length = 0; length < sizeof(text); length++)
		for (size_t cut = 0; cut <= length; cut++)
			for (int zeros = 0; zeros < 2; zeros++)
			{
				static const char nothing[sizeof(text)];
				const char *bytes = zeros ? nothing : text;
				ContentKey key = content_add_bytes(&secret, CONTENT_BEGIN, bytes, cut);

				key = content_key(content_add_bytes(&secret, key, bytes + cut, length - cut));
				if (zeros && length == 0)
					continue;
				assert_false(table_find_key(&table, key, &position));
				assert_int_equal(table_reserve(&table), 0);
				*(int *) table_append_key(&table, key) = zeros;
				assert_true(table_find_key(&table, key, &position));
				assert_int_equal(position, table.count - 1);
			}
	assert_true(budget.used_bytes >= table.count * (sizeof(int) + sizeof(ContentKey)));
	table_fini(&table);
	assert_int_equal(budget.used_bytes, 0);
}

/* A hash must spread inputs that differ in few bits: more than half of 4,096 buckets are hit. */
static void
test_hash_spreads(void **state)
{
	static bool hit[4096];
	int hits = 0;

	for (uint64_t i = 0; i < 4096; i++)
	{
		uint64_t hash = hash_word(1, i << 40);
		uint32_t bucket = (uint32_t) (hash ^ hash >> 32) % 4096;

		hits += !hit[bucket];
		hit[bucket] = true;
	}
	assert_in_range(hits, 2400, 4096);
	assert_int_not_equal(hash_bytes(hash_bytes(1, "ab", 2), "c", 1),
						 hash_bytes(hash_bytes(1, "a", 1), "bc", 2));
	assert_int_not_equal(hash_bytes(1, "\0", 1), hash_bytes(1, "\0\0", 2));
}

static void
test_arena(void **state)
{
	Budget budget = { .limit_bytes = 100000 };
	Arena arena;
	unsigned char *blocks[200];
	size_t total = 0;
	int count = 0;

	arena_init(&arena, &budget);
	while (count < 200 && (blocks[count] = arena_alloc(&arena, (size_t) count * 7)) != NULL)
	{
		assert_int_equal((uintptr_t) blocks[count] % sizeof(int64_t), 0);
		memset(blocks[count], count, (size_t) count * 7);
		total += (size_t) count * 7;
		count++;
	}
	assert_in_range(total, 60000, 100000);
	assert_true(budget.used_bytes <= budget.limit_bytes);
	for (int i = 0; i < count; i++)
		for (int j = 0; j < i * 7; j++)
			assert_int_equal(blocks[i][j], (unsigned char) i);
	assert_null(arena_alloc(&arena, SIZE_MAX));
	arena_fini(&arena);
	assert_int_equal(budget.used_bytes, 0);
}

/* Two shares of one pool: a refused caller learns whether the other share is the reason. */
static void
test_memory_share(void **state)
{
	MemoryPool pool = { .limit_bytes = 100000 };
	MemoryShare one = { .pool = &pool };
	MemoryShare other = { .pool = &pool };
	Budget budget = { .limit_bytes = 90000, .share = &other };
	char *grown = NULL;

	for (size_t bytes = 1; bytes <= 60000; bytes *= 3)
	{
		grown = share_realloc(&one, grown, bytes);
		assert_non_null(grown);
		assert_in_range(one.used_bytes, bytes, 65000);
	}
	assert_true(budget_charge(&budget, 20000));
	assert_int_equal(pool.used_bytes, one.used_bytes + 20000);
	assert_false(budget_charge(&budget, 80000)); /* the budget's own limit */
	assert_false(other.is_crowded);
	assert_false(budget_charge(&budget, 50000));
	assert_true(other.is_crowded);
	assert_false(other.is_beyond);
	/* after the refusal, the memory is unchanged */
	assert_null(share_realloc(&one, grown, 100001));
	assert_true(one.is_beyond);
	assert_false(one.is_crowded);
	assert_null(share_realloc(&one, grown, 0));
	assert_int_equal(one.used_bytes, 0);
	assert_true(budget_charge(&budget, 50000));
	budget_release(&budget, 70000);
	assert_int_equal(other.used_bytes, 0);
	assert_int_equal(pool.used_bytes, 0);
	/* without a share nothing is counted */
	assert_null(share_realloc(NULL, share_realloc(NULL, NULL, 200000), 0));
}

typedef struct Charging
{
	MemoryShare *share;
	size_t bytes;
	bool is_charged;
} Charging;

static void *
charge_main(void *argument)
{
	Charging *charging = argument;

	charging->is_charged = share_charge(charging->share, charging->bytes);
	return NULL;
}

/* Runs in a thread that begins to wait for memory that the others hold. */
static void
begin_waiting(pthread_t *thread, Charging *charging)
{
	assert_int_equal(pthread_create(thread, NULL, charge_main, charging), 0);
	while (!atomic_load(&charging->share->pool->turns->is_awaited))
		usleep(1000);
}

/*
 * Of two shares that cannot both grow, one waits and ends, whatever the other requests meanwhile.
 */
static void
test_memory_turns(void **state)
{
	MemoryTurns turns;
	MemoryPool pool = { .limit_bytes = 100, .turns = &turns };
	MemoryShare one;
	MemoryShare other;
	Charging charging = { .share = &other, .bytes = 30 };
	pthread_t thread;

	turns_init(&turns);
	share_begin(&one, &pool, 0);
	share_begin(&other, &pool, 0);
	assert_true(share_charge(&one, 60));
	assert_true(share_charge(&other, 30));
	begin_waiting(&thread, &charging);
	assert_false(share_charge(&one, 5)); /* the pool has room, but not beside the other share */
	assert_true(one.is_crowded);
	share_end(&one, 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(charging.is_charged);
	assert_false(other.is_crowded);

	/* until that share ends nobody else waits */
	share_begin(&one, &pool, 0);
	assert_true(share_charge(&one, 30));
	assert_false(share_charge(&one, 20));
	begin_waiting(&thread, &charging);
	share_end(&one, 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(charging.is_charged);
	assert_int_equal(other.used_bytes, 90);
	share_end(&other, 0);

	/* memory that no working share holds is not waited for */
	assert_true(pool_charge(&pool, 90));
	share_begin(&one, &pool, 40);
	assert_false(share_charge(&one, 20));
	assert_true(one.is_crowded);
	share_end(&one, 40);
	pool_release(&pool, 90);
	assert_int_equal(pool.used_bytes, 0);
	turns_fini(&turns);
}

/* Saved standard error: between log_capture() and log_captured() its output goes to a file. */
static int saved_stderr;
static int capture_fd;

static void
log_capture(void)
{
	capture_fd = memfd_create("log", MFD_CLOEXEC);
	saved_stderr = dup(STDERR_FILENO);
	dup2(capture_fd, STDERR_FILENO);
}

static char *
log_captured(void)
{
	off_t length = lseek(capture_fd, 0, SEEK_END);
	char *text = calloc(1, (size_t) length + 1);

	assert_int_equal(pread(capture_fd, text, (size_t) length, 0), length);
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(capture_fd);
	return text;
}

/* Returns the line without its time stamp. */
static const char *
after_time(const char *line, const char *next)
{
	const char *found = strstr(line, next);

	assert_non_null(found);
	return found;
}

static void
test_log_logfmt(void **state)
{
	char *text;

	log_configure(LOG_INFO, false);
	log_capture();
	log_event(LOG_DEBUG, "test", "not shown");
	log_event(LOG_INFO, "test", "plain", log_number("n", -3), log_real("share", 0.25),
			  log_text("empty", ""), log_text("none", NULL));
	log_event(LOG_ERROR, "test", "could not", log_text("detail", "a \"b\"\n\x01\\=\xff\xc3\xa9"),
			  log_text("path", "/usr/bin/x"));
	text = log_captured();
	assert_null(strstr(text, "not shown"));
	assert_int_equal(strncmp(text, "ts=20", 5), 0);
	assert_non_null(strstr(text, "Z level=info mod=test msg=plain n=-3 share=0.25\nts=20"));
	assert_string_equal(
		after_time(text, "level=error"),
		"level=error mod=test msg=\"could not\" "
		"detail=\"a \\\"b\\\"\\n\\u0001\\\\=\xEF\xBF\xBD\xc3\xa9\" path=/usr/bin/x\n");
	free(text);
}

static void
test_log_json(void **state)
{
	char *text;

	log_configure(LOG_DEBUG, true);
	log_capture();
	log_event(LOG_DEBUG, "test", "say \"x\"", log_number("n", 3), log_real("bad", 1.0 / 0.0),
			  log_text("s", "t\tu"));
	text = log_captured();
	assert_int_equal(strncmp(text, "{\"ts\":\"20", 9), 0);
	assert_string_equal(after_time(text, ",\"level\""),
						",\"level\":\"debug\",\"mod\":\"test\",\"msg\":\"say \\\"x\\\"\",\"n\":3,"
						"\"bad\":null,\"s\":\"t\\tu\"}\n");
	free(text);
	log_configure(LOG_INFO, false);
}

static int
count_of(const char *text, const char *part)
{
	int count = 0;

	for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
		count++;
	return count;
}

static void
test_log_repeats(void **state)
{
	char *text;

	log_capture();
	for (int i = 0; i < 100; i++)
	{
		log_event(LOG_WARNING, "test", "again", log_number("i", i));
		log_event(LOG_ERROR, "test", "error", log_number("i", i));
	}
	log_event(LOG_WARNING, "other", "again");
	log_flush();
	log_flush();
	text = log_captured();
	assert_int_equal(count_of(text, "mod=test msg=again"), LOG_BURST + 1);
	assert_int_equal(count_of(text, "msg=again suppressed=95\n"), 1);
	assert_int_equal(count_of(text, "msg=error"), 100);
	assert_int_equal(count_of(text, "mod=other"), 1);
	free(text);
}

static void
test_log_truncates(void **state)
{
	static char huge[3 * LOG_LINE_BYTES];
	char *text;

	memset(huge, 'x', sizeof(huge) - 1);
	log_capture();
	log_event(LOG_ERROR, "test", "long", log_text("detail", huge), log_number("n", 1));
	log_configure(LOG_INFO, true);
	log_event(LOG_ERROR, "test", "long", log_text("detail", huge), log_number("n", 1));
	log_configure(LOG_INFO, false);
	text = log_captured();
	assert_non_null(strstr(text, "level=error mod=test msg=long truncated=true\n"));
	assert_non_null(strstr(text, "\"msg\":\"long\",\"truncated\":true}\n"));
	free(text);
}

static void *
log_many(void *arg)
{
	for (int i = 0; i < 500; i++)
		log_event(LOG_INFO, "test", "thread", log_text("pad", arg), log_number("i", i));
	return NULL;
}

static void
test_log_threads(void **state)
{
	char pads[4][200];
	pthread_t threads[4];
	char *text;
	char *rest;
	int lines = 0;

	log_capture();
	for (int i = 0; i < 4; i++)
	{
		memset(pads[i], 'a' + i, sizeof(pads[i]) - 1);
		pads[i][sizeof(pads[i]) - 1] = '\0';
		assert_int_equal(pthread_create(&threads[i], NULL, log_many, pads[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	text = log_captured();
	rest = text;
	for (char *line = strsep(&rest, "\n"); line != NULL && *line; line = strsep(&rest, "\n"))
	{
		const char *pad = after_time(line, "pad=") + 4;

		for (int i = 1; i < 199; i++)
			assert_int_equal(pad[i], pad[0]);
		assert_int_equal(strncmp(line, "ts=", 3), 0);
		lines++;
	}
	assert_int_equal(lines, 2000);
	free(text);
}

/* The offset changes only if the clock is set. */
static void
test_clock_offset(void **state)
{
	(void) state;
	assert_int_equal(clock_offset_ns(0, 1000, 501020, 1040), 500000);
	assert_int_equal(clock_offset_ns(500000, 2000, 502010, 2030), 500000);
	/* the thread was preempted before the middle reading, and after it */
	assert_int_equal(clock_offset_ns(500000, 3000, 700000, 200010), 500000);
	assert_int_equal(clock_offset_ns(500000, 3000, 503010, 200010), 500000);
	/* a first offset that was wrong is corrected by closer readings */
	assert_int_equal(clock_offset_ns(510000, 3000, 503020, 3040), 500000);
	assert_int_equal(clock_offset_ns(500000, 3000, -3599996990, 3020), -3600000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock_offset),  cmocka_unit_test(test_durations),
		cmocka_unit_test(test_sizes),		  cmocka_unit_test(test_format_quantities),
		cmocka_unit_test(test_table),		  cmocka_unit_test(test_table_budget),
		cmocka_unit_test(test_hash_spreads),  cmocka_unit_test(test_content_keys),
		cmocka_unit_test(test_memory_share),  cmocka_unit_test(test_memory_turns),
		cmocka_unit_test(test_arena),		  cmocka_unit_test(test_log_logfmt),
		cmocka_unit_test(test_log_json),	  cmocka_unit_test(test_log_repeats),
		cmocka_unit_test(test_log_truncates), cmocka_unit_test(test_log_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
