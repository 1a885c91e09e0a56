/*
 * test_receive.c
 *		The queues between a receiver's threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "receive/receiver.h"

static const ReceiveOptions options = { .drop = "", .max_memory = 1 << 20 };
static const ServiceTable services = { NULL, 0 };

static void
want(Receiver *receiver, Call *calls[], size_t count)
{
	for (size_t i = 0; i < count; i++)
	{
		calls[i] = call_create();
		assert_non_null(calls[i]);
		receiver_want(receiver, calls[i]);
	}
}

static void
test_order(void **state)
{
	Receiver receiver;
	Failure failure;
	Call *calls[3];
	Call *back;

	assert_int_equal(receiver_init(&receiver, &options, &services, NULL, &failure), EXIT_OK);
	want(&receiver, calls, 3);
	for (size_t i = 0; i < 3; i++)
	{
		assert_ptr_equal(receiver_take(&receiver), calls[i]);
		receiver_give_back(&receiver, calls[i]);
	}
	back = receiver_collect(&receiver);
	for (size_t i = 0; i < 3; i++)
	{
		Call *next = back->next;

		assert_ptr_equal(back, calls[i]);
		call_free(back);
		back = next;
	}
	assert_null(back);
	assert_null(receiver_collect(&receiver));
	receiver_fini(&receiver);
}

/* A receiver that stops has no time for what waits yet: however much it is. */
static void
test_stop(void **state)
{
	Receiver receiver;
	Failure failure;
	Call *calls[3];
	Call *taken;

	assert_int_equal(receiver_init(&receiver, &options, &services, NULL, &failure), EXIT_OK);
	want(&receiver, calls, 3);
	taken = receiver_take(&receiver);
	assert_ptr_equal(taken, calls[0]);
	receiver_stop_workers(&receiver);
	assert_null(receiver_take(&receiver));
	call_free(taken);
	receiver_fini(&receiver); /* frees the others */
}

/* A stored request is known until its client was told, or the time is up. */
static void
test_repeats(void **state)
{
	static const uint8_t digest[REPEATS_DIGEST_BYTES] = { 1 };
	Repeats repeats;

	repeats_init(&repeats);
	assert_int_equal(repeats_begin(&repeats, digest, 10), REPEAT_NEW);
	assert_int_equal(repeats_begin(&repeats, digest, 10), REPEAT_PENDING);
	repeats_expire(&repeats, digest, 5); /* not stored yet: it is on its way however long */
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
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
