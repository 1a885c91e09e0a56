/*
 * test_short_turns.c
 *		The length of threads' turns on the CPU, as the kernel reports it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "agent/reader/reader_parts.h"
#include "base/short_turns.h"

static void *
note_turn(void *length_ns)
{
	*(uint64_t *) length_ns = short_turns_length_ns();
	return NULL;
}

/* Notes the length of the turns of a thread of the reader, and of a thread that it starts. */
static void *
go_first(void *lengths)
{
	uint64_t *length_ns = lengths;
	pthread_t thread;

	reader_go_first();
	(void) note_turn(&length_ns[0]);
	if (pthread_create(&thread, NULL, note_turn, &length_ns[1]) == 0)
		pthread_join(thread, NULL);
	return NULL;
}

static void
test_reader_threads(void **state)
{
	uint64_t length_ns[2] = { 0, 0 };
	int priority = getpriority(PRIO_PROCESS, 0);
	pthread_t thread;

	(void) state;
	if (short_turns_length_ns() == 0)
	{
		print_message("the kernel does not tell the length of turns\n");
		skip();
	}
	assert_int_not_equal(short_turns_length_ns(), SHORT_TURN_NS);
	assert_int_equal(pthread_create(&thread, NULL, go_first, length_ns), 0);
	pthread_join(thread, NULL);
	assert_int_equal(length_ns[0], SHORT_TURN_NS);
	assert_int_equal(length_ns[1], SHORT_TURN_NS);
	/* the thread that started the reader's is unchanged */
	assert_int_not_equal(short_turns_length_ns(), SHORT_TURN_NS);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), priority);
}

/* The length has no effect on the priority. */
static void
test_priority(void **state)
{
	int priority = getpriority(PRIO_PROCESS, 0);

	(void) state;
	short_turns_take();
	assert_int_equal(getpriority(PRIO_PROCESS, 0), priority);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_threads),
		cmocka_unit_test(test_priority),
	};

	return cmocka_run_group_tests_name("short_turns", tests, NULL, NULL);
}
