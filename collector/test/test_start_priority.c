/*
 * test_start_priority.c
 *		The priority of threads at the start, and after it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

#include "agent/start_priority.h"
#include "failing_call.h"

#define OWN_NICE	  (-10) /* of a thread that sets its own priority */
#define MAY_NOT_RAISE 78	/* exit code of a child that must not raise its priority */

typedef struct Thread
{
	pthread_t thread;
	int own_nice; /* 0: the thread keeps the priority that it has */
	pid_t tid;
	pthread_barrier_t *ready;
	pthread_barrier_t *end;
} Thread;

static void *
thread_main(void *context)
{
	Thread *self = context;

	self->tid = gettid();
	if (self->own_nice != 0)
		(void) setpriority(PRIO_PROCESS, 0, self->own_nice);
	pthread_barrier_wait(self->ready);
	pthread_barrier_wait(self->end);
	return NULL;
}

/* Raises and ends the priority of the start in threads of this process. */
static int
run_start(int expected_end)
{
	int before = getpriority(PRIO_PROCESS, 0);
	StartPriority priority;
	pthread_barrier_t ready;
	pthread_barrier_t end;
	Thread threads[2] = { { .own_nice = 0 }, { .own_nice = OWN_NICE } };
	int raised;

	start_priority_raise(&priority);
	if (!priority.is_raised)
		return MAY_NOT_RAISE;
	raised = getpriority(PRIO_PROCESS, 0);
	pthread_barrier_init(&ready, NULL, 3);
	pthread_barrier_init(&end, NULL, 3);
	for (int i = 0; i < 2; i++)
	{
		threads[i].ready = &ready;
		threads[i].end = &end;
		if (pthread_create(&threads[i].thread, NULL, thread_main, &threads[i]) != 0)
			return 1;
	}
	pthread_barrier_wait(&ready);
	if (raised >= before || getpriority(PRIO_PROCESS, (id_t) threads[0].tid) != raised)
		return 2;
	if (start_priority_end(&priority) != expected_end || priority.is_raised)
		return 3;
	if (expected_end == 0 && (getpriority(PRIO_PROCESS, 0) != before ||
							  getpriority(PRIO_PROCESS, (id_t) threads[0].tid) != before))
		return 4;
	if (getpriority(PRIO_PROCESS, (id_t) threads[1].tid) != OWN_NICE)
		return 5;
	pthread_barrier_wait(&end);
	return 0;
}

/* Runs the start in a child, because its priority may remain. */
static void
assert_start(unsigned int error)
{
	int status;
	pid_t child = fork();

	if (child == 0)
	{
		if (error != 0)
			fail_call(SYS_getdents64, error);
		_exit(run_start(-(int) error));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_FILTERS || WEXITSTATUS(status) == MAY_NOT_RAISE)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
test_start(void **state)
{
	assert_start(0);
}

/* Threads that keep the priority of the start are reported. */
static void
test_unlisted_threads(void **state)
{
	assert_start(EIO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_unlisted_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
