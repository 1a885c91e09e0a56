/*
 * test_off_cpu.c
 *		Waits of this process's own threads, as this machine's kernel reports them: the time that a
 *		thread waited and the time that it ran add up to the elapsed time.
 *
 * The time that a thread ran comes from its own clock, so the result does not depend on other
 * processes: a thread that is kept from running waits, and that counts too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/reader/record.h"
#include "base/clock.h"
#include "kernel/off_cpu.h"
#include "kernel/sampler.h"
#include "kernel/scheduler_code.h"
#include "kernel/wait_round.h"
#include "sampler_figures.h"

#define THREADS 80

/* The samples of a thread. */
typedef struct Waits
{
	uint32_t tid;
	uint64_t ns[PFS_KIND_COUNT];
	uint64_t samples;
	uint64_t late;		   /* samples with a copy of their stack */
	uint64_t user_sides;   /* samples with an innermost frame */
	uint64_t in_scheduler; /* samples whose kernel side begins in the scheduler after it was cut */
	uint64_t without_kernel_side;
} Waits;

typedef struct World
{
	Sampler *sampler;
	Losses losses;
	SchedulerCode scheduler;
	pthread_t poller;
	atomic_bool stopping;
	pthread_mutex_t
		/*
		 * guards the members below: the poller and sampler_tend(), in another thread, both deliver
		 * records
		 */
		mutex;
	uint32_t pid; /* the process whose threads are counted */
	Waits threads[THREADS];
	size_t count;
} World;

static Waits *
waits_of(World *world, uint32_t tid)
{
	for (size_t i = 0; i < world->count; i++)
	{
		if (world->threads[i].tid == tid)
			return &world->threads[i];
	}
	assert_true(world->count < THREADS);
	world->threads[world->count].tid = tid;
	return &world->threads[world->count++];
}

static void
on_record(void *context, const void *bytes, size_t length_bytes)
{
	World *world = context;
	Record record;
	Waits *waits;
	size_t cut;

	assert_true(record_parse(bytes, length_bytes, &record));
	if (record.sample->pid != world->pid || record.sample->kind == PFS_KIND_ON_CPU)
		return;
	pthread_mutex_lock(&world->mutex);
	waits = waits_of(world, record.sample->tid);
	waits->ns[record.sample->kind] += record.sample->value;
	waits->samples++;
	waits->late += record.late != NULL;
	waits->user_sides += record.sample->user_count > 0;
	cut =
		scheduler_code_depth(&world->scheduler, record.kernel_frames, record.sample->kernel_count);
	waits->in_scheduler += cut < record.sample->kernel_count &&
						   record.kernel_frames[cut] >= world->scheduler.start &&
						   record.kernel_frames[cut] < world->scheduler.end;
	waits->without_kernel_side += record.sample->kernel_count == 0;
	pthread_mutex_unlock(&world->mutex);
	assert_true(record.sample->value >= record.sample->period);
}

static void *
poll_until_stopped(void *argument)
{
	World *world = argument;
	bool stopping;

	do
	{
		stopping = atomic_load(&world->stopping);
		while (sampler_poll(world->sampler, 0) > 0)
			;
		(void) usleep(2000);
	} while (!stopping);
	return NULL;
}

/* Starts the sampler. Returns false if this kernel, or the test's privileges, do not allow it. */
static bool
begin(World *world, uint64_t period_ns, uint32_t rate, uint64_t switches)
{
	const SamplerOptions options = { .frequency_hz = 1,
									 .memory_bytes = (size_t) 96 << 20,
									 .sources = { .off_cpu_period_ns = period_ns,
												  .off_cpu_rate = rate,
												  .off_cpu_switches = switches },
									 .losses = &world->losses,
									 .interval_ns = 300 * NS_PER_MS };
	Failure failure;

	memset(world, 0, sizeof(*world));
	pthread_mutex_init(&world->mutex, NULL);
	world->pid = (uint32_t) getpid();
	assert_int_equal(scheduler_code_read("/proc/kallsyms", &world->scheduler), 0);
	if (sampler_create(&options, on_record, world, &world->sampler, &failure) != EXIT_OK)
	{
		print_message("skipped: %s: %s\n", failure.message, failure.detail);
		assert_int_equal(failure.code, EXIT_PRIVILEGE);
		return false;
	}
	assert_int_equal(sampler_attach(world->sampler, &failure), EXIT_OK);
	assert_int_equal(pthread_create(&world->poller, NULL, poll_until_stopped, world), 0);
	return true;
}

