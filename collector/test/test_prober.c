/*
 * test_prober.c
 *		Calls with a deadline: the threads that make them, and the pauses after calls that were not
 *		answered.
 */
#include "process_fixture.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "process/prober.h"

/* Time after which a test that waits fails. */
#define PATIENCE_S 20

typedef struct Sleep
{
	Probe probe;
	atomic_bool *let_go;
	atomic_int *discarded;
	bool ran;
} Sleep;

static void
run_sleep(Probe *probe)
{
	Sleep *asleep = (Sleep *) probe;

	while (!atomic_load(asleep->let_go))
		usleep(1000);
	asleep->ran = true;
}

static void
discard_sleep(Probe *probe)
{
	Sleep *asleep = (Sleep *) probe;

	atomic_fetch_add(asleep->discarded, 1);
	free(asleep);
}

static int
run_one(Prober *prober, ProbeSubject subject, atomic_bool *let_go, atomic_int *discarded,
		uint64_t wait_ns)
{
	Sleep *asleep = calloc(1, sizeof(*asleep));
	int result;

	asleep->probe = (Probe){ .run = run_sleep, .discard = discard_sleep, .subject = subject };
	asleep->let_go = let_go;
	asleep->discarded = discarded;
	result = prober_run(prober, &asleep->probe, wait_ns);
	if (result == 0)
	{
		assert_true(asleep->ran);
		free(asleep);
	}
	return result;
}

/*
 * Abandoned threads are limited in number, are used again when they return, and hold up no other.
 */
static void
test_prober(void **state)
{
	const ProbeSubject nobody = { 0 };
	atomic_bool never = false;
	atomic_bool at_once = true;
	atomic_int discarded = 0;
	Prober *prober;
	int stuck = 0;
	int result;

	assert_int_equal(prober_create(&prober), 0);
	assert_int_equal(run_one(prober, nobody, &at_once, &discarded, PATIENCE_S * NS_PER_S), 0);
	do
	{
		result = run_one(prober, nobody, &never, &discarded, NS_PER_S / 1000);
		stuck += result == -ETIMEDOUT;
	} while (result == -ETIMEDOUT);
	assert_int_equal(result, -EBUSY);
	assert_int_equal(prober_stuck(prober), PROBER_STUCK);
	assert_int_equal(atomic_load(&discarded), stuck - PROBER_STUCK + 1);
	atomic_store(&never, true);
	while (prober_stuck(prober) > 0)
		usleep(1000);
	assert_int_equal(atomic_load(&discarded), stuck + 1);
	assert_int_equal(run_one(prober, nobody, &at_once, &discarded, PATIENCE_S * NS_PER_S), 0);
	prober_free(prober);
}

/* Calls for the subject until no further call is made. */
static void
use_up(Prober *prober, ProbeSubject subject, atomic_bool *never, atomic_int *discarded)
{
	int result;

	do
		result = run_one(prober, subject, never, discarded, NS_PER_S / 1000);
	while (result == -ETIMEDOUT);
	assert_int_equal(result, -EBUSY);
}

