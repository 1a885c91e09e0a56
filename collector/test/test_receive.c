/*
 * test_receive.c
 *		The queues between a server's threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "http_server/host.h"
#include "receive/repeats.h"
#include "receive/series_limit.h"

static const HostOptions options = { .max_memory = 1 << 20 };
static const ServiceTable services = { .items = NULL };

/* Calls that wait for workers: the client that was served least comes first. */
typedef struct Waiting
{
	Host host;
	Clients clients;
	Client *client[3];
} Waiting;

static void
waiting_init(Waiting *waiting)
{
	static const char *const names[] = { "a", "b", "c" };
	Failure failure;

	assert_int_equal(host_init(&waiting->host, &options, &services, NULL, &failure), EXIT_OK);
	waiting->clients = (Clients){ NULL };
	for (size_t i = 0; i < 3; i++)
		assert_non_null(waiting->client[i] = clients_take(&waiting->clients, names[i]));
}

static void
waiting_fini(Waiting *waiting)
{
	host_fini(&waiting->host);
	clients_free(&waiting->clients);
}

static Call *
want(Waiting *waiting, size_t client)
{
	Call *call = call_create();

	assert_non_null(call);
	call->client = waiting->client[client];
	host_want(&waiting->host, call);
	return call;
}

/* Takes the next call, which must be this one, works on it for this time, and returns it. */
static void
work_on(Waiting *waiting, const Call *expected, uint64_t cpu_ns)
{
	ClientWork *work;
	Call *call = host_take(&waiting->host, &work);

	assert_ptr_equal(call, expected);
	host_give_back(&waiting->host, call);
	host_done(&waiting->host, work, cpu_ns);
}

static void
test_order(void **state)
{
	Waiting waiting;
	Call *calls[3];
	Call *back;

	waiting_init(&waiting);
	for (size_t i = 0; i < 3; i++)
		calls[i] = want(&waiting, 0);
	for (size_t i = 0; i < 3; i++)
		work_on(&waiting, calls[i], 1);
	back = host_collect(&waiting.host);
	for (size_t i = 0; i < 3; i++)
	{
		Call *next = back->next;

		assert_ptr_equal(back, calls[i]);
		call_free(back);
		back = next;
	}
	assert_null(back);
	assert_null(host_collect(&waiting.host));
	waiting_fini(&waiting);
}

/* A client with many long calls gets no more time than one whose calls are short. */
static void
test_clients_take_turns(void **state)
{
	Waiting waiting;
	Call *slow[3];
	Call *quick[5];
	Call *late;

	waiting_init(&waiting);
	for (size_t i = 0; i < 3; i++)
		slow[i] = want(&waiting, 0);
	work_on(&waiting, slow[0], 100);
	for (size_t i = 0; i < 5; i++)
		quick[i] = want(&waiting, 1);
	for (size_t i = 0; i < 4; i++)
		work_on(&waiting, quick[i], 30); /* until both have had about 100 */
	work_on(&waiting, slow[1], 100);
	/* a new client begins with the time of the client served last, without credit for the past */
	late = want(&waiting, 2);
	work_on(&waiting, late, 10);
	late = want(&waiting, 2);
	work_on(&waiting, late, 100);
	work_on(&waiting, quick[4], 1);
	work_on(&waiting, slow[2], 1);
	waiting_fini(&waiting);
}

/*
 * A client without a running call goes before one with running calls, however long its calls take.
 */
static void
test_fewest_at_work(void **state)
{
	Waiting waiting;
	ClientWork *work[2];
	Call *first;
	Call *other;

	waiting_init(&waiting);
	work_on(&waiting, want(&waiting, 1), 1000);
	first = want(&waiting, 0);
	want(&waiting, 0);
	other = want(&waiting, 1);
	assert_ptr_equal(host_take(&waiting.host, &work[0]), first);
	assert_ptr_equal(host_take(&waiting.host, &work[1]), other);
	host_give_back(&waiting.host, first);
	host_give_back(&waiting.host, other);
	host_done(&waiting.host, work[0], 1);
	host_done(&waiting.host, work[1], 1);
	waiting_fini(&waiting);
}

/* A call whose client has disconnected leaves the queue from any position. */
static void
test_withdraw(void **state)
{
	Waiting waiting;
	Call *calls[4];
	Call *other;

	waiting_init(&waiting);
	for (size_t i = 0; i < 4; i++)
		calls[i] = want(&waiting, 0);
	other = want(&waiting, 1);
	for (size_t i = 0; i < 4; i += 3) /* the first, the last */
	{
		assert_true(host_withdraw(&waiting.host, calls[i]));
		assert_false(host_withdraw(&waiting.host, calls[i]));
		call_free(calls[i]);
	}
	assert_true(host_withdraw(&waiting.host, other));
	call_free(other);
	other = want(&waiting, 0);
	assert_true(host_withdraw(&waiting.host, calls[1]));
	call_free(calls[1]);
	work_on(&waiting, calls[2], 1);
	work_on(&waiting, other, 1);
	other = want(&waiting, 0);
	assert_true(host_withdraw(&waiting.host, other)); /* the only one */
	call_free(other);
	work_on(&waiting, want(&waiting, 0), 1);
	waiting_fini(&waiting);
}

