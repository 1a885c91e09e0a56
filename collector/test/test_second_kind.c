/*
 * test_second_kind.c
 *		A kind of sample beside time on the CPU, from this machine's kernel to a batch: time that a
 *		thread was away, by an entry point of the test's own, with the clock's beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "agent/reader.h"
#include "agent/resolve.h"
#include "base/clock.h"
#include "kernel/features.h"
#include "memory_tables.h"
#include "process/cpu_event.h"
#include "second_entry.skel.h"
#include "symbols/worker.h"

#define FREQUENCY_HZ 997
#define TURNS		 20
#define SLEEP_NS	 10000000
#define SPIN_NS		 UINT64_C(10000000)
#define MAX_CPUS	 64
#define RING_BYTES	 (8 << 20)

typedef struct World
{
	struct second_entry *skeleton;
	struct bpf_link *clocks[MAX_CPUS];
	struct bpf_link *at_switch;
	struct ring_buffer *ring;
	MappedFileTable *files;
	Symbolizer *symbolizer;
	KernelTables *tables;
	Losses losses;
	Reader *reader;
	uint64_t records[PFS_KIND_COUNT]; /* of this process */
	pthread_t poller;
	atomic_bool stopping;
} World;

void sleep_and_spin(void);
void sleep_in_turns(void);
void spin_in_turns(void);

__attribute__((noinline)) void
sleep_in_turns(void)
{
	struct timespec time = { 0, SLEEP_NS };

	assert_int_equal(nanosleep(&time, NULL), 0);
	__asm__ volatile("");
}