/* Starts a process of another user. */
static pid_t
start_nobody(void)
{
	char byte = 0;
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0)
	{
		/* a process that changes its user is readable for root only, until it becomes dumpable */
		if (setresuid(65534, 65534, 65534) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0 ||
			prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || write(fds[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

/* A device that does not answer, or an owner's processes, use up only their own threads. */
static void
test_prober_shares(void **state)
{
	const ProbeSubject mine = { .pid = (uint32_t) getpid() };
	const ProbeSubject device = { .device = 7 };
	const ProbeSubject other_device = { .device = 8 };
	ProbeSubject other = { 0 };
	atomic_bool never = false;
	atomic_bool at_once = true;
	atomic_int discarded = 0;
	Prober *prober;

	if (getuid() != 0)
		skip();
	other.pid = (uint32_t) start_nobody();
	assert_int_equal(prober_create(&prober), 0);
	use_up(prober, device, &never, &discarded);
	assert_int_equal(prober_stuck(prober), PROBER_DEVICE_STUCK);
	assert_true(prober_avoids(prober, device.device));
	assert_false(prober_avoids(prober, other_device.device));
	assert_int_equal(run_one(prober, other_device, &at_once, &discarded, PATIENCE_S * NS_PER_S), 0);
	use_up(prober, mine, &never, &discarded);
	assert_int_equal(prober_stuck(prober), PROBER_DEVICE_STUCK + PROBER_OWNER_STUCK);
	assert_int_equal(run_one(prober, other, &at_once, &discarded, PATIENCE_S * NS_PER_S), 0);
	/* tried again once it answers */
	atomic_store(&never, true);
	while (prober_stuck(prober) > 0)
		usleep(1000);
	assert_int_equal(run_one(prober, device, &at_once, &discarded, PATIENCE_S * NS_PER_S), 0);
	assert_int_equal(run_one(prober, mine, &at_once, &discarded, PATIENCE_S * NS_PER_S), 0);
	prober_free(prober);
	stop_child((pid_t) other.pid);
}

static void
run_slowly(Probe *probe)
{
	(void) probe;
	usleep(30000);
}

static void
discard_slow(Probe *probe)
{
	free(probe);
}

static int
run_slow_one(Prober *prober, ProbeSubject subject)
{
	Probe *probe = calloc(1, sizeof(*probe));
	int result;

	*probe = (Probe){ .run = run_slowly, .discard = discard_slow, .subject = subject };
	result = prober_run(prober, probe, PATIENCE_S * NS_PER_S);
	if (result == 0)
		free(probe);
	return result;
}

/* Waits for an owner whose processes always answer, but late, are limited. */
static void
test_prober_slow(void **state)
{
	const ProbeSubject mine = { .pid = (uint32_t) getpid() };
	const ProbeSubject device = { .device = 8 };
	Prober *prober;
	int result = 0;

	(void) state;
	assert_int_equal(prober_create(&prober), 0);
	for (int i = 0; i < 200 && result == 0; i++)
		result = run_slow_one(prober, mine);
	assert_int_equal(result, -ETIMEDOUT);
	assert_int_equal(run_slow_one(prober, device), 0);
	prober_free(prober);
}

typedef struct Spin
{
	Probe probe;
	int64_t cpu_ns; /* CPU time that it used */
	atomic_int *discarded;
} Spin;

static void
run_spin(Probe *probe)
{
	int64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ((Spin *) probe)->cpu_ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		continue;
}

static void
discard_spin(Probe *probe)
{
	atomic_fetch_add(((Spin *) probe)->discarded, 1);
	free((Spin *) probe);
}

static int
spin_once(Prober *prober, int64_t cpu_ns, atomic_int *discarded)
{
	Spin *spin = calloc(1, sizeof(*spin));
	int result;

	spin->probe = (Probe){ .run = run_spin, .discard = discard_spin };
	spin->cpu_ns = cpu_ns;
	spin->discarded = discarded;
	result = prober_run(prober, &spin->probe, 50 * NS_PER_MS);
	if (result == 0)
		free(spin);
	return result;
}

/*
 * Starts a process that takes 98.5 % of the CPU that it shares with a thread of the lowest
 * priority.
 */
static pid_t
start_spinner(void)
{
	pid_t pid = fork();

	if (pid == 0)
	{
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
			_exit(1);
		for (;;)
			continue;
	}
	return pid;
}

/* Runs a prober whose threads have the lowest priority, beside a program that takes their CPU. */
static void *
ask_without_cpu(void *argument)
{
	Prober *prober = argument;
	atomic_int discarded = 0;
	cpu_set_t one;
	int *results = calloc(2, sizeof(*results));
	pid_t spinner;

	CPU_ZERO(&one);
	CPU_SET((size_t) sched_getcpu(), &one);
	(void) sched_setaffinity(0, sizeof(one), &one);
	spinner = start_spinner();
	/* priority of this thread, and of those that it starts */
	(void) setpriority(PRIO_PROCESS, 0, 19);
	results[0] = spin_once(prober, 30 * NS_PER_MS, &discarded);
	kill(spinner, SIGKILL);
	(void) waitpid(spinner, NULL, 0);
	results[1] = spin_once(prober, 3 * NS_PER_S, &discarded);
	while (atomic_load(&discarded) < (results[0] != 0) + (results[1] != 0))
		usleep(1000);
	return results;
}

/*
 * A call that gets no CPU is waited for, because the process that it is about is not the reason. A
 * call that uses a CPU without end is not waited for.
 */
static void
test_prober_without_cpu(void **state)
{
	pthread_t thread;
	Prober *prober;
	int *results;

	(void) state;
	assert_int_equal(prober_create(&prober), 0);
	assert_int_equal(pthread_create(&thread, NULL, ask_without_cpu, prober), 0);
	assert_int_equal(pthread_join(thread, (void **) &results), 0);
	assert_int_equal(results[0], 0);
	assert_int_equal(results[1], -ETIMEDOUT);
	free(results);
	prober_free(prober);
}

/*
 * Pauses grow while no call is answered; a failure long after the last pause counts as a first one.
 */
static void
test_stall(void **state)
{
	Stall stall = { 0 };
	uint64_t now_ns = NS_PER_S;
	uint64_t length_ns;

	(void) state;
	stall_note(&stall, now_ns);
	length_ns = stall.until_ns - now_ns;
	for (int i = 0; i < 10; i++)
	{
		uint64_t before_ns = stall.until_ns - now_ns;

		now_ns = stall.until_ns;
		stall_note(&stall, now_ns);
		assert_in_range(stall.until_ns - now_ns, before_ns, 4 * before_ns);
	}
	assert_int_equal(stall.until_ns - now_ns, 256 * length_ns);
	now_ns = stall.until_ns + 256 * length_ns;
	stall_note(&stall, now_ns);
	assert_int_equal(stall.until_ns - now_ns, length_ns);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prober),		cmocka_unit_test(test_prober_shares),
		cmocka_unit_test(test_prober_slow), cmocka_unit_test(test_prober_without_cpu),
		cmocka_unit_test(test_stall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
