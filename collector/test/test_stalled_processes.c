/*
 * test_stalled_processes.c
 *		How long a process whose memory did not answer is left alone, and whose processes are
 *		forgotten if there are too many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

#include "agent/reader/stalled_processes.h"
#include "base/clock.h"

#define PAUSE_NS (5 * NS_PER_S / 2)

static ExecImage
image(uint32_t pid)
{
	return (ExecImage){ .pid = pid, .start_time_ns = 1, .exec_id = 1 };
}

static void
note(StalledProcesses *stalled, uint32_t pid, uint64_t owner, uint64_t now_ns)
{
	const ExecImage process = image(pid);

	stalled_processes_note(stalled, &process, owner, now_ns);
}

static bool
put_off(StalledProcesses *stalled, uint32_t pid, uint64_t now_ns)
{
	const ExecImage process = image(pid);

	return stalled_processes_put_off(stalled, &process, now_ns);
}

/* A process is left alone for a time, which grows; another process with its pid is not. */
static void
test_pauses(void **state)
{
	StalledProcesses stalled = { .put_off = 0 };
	ExecImage other = image(1);

	(void) state;
	other.start_time_ns++;
	assert_false(put_off(&stalled, 1, 1));
	note(&stalled, 1, 1, 1);
	assert_true(put_off(&stalled, 1, 1));
	assert_true(put_off(&stalled, 1, PAUSE_NS));
	assert_false(put_off(&stalled, 1, 1 + PAUSE_NS));
	assert_false(stalled_processes_put_off(&stalled, &other, 1));
	note(&stalled, 1, 1, 1 + PAUSE_NS);
	assert_true(put_off(&stalled, 1, 5 * PAUSE_NS));
	assert_false(put_off(&stalled, 1, 1 + 5 * PAUSE_NS));
	assert_int_equal(stalled.put_off, 3);
	assert_int_equal(stalled.displaced, 0);
}

/* Any number of processes of one owner displaces none of another owner, however old. */
static void
test_owner_displaces_its_own(void **state)
{
	StalledProcesses stalled = { .put_off = 0 };

	(void) state;
	for (uint32_t pid = 1; pid <= STALLED_MAX / 4; pid++)
		note(&stalled, pid, 1, 0);
	for (uint32_t pid = 1001; pid <= 1000 + 4 * STALLED_MAX; pid++)
		note(&stalled, pid, 2, pid);
	for (uint32_t pid = 1; pid <= STALLED_MAX / 4; pid++)
		assert_true(put_off(&stalled, pid, 2000));
	/* the other owner has the rest, those whose pauses end last */
	assert_true(put_off(&stalled, 1000 + 4 * STALLED_MAX, 2000));
	assert_true(put_off(&stalled, 1000 + 4 * STALLED_MAX - STALLED_MAX * 3 / 4 + 1, 2000));
	assert_false(put_off(&stalled, 1000 + 4 * STALLED_MAX - STALLED_MAX * 3 / 4, 2000));
	assert_int_equal(stalled.displaced, 3 * STALLED_MAX + STALLED_MAX / 4);
}

/* Processes whose pauses are long over make room first, whoever their owner is. */
static void
test_old_ones_make_room(void **state)
{
	StalledProcesses stalled = { .put_off = 0 };

	(void) state;
	note(&stalled, 1, 1, 0);
	for (uint32_t pid = 2; pid <= STALLED_MAX; pid++)
		note(&stalled, pid, 2, PAUSE_NS);
	note(&stalled, 1000, 2, 2 * PAUSE_NS);
	assert_int_equal(stalled.displaced, 0);
	assert_true(put_off(&stalled, 1000, 2 * PAUSE_NS));
	for (uint32_t pid = 2; pid <= STALLED_MAX; pid++)
		assert_true(put_off(&stalled, pid, 2 * PAUSE_NS - 1));
	/* its entry is gone, so the next pause is the first one again */
	note(&stalled, 1, 1, 2 * PAUSE_NS);
	assert_false(put_off(&stalled, 1, 3 * PAUSE_NS));
	assert_int_equal(stalled.displaced, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_owner_displaces_its_own),
		cmocka_unit_test(test_old_ones_make_room),
	};

	return cmocka_run_group_tests_name("stalled_processes", tests, NULL, NULL);
}