/* A receiver that stops ends all waiting calls at once, however many they are. */
static void
test_stop(void **state)
{
	Waiting waiting;
	ClientWork *work;
	Call *first;
	Call *taken;

	waiting_init(&waiting);
	first = want(&waiting, 0);
	want(&waiting, 0);
	want(&waiting, 1);
	taken = host_take(&waiting.host, &work);
	assert_ptr_equal(taken, first);
	host_stop_workers(&waiting.host);
	assert_null(host_take(&waiting.host, &work));
	call_free(taken);
	host_done(&waiting.host, work, 0);
	waiting_fini(&waiting); /* frees the others */
}

/* Returns a batch of the series first to first + count - 1. */
static Batch *
batch_of_series(unsigned first, unsigned count)
{
	Batch *batch;
	uint32_t index;

	assert_int_equal(batch_create(1 << 24, &batch), 0);
	for (unsigned i = first; i < first + count; i++)
	{
		char value[16];
		const BatchLabel label = { "id", value };
		const BatchSeries series = { .profile_type = "a:b:c:d:e",
									 .label_count = 1,
									 .labels = &label };

		snprintf(value, sizeof(value), "%u", i);
		assert_int_equal(batch_add_series(batch, &series, &index), 0);
	}
	return batch;
}

static bool
may_bring(SeriesLimit *limit, const char *client, unsigned first, unsigned count, int64_t now_ns)
{
	Batch *batch = batch_of_series(first, count);
	bool may = series_limit_take(limit, client, batch, 1000, now_ns);

	batch_free(batch);
	return may;
}

static void
test_series_limit(void **state)
{
	SeriesLimit limit;

	series_limit_init(&limit);
	assert_false(may_bring(&limit, "a", 0, 1001, 0));
	assert_true(may_bring(&limit, "a", 0, 600, 0));
	assert_true(may_bring(&limit, "a", 0, 600, 1)); /* the series that are known already */
	assert_false(may_bring(&limit, "a", 300, 701, 2));
	assert_true(may_bring(&limit, "a", 300, 700, 2)); /* refused series were not counted */
	assert_false(may_bring(&limit, "a", 1000, 1, 3));
	assert_true(may_bring(&limit, "a", 0, 1000, 3));
	assert_true(may_bring(&limit, "b", 2000, 1000, SERIES_LIMIT_HOUR_NS));
	assert_false(may_bring(&limit, "a", 1000, 1, SERIES_LIMIT_HOUR_NS));
	assert_true(may_bring(&limit, "a", 1000, 1000, SERIES_LIMIT_HOUR_NS + 1)); /* in another hour */
	assert_false(may_bring(&limit, "b", 0, 1, SERIES_LIMIT_HOUR_NS + 1));
	series_limit_fini(&limit);
}

/* A stored request is remembered until its client has the answer, or its time has expired. */
static void
test_repeats(void **state)
{
	static const uint8_t digest[REPEATS_DIGEST_BYTES] = { 1 };
	Repeats repeats;

	repeats_init(&repeats);
	assert_int_equal(repeats_begin(&repeats, digest, 10), REPEAT_NEW);
	assert_int_equal(repeats_begin(&repeats, digest, 10), REPEAT_PENDING);
	repeats_expire(&repeats, digest, 5); /* a request that is not stored yet does not expire */
	assert_int_equal(repeats_begin(&repeats, digest, 10), REPEAT_PENDING);
	repeats_end(&repeats, digest, true);
	assert_int_equal(repeats_begin(&repeats, digest, INT64_MAX), REPEAT_STORED);
	repeats_expire(&repeats, digest, 20);
	assert_int_equal(repeats_begin(&repeats, digest, 20), REPEAT_STORED);
	assert_int_equal(repeats_begin(&repeats, digest, 21), REPEAT_NEW);
	repeats_end(&repeats, digest, true);
	repeats_told(&repeats, digest);
	assert_int_equal(repeats_begin(&repeats, digest, 22), REPEAT_NEW);
	repeats_end(&repeats, digest, false);
	assert_int_equal(repeats_begin(&repeats, digest, 23), REPEAT_NEW);
	repeats_fini(&repeats);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),		   cmocka_unit_test(test_clients_take_turns),
		cmocka_unit_test(test_fewest_at_work), cmocka_unit_test(test_withdraw),
		cmocka_unit_test(test_stop),		   cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_series_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