__attribute__((noinline)) void
spin_in_turns(void)
{
	uint64_t until_ns = (uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID) + SPIN_NS;

	while ((uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
	{
		for (volatile int i = 0; i < 100000; i++)
			;
	}
}

__attribute__((noinline)) void
sleep_and_spin(void)
{
	for (int i = 0; i < TURNS; i++)
	{
		sleep_in_turns();
		spin_in_turns();
	}
}

static int
on_record(void *context, void *record, size_t length_bytes)
{
	World *world = context;
	const struct pfs_sample *sample = record;

	if (sample->pid != (uint32_t) getpid())
		return 0;
	assert_in_range(sample->kind, 0, PFS_KIND_COUNT - 1);
	world->records[sample->kind]++;
	reader_handle_record(world->reader, record, length_bytes);
	return 0;
}

/* Copies of stacks fill the ring, and above half of it there are none: it is read meanwhile. */
static void *
poll_until_stopped(void *argument)
{
	World *world = argument;
	bool stopping;

	do
	{
		stopping = atomic_load(&world->stopping);
		while (ring_buffer__poll(world->ring, 0) > 0 || ring_buffer__consume(world->ring) > 0)
			;
		(void) usleep(1000);
	} while (!stopping);
	return NULL;
}

/* False where this kernel or our rights do not allow it. */
static bool
load(World *world)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	int cpus = libbpf_num_possible_cpus();

	(void) setrlimit(RLIMIT_MEMLOCK, &unlimited);
	world->skeleton = second_entry__open();
	if (world->skeleton == NULL || cpus > MAX_CPUS)
		return false;
	world->skeleton->rodata->pfs_levels = 2;
	world->skeleton->rodata->pfs_test_tid = (uint32_t) gettid();
	world->skeleton->rodata->pfs_late_limit_bytes = RING_BYTES / 2;
	bpf_map__set_max_entries(world->skeleton->maps.pfs_ring, RING_BYTES);
	bpf_map__set_max_entries(world->skeleton->maps.pfs_scratches, 2 * (uint32_t) cpus);
	return second_entry__load(world->skeleton) == 0;
}

static void
attach(World *world)
{
	struct perf_event_attr attributes = { .type = PERF_TYPE_SOFTWARE,
										  .size = sizeof(attributes),
										  .config = PERF_COUNT_SW_CPU_CLOCK,
										  .sample_period = UINT64_C(1000000000) / FREQUENCY_HZ };

	for (uint32_t cpu = 0; cpu < (uint32_t) sysconf(_SC_NPROCESSORS_ONLN) && cpu < MAX_CPUS; cpu++)
	{
		int fd = cpu_event_open(&attributes, cpu);

		assert_true(fd >= 0);
		world->clocks[cpu] = bpf_program__attach_perf_event(world->skeleton->progs.pfs_on_cpu, fd);
		assert_non_null(world->clocks[cpu]);
	}
	world->at_switch = bpf_program__attach(world->skeleton->progs.pfs_test_switch);
	assert_non_null(world->at_switch);
}

static void
detach(World *world)
{
	bpf_link__destroy(world->at_switch);
	for (int i = 0; i < MAX_CPUS; i++)
	{
		if (world->clocks[i] != NULL)
			bpf_link__destroy(world->clocks[i]);
	}
}

static void
set_up(World *world)
{
	const ReaderOptions options = { .labels = { .node = "host" },
									.window_us = INT64_C(600000000),
									.interval_bytes = 1 << 20,
									.process_limit = 16,
									.past_bytes = 1 << 20 };
	const SymbolizerOptions symbolizer = { .cache_bytes = 16 << 20, .debug_directory = "" };

	assert_int_equal(mapped_file_table_create(&world->files), 0);
	assert_int_equal(symbolizer_create(&symbolizer, &world->symbolizer), 0);
	assert_int_equal(reader_create(&options, world->files, &world->losses, &world->reader), 0);
	world->tables = memory_tables_create();
	assert_int_equal(reader_use_tables(world->reader, world->tables), 0);
	world->ring =
		ring_buffer__new(bpf_map__fd(world->skeleton->maps.pfs_ring), on_record, world, NULL);
	assert_non_null(world->ring);
	assert_int_equal(pthread_create(&world->poller, NULL, poll_until_stopped, world), 0);
}

static void
tear_down(World *world)
{
	ring_buffer__free(world->ring);
	reader_free(world->reader);
	memory_tables_free(world->tables);
	mapped_file_table_free(world->files);
	symbolizer_free(world->symbolizer);
	second_entry__destroy(world->skeleton);
}

/* Has the stack that function, called by sleep_and_spin? */
static bool
has_function(const Batch *batch, uint32_t number, const char *function)
{
	const BatchStack *stacks;
	const BatchLocation *locations;
	const BatchFunction *functions;
	const char *inner = "";

	batch_stacks(batch, &stacks);
	batch_locations(batch, &locations);
	batch_functions(batch, &functions);
	for (uint32_t i = 0; i < stacks[number].depth; i++)
	{
		const BatchLocation *location = &locations[stacks[number].locations[i]];
		const char *name =
			location->line_count > 0 ? functions[location->lines[0].function].name : "";

		if (strcmp(name, "sleep_and_spin") == 0 && strcmp(inner, function) == 0)
			return true;
		inner = name;
	}
	return false;
}

/* The value of a profile type's samples in that function; in all where it is NULL. */
static int64_t
value_of(const Batch *batch, const char *profile_type, const char *function)
{
	const BatchSample *samples;
	const BatchSeries *series;
	size_t count = batch_samples(batch, &samples);
	int64_t sum = 0;

	batch_series(batch, &series);
	for (size_t i = 0; i < count; i++)
	{
		if (strcmp(series[samples[i].series].profile_type, profile_type) == 0 &&
			(function == NULL || has_function(batch, samples[i].stack, function)))
			sum += samples[i].value;
	}
	return sum;
}

/*
 * A thread sleeps and works in turns. One kind sums the time that it was away, up to the last time
 * that it left; the other its time on the CPU. Both walk with one walker.
 */
static void
test_away(void **state)
{
	static const char wall[] = "wallclock:wall:nanoseconds:wall:nanoseconds:delta";
	static const char cpu[] = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta";
	World world = { 0 };
	UnwindCounts counts;
	ResolveContext context = { .unwind_counts = &counts, .deadline_ns = INT64_MAX };
	ResolveStats stats = { 0 };
	uint32_t next_stack = 0;
	Interval *interval;
	Batch *batch;
	int64_t elapsed_ns;
	int64_t cpu_ns;
	Failure failure = { 0 };

	if (features_check(false, &failure) != EXIT_OK || !load(&world))
	{
		print_message("skipped: %s\n", failure.message);
		skip();
	}
	set_up(&world);
	elapsed_ns = clock_ns(CLOCK_MONOTONIC);
	attach(&world);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	sleep_and_spin();
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	elapsed_ns = clock_ns(CLOCK_MONOTONIC) - elapsed_ns;
	detach(&world);
	atomic_store(&world.stopping, true);
	assert_int_equal(pthread_join(world.poller, NULL), 0);

	context.files = world.files;
	context.symbolizer = world.symbolizer;
	unwind_counts_init(&counts);
	interval = reader_take(world.reader);
	assert_int_equal(batch_create(8 << 20, &batch), 0);
	assert_int_equal(resolve_interval(&context, interval, &next_stack, batch, &stats), 0);
	print_message("%d samples on the CPU, %d off; %.0f of %.0f ms away, %.0f on the CPU\n",
				  (int) world.records[PFS_KIND_ON_CPU], (int) world.records[PFS_KIND_OFF_CPU],
				  1e-6 * (double) value_of(batch, wall, "sleep_in_turns"),
				  1e-6 * (double) elapsed_ns,
				  1e-6 * (double) value_of(batch, cpu, "spin_in_turns"));
	assert_true(world.records[PFS_KIND_OFF_CPU] >= TURNS);
	assert_true(value_of(batch, wall, NULL) >= (TURNS - 1) * (int64_t) SLEEP_NS / 2);
	assert_true(value_of(batch, wall, NULL) + cpu_ns <= elapsed_ns + SLEEP_NS / 10);
	assert_true(value_of(batch, wall, "sleep_in_turns") > 0);
	assert_true(value_of(batch, cpu, "spin_in_turns") > 0);
	assert_int_equal(stats.samples,
					 world.records[PFS_KIND_ON_CPU] + world.records[PFS_KIND_OFF_CPU]);
	interval_free(interval);
	batch_free(batch);
	unwind_counts_fini(&counts);
	tear_down(&world);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_away) };

	symbolizer_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