static void
end(World *world)
{
	uint64_t counters[PFS_COUNTER_COUNT];

	sampler_stop(world->sampler);
	atomic_store(&world->stopping, true);
	pthread_join(world->poller, NULL);
	assert_int_equal(sampler_counters(world->sampler, counters), 0);
	assert_int_equal(counters[PFS_COUNTER_RING_FULL], 0);
	assert_int_equal(counters[PFS_COUNTER_NO_SCRATCH], 0);
	assert_int_equal(counters[PFS_COUNTER_WAIT_NO_ROOM], 0);
	sampler_free(world->sampler);
}

static uint64_t
sum(const Waits *waits)
{
	uint64_t ns = 0;

	for (int kind = PFS_KIND_ON_CPU + 1; kind < PFS_KIND_COUNT; kind++)
		ns += waits->ns[kind];
	return ns;
}

/* The work of a thread between two readings of its clocks. */
typedef struct Work
{
	void (*run)(void);
	int cpu; /* the CPU that the thread is bound to; -1: none */
	uint32_t tid;
	int64_t asked_ns; /* the time at which it should begin */
	/* the time until it first read its clocks, during which it waited or ran */
	uint64_t unknown_ns;
	uint64_t waited_ns; /* time after it first read its clocks, minus its CPU time */
} Work;

static void *
run_work(void *argument)
{
	Work *work = argument;
	int64_t wall_ns;
	int64_t cpu_ns;

	work->tid = (uint32_t) gettid();
	if (work->cpu >= 0)
	{
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((size_t) work->cpu, &set);
		assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	}
	wall_ns = clock_ns(CLOCK_MONOTONIC);
	work->unknown_ns = (uint64_t) (wall_ns - work->asked_ns);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	work->run();
	work->waited_ns = (uint64_t) (clock_ns(CLOCK_MONOTONIC) - wall_ns -
								  (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns));
	return NULL;
}

static void
start_all(Work *works, size_t count, pthread_t *threads)
{
	for (size_t i = 0; i < count; i++)
	{
		works[i].asked_ns = clock_ns(CLOCK_MONOTONIC);
		assert_int_equal(pthread_create(&threads[i], NULL, run_work, &works[i]), 0);
	}
}

static void
run_all(Work *works, size_t count)
{
	pthread_t threads[THREADS];

	start_all(works, count, threads);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void
spin(uint64_t ns)
{
	uint64_t until_ns = (uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while ((uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		;
}

static void
sleep_and_spin(void)
{
	for (int i = 0; i < 20; i++)
	{
		(void) usleep(30000);
		spin(10 * NS_PER_MS);
	}
}

static void
spin_half_a_second(void)
{
	spin(500 * NS_PER_MS);
}

static void
sleep_often(void)
{
	for (int i = 0; i < 2000; i++)
		(void) usleep(1000);
}

/* The kernel lets a thread that calls vfork() wait for its child, whatever signals arrive. */
static void
wait_for_children(void)
{
	for (int i = 0; i < 5; i++)
	{
		pid_t child = vfork();

		if (child == 0)
		{
			(void) usleep(40000);
			_exit(0);
		}
		(void) waitpid(child, NULL, 0);
	}
}

/* If all waits are kept, the samples add up to the difference of the thread's clocks. */
static void
test_all_is_the_wall(void **state)
{
	Work works[] = { { sleep_and_spin, -1 },
					 { wait_for_children, -1 },
					 { spin_half_a_second, 0 },
					 { spin_half_a_second, 0 } };
	static World world;

	if (!begin(&world, 1, 1000000, 0))
		skip();
	run_all(works, 4);
	end(&world);
	for (size_t i = 0; i < 4; i++)
	{
		const Waits *waits = waits_of(&world, works[i].tid);
		double told = (double) sum(waits);
		double waited = (double) works[i].waited_ns;

		print_message("thread %zu: waited %.3f ms, told %.3f ms in %llu samples\n", i, waited / 1e6,
					  told / 1e6, (unsigned long long) waits->samples);
		assert_true(told > 0.99 * waited - 1e6);
		assert_true(told < 1.01 * waited + 1e6 + (double) works[i].unknown_ns);
		assert_int_equal(waits->in_scheduler, 0);
		assert_int_equal(waits->without_kernel_side, 0);
	}
	assert_true(waits_of(&world, works[0].tid)->ns[PFS_KIND_WAIT_SLEEP] >=
				UINT64_C(20) * 30 * NS_PER_MS);
	assert_true(waits_of(&world, works[1].tid)->ns[PFS_KIND_WAIT_UNINTERRUPTIBLE] >=
				UINT64_C(5) * 40 * NS_PER_MS);
	/* two threads that want one CPU: at least one waits as long as the other runs */
	assert_true(waits_of(&world, works[2].tid)->ns[PFS_KIND_WAIT_PREEMPTED] +
					waits_of(&world, works[3].tid)->ns[PFS_KIND_WAIT_PREEMPTED] >=
				500 * NS_PER_MS * 9 / 10);
}

/* A part of the short waits is kept, and represents all: within four deviations of the estimate. */
static void
test_short_waits_count(void **state)
{
	const uint64_t period_ns = 2 * NS_PER_MS;
	Work work = { sleep_often, -1 };
	uint64_t counters[PFS_COUNTER_COUNT];
	const Waits *waits;
	double deviation;
	static World world;

	if (!begin(&world, period_ns, 1000000, 0))
		skip();
	run_all(&work, 1);
	assert_int_equal(sampler_counters(world.sampler, counters), 0);
	/* switches whose waits are not kept cost time as well, which is charged */
	assert_true(counters[PFS_COUNTER_LOOK_NS] > 0);
	assert_int_equal(sampler_foreign_ns(counters),
					 counters[PFS_COUNTER_TIME_NS] + counters[PFS_COUNTER_LOOK_NS]);
	end(&world);
	waits = waits_of(&world, work.tid);
	/* each wait adds a variance of at most d (period - d), which is largest at half the period */
	deviation = sqrt(2000.0) * (double) period_ns / 2;
	print_message("waited %.3f ms, told %.3f ms in %llu samples, deviation %.3f ms\n",
				  (double) work.waited_ns / 1e6, (double) sum(waits) / 1e6,
				  (unsigned long long) waits->samples, deviation / 1e6);
	assert_true(fabs((double) sum(waits) - (double) work.waited_ns) < 4 * deviation);
	assert_true(waits->samples < 2000);
}

static int block_pipe[2];
static _Atomic uint32_t blocked_tid;

static void *
block(void *argument)
{
	char byte;

	(void) argument;
	atomic_store(&blocked_tid, (uint32_t) gettid());
	assert_int_equal(read(block_pipe[0], &byte, 1), 1);
	return NULL;
}

/*
 * A wait that began before the sampler and continues: each interval gets its part, and the last
 * one, too.
 */
static void
test_wait_that_goes_on(void **state)
{
	pthread_t thread;
	int64_t begin_ns;
	int64_t attached_ns;
	int64_t tended_ns;
	int64_t end_ns;
	const Waits *waits;
	static World world;

	assert_int_equal(pipe(block_pipe), 0);
	assert_int_equal(pthread_create(&thread, NULL, block, NULL), 0);
	while (atomic_load(&blocked_tid) == 0)
		(void) usleep(1000);
	(void) usleep(50000);
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	if (!begin(&world, 10 * NS_PER_MS, 1000000, 0))
		skip();
	attached_ns = clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < 3; i++)
	{
		(void) usleep(300000);
		sampler_tend(world.sampler);
	}
	tended_ns = clock_ns(CLOCK_MONOTONIC);
	(void) usleep(20000); /* until the ring is read */
	waits = waits_of(&world, blocked_tid);
	assert_true(waits->samples >= 3);
	assert_int_equal(waits->late, waits->samples);
	assert_int_equal(waits->user_sides, waits->samples);
	assert_int_equal(waits->in_scheduler, 0);
	assert_int_equal(waits->without_kernel_side, 0);
	assert_int_equal(write(block_pipe[1], "x", 1), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	end_ns = clock_ns(CLOCK_MONOTONIC);
	end(&world);
	/* attaching and the last reading take a moment, longer on a busy machine */
	print_message("told %.3f ms of %.3f ms\n", (double) waits->ns[PFS_KIND_WAIT_SLEEP] / 1e6,
				  (double) (tended_ns - attached_ns) / 1e6);
	assert_true(sum(waits) == waits->ns[PFS_KIND_WAIT_SLEEP]);
	assert_true(waits->ns[PFS_KIND_WAIT_SLEEP] >= 900 * NS_PER_MS);
	/* its last part may be shorter than a period, but count as one */
	assert_true(waits->ns[PFS_KIND_WAIT_SLEEP] <= (uint64_t) (end_ns - begin_ns) + 10 * NS_PER_MS);
	assert_true(waits->samples >= 4);
	close(block_pipe[0]);
	close(block_pipe[1]);
}

/* A thread that is killed during a wait has waited until then. */
static void
test_killed_while_waiting(void **state)
{
	int64_t begin_ns;
	uint64_t lived_ns;
	int ready[2];
	char byte = 0;
	pid_t child;
	static World world;

	if (!begin(&world, 1, 1000000, 0))
		skip();
	assert_int_equal(pipe(ready), 0);
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
	{
		if (write(ready[1], &byte, 1) == 1)
			(void) pause();
		_exit(0);
	}
	world.pid = (uint32_t) child;
	/* from here on the child waits */
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	(void) usleep(300000);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	lived_ns = (uint64_t) (clock_ns(CLOCK_MONOTONIC) - begin_ns);
	end(&world);
	assert_in_range(sum(waits_of(&world, (uint32_t) child)), 290 * NS_PER_MS, lived_ns);
}

/* Too many waits lead to a longer period with an equal sum. */
static void
test_paced(void **state)
{
	Work works[] = { { sleep_often, -1 }, { sleep_often, -1 }, { sleep_often, -1 } };
	const uint32_t rate = 50;
	pthread_t threads[3];
	uint64_t longest_ns;
	double waited = 0;
	double told = 0;
	static World world;

	if (!begin(&world, NS_PER_MS, rate, 0))
		skip();
	start_all(works, 3, threads);
	for (int i = 0; i < 5; i++)
	{
		(void) usleep(500000);
		sampler_pace_tended(world.sampler, clock_ns(CLOCK_MONOTONIC));
	}
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	longest_ns = 1000 * figure_of(world.sampler, "wait_period_us");
	end(&world);
	for (size_t i = 0; i < 3; i++)
	{
		waited += (double) works[i].waited_ns;
		told += (double) sum(waits_of(&world, works[i].tid));
	}
	print_message("waited %.3f ms, told %.3f ms, period %.3f ms\n", waited / 1e6, told / 1e6,
				  (double) longest_ns / 1e6);
	assert_true(longest_ns >= 2 * NS_PER_MS);
	assert_true(fabs(told - waited) < 4 * sqrt(3 * 2000.0) * (double) longest_ns / 2);
}

/* Too many switches: a part of the time is measured and represents the whole. */
static void
test_looks_away(void **state)
{
	static World world;
	Work works[] = { { sleep_often, -1 }, { sleep_often, -1 } };
	pthread_t threads[2];
	double waited = 0;
	double told = 0;
	uint32_t one_in;

	if (!begin(&world, 1, 1000000, 1))
		skip();
	start_all(works, 2, threads);
	for (int i = 0; i < 3; i++)
	{
		sampler_pace_tended(world.sampler, clock_ns(CLOCK_MONOTONIC));
		(void) usleep(1000000);
	}
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	one_in = (uint32_t) figure_of(world.sampler, "switches_one_in");
	end(&world);
	for (size_t i = 0; i < 2; i++)
	{
		waited += (double) works[i].waited_ns;
		told += (double) sum(waits_of(&world, works[i].tid));
	}
	print_message("waited %.3f ms, told %.3f ms, one in %u\n", waited / 1e6, told / 1e6, one_in);
	assert_int_equal(one_in, 16);
	/* all of the first second, and nothing of the following ones */
	assert_true(told > 0 && told < 0.8 * waited);
}

/* Waits that are shorter than the period count in proportion while the sampler is suspended. */
static void
test_short_when_it_looks_away(void **state)
{
	enum
	{
		BLOCKED = 64
	};
	const double period = 4e9;
	pthread_t threads[BLOCKED];
	static World world;
	int64_t begin_ns;
	double told = 0;
	double wall;

	assert_int_equal(pipe(block_pipe), 0);
	for (int i = 0; i < BLOCKED; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, block, NULL), 0);
	(void) usleep(100000);
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	if (!begin(&world, (uint64_t) period, 1000000, 1))
		skip();
	sampler_pace_tended(world.sampler, clock_ns(CLOCK_MONOTONIC));
	(void) usleep(1100000);
	sampler_pace_tended(world.sampler, clock_ns(CLOCK_MONOTONIC));
	wall = (double) (clock_ns(CLOCK_MONOTONIC) - begin_ns);
	assert_int_equal(figure_of(world.sampler, "switches_one_in"), 16);
	assert_int_equal(write(block_pipe[1], &world, BLOCKED), BLOCKED);
	for (int i = 0; i < BLOCKED; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	end(&world);
	for (size_t i = 0; i < world.count; i++)
		told += (double) sum(&world.threads[i]);
	print_message("%d threads waited %.3f s each, told %.3f s\n", BLOCKED, wall / 1e9, told / 1e9);
	/* each wait adds a variance of at most d (period - d), which is largest at half the period */
	assert_true(told > BLOCKED * 1.1e9 - 4 * sqrt(BLOCKED) * period / 2);
	assert_true(told < BLOCKED * wall + 4 * sqrt(BLOCKED) * period / 2);
	close(block_pipe[0]);
	close(block_pipe[1]);
}

/* If waits are not requested, their programs and maps are not loaded. */
static void
test_off(void **state)
{
	static World world;
	uint64_t counters[PFS_COUNTER_COUNT];

	if (!begin(&world, 0, 0, 0))
		skip();
	(void) usleep(50000);
	sampler_tend(world.sampler);
	assert_int_equal(sampler_counters(world.sampler, counters), 0);
	assert_int_equal(counters[PFS_COUNTER_WAITS], 0);
	end(&world);
	assert_int_equal(world.count, 0);
}

/*
 * The scheduler's frames at the inner end of a stack are removed; a stack is never removed whole.
 */
static void
test_scheduler_code(void **state)
{
	const uint64_t stack[] = { 0x1005, 0x2005, 0x3010, 0x4001, 0x2010 };
	const uint64_t born[] = { 0x1005, 0x180, 0x210 };
	SchedulerCode code;
	char path[] = "/tmp/profstore-kallsyms-XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");

	assert_non_null(file);
	fputs("0000000000000100 T schedule_tail\n0000000000000200 T wake\n"
		  "0000000000001000 t bpf_prog_run\n0000000000002000 T __sched_text_start\n"
		  "0000000000002000 T __schedule\n0000000000003000 T schedule\n"
		  "0000000000004000 T __sched_text_end\n0000000000004000 t pipe_read\n",
		  file);
	fclose(file);
	assert_int_equal(scheduler_code_read(path, &code), 0);
	unlink(path);
	assert_int_equal(scheduler_code_depth(&code, stack, 5), 3);
	assert_int_equal(scheduler_code_depth(&code, stack, 3), 2);
	assert_int_equal(scheduler_code_depth(&code, born, 3), 2);
	assert_int_equal(scheduler_code_depth(&code, stack + 3, 1), 0);
	assert_int_equal(scheduler_code_depth(&code, stack, 1), 0);
	assert_int_equal(scheduler_code_depth(&code, stack, 0), 0);
	assert_int_equal(scheduler_code_read("/dev/null", &code), -ENOENT);
	assert_int_equal(scheduler_code_read("/nonexistent", &code), -ENOENT);
	assert_int_equal(scheduler_code_depth(&code, stack, 5), 0);
}

/*
 * Half of the samples; fewer if there are very many threads, because each batch of waits is a round
 * through all.
 */
static void
test_allowed_waits(void **state)
{
	const uint64_t round_ns = UINT64_C(10000000000);

	(void) state;
	assert_int_equal(off_cpu_allowed_waits(1000, round_ns, 0), 5001);
	assert_int_equal(off_cpu_allowed_waits(1000, round_ns, 1000), 5001);
	for (uint64_t threads = 1000; threads <= 4000000; threads *= 2)
	{
		uint64_t waits = off_cpu_allowed_waits(1000, round_ns, threads);
		uint64_t batches = (waits + WAIT_ROUND_BATCH_WAITS - 1) / WAIT_ROUND_BATCH_WAITS;

		assert_in_range(waits, 1, 5001);
		if (batches > 1)
			assert_in_range(batches * threads, 0, 1000000);
	}
	assert_int_equal(off_cpu_allowed_waits(1000, round_ns, 4000000), WAIT_ROUND_BATCH_WAITS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scheduler_code),			 cmocka_unit_test(test_off),
		cmocka_unit_test(test_all_is_the_wall),			 cmocka_unit_test(test_short_waits_count),
		cmocka_unit_test(test_wait_that_goes_on),		 cmocka_unit_test(test_paced),
		cmocka_unit_test(test_short_when_it_looks_away), cmocka_unit_test(test_looks_away),
		cmocka_unit_test(test_killed_while_waiting),	 cmocka_unit_test(test_allowed_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
