/*
 * test_second_kind.c
 *		What the product has no source for yet, from this machine's kernel to a batch: time that a
 *		thread was away, by an entry point of the test's own beside the clock's; and names of code
 *		that is generated.
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
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "agent/flusher/resolve.h"
#include "agent/reader/reader.h"
#include "base/clock.h"
#include "kernel/features.h"
#include "memory_tables.h"
#include "process/cpu_event.h"
#include "process/cpu_list.h"
#include "second_entry.skel.h"
#include "symbols/worker/worker.h"

#define FREQUENCY_HZ 997
#define TURNS		 20
#define SLEEP_NS	 10000000
#define SPIN_NS		 UINT64_C(10000000)
#define RING_BYTES	 (8 << 20)

static const char off_cpu[] = "wallclock:wall:nanoseconds:wall:nanoseconds:delta";
static const char on_cpu[] = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta";

typedef struct World
{
	struct second_entry *skeleton;
	struct bpf_link *clocks[CPU_LIST_MAX];
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
	CodeTable *codes;
	uint64_t code;				/* where generated code is … */
	_Atomic uint64_t second_ns; /* … the second function, from this moment on; 0: not yet */
} World;

void sleep_and_spin(void);
void run_generated(void (*code)(void));
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

__attribute__((noinline)) void
run_generated(void (*code)(void))
{
	uint64_t until_ns = (uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID) + 6 * SPIN_NS;

	while ((uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		code();
}

/* One place, two functions in turn: what stood there when it was sampled counts. */
static size_t
name_generated(void *context, const ExecImage *image, const UserFrame *frame, uint64_t time_ns,
			   CodeObject *objects[CODE_INLINED_MAX])
{
	World *world = context;
	uint64_t second_ns = atomic_load(&world->second_ns);
	CodeName name = { .runtime = "[generated]", .file = "generated.x", .start_line = 3, .line = 4 };

	assert_int_equal(image->pid, getpid());
	if (frame->code < world->code || frame->code >= world->code + 4096)
		return 0;
	name.name = second_ns != 0 && time_ns >= second_ns ? "second" : "first";
	objects[0] = code_table_add(world->codes, &name);
	return objects[0] != NULL;
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

static void
load(World *world)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	(void) setrlimit(RLIMIT_MEMLOCK, &unlimited);
	world->skeleton = second_entry__open();
	assert_non_null(world->skeleton);
	world->skeleton->rodata->pfs_levels = 2;
	world->skeleton->rodata->pfs_test_tid = (uint32_t) gettid();
	world->skeleton->rodata->pfs_late_limit_bytes = RING_BYTES / 2;
	bpf_map__set_max_entries(world->skeleton->maps.pfs_ring, RING_BYTES);
	bpf_map__set_max_entries(world->skeleton->maps.pfs_scratches,
							 2 * (uint32_t) libbpf_num_possible_cpus());
	assert_int_equal(second_entry__load(world->skeleton), 0);
}

/* Opens the clocks, and the entry point at sched_switch where it is wanted. */
static void
attach(World *world, bool at_switch)
{
	struct perf_event_attr attributes = { .type = PERF_TYPE_SOFTWARE,
										  .size = sizeof(attributes),
										  .config = PERF_COUNT_SW_CPU_CLOCK,
										  .sample_period = UINT64_C(1000000000) / FREQUENCY_HZ };

	for (uint32_t cpu = 0; cpu < (uint32_t) sysconf(_SC_NPROCESSORS_ONLN) && cpu < CPU_LIST_MAX;
		 cpu++)
	{
		int fd = cpu_event_open(&attributes, cpu);

		assert_true(fd >= 0);
		world->clocks[cpu] = bpf_program__attach_perf_event(world->skeleton->progs.pfs_on_cpu, fd);
		assert_non_null(world->clocks[cpu]);
	}
	if (!at_switch)
		return;
	world->at_switch = bpf_program__attach(world->skeleton->progs.pfs_test_switch);
	assert_non_null(world->at_switch);
}

static void
detach(World *world)
{
	if (world->at_switch != NULL)
		bpf_link__destroy(world->at_switch);
	for (int i = 0; i < CPU_LIST_MAX; i++)
	{
		if (world->clocks[i] != NULL)
			bpf_link__destroy(world->clocks[i]);
	}
}

static void
set_up(World *world)
{
	const ReaderOptions options = {
		.labels = { .node = "host" },
		.window_us = INT64_C(600000000),
		.interval_bytes = 1 << 20,
		.memory_bytes = 384 << 20,
		.process_limit = 16,
		.past_bytes = 1 << 20,
		.namer = { .name = name_generated, .context = world, .table = world->codes }
	};
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
	code_table_free(world->codes);
	symbolizer_free(world->symbolizer);
	second_entry__destroy(world->skeleton);
}

/* Has the stack that function, called by that other one? */
static bool
has_call(const Batch *batch, uint32_t number, const char *function, const char *caller)
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

		if (strcmp(name, caller) == 0 && strcmp(inner, function) == 0)
			return true;
		inner = name;
	}
	return false;
}

/* The value of a profile type's samples in that call; in all where function is NULL. */
static int64_t
value_of(const Batch *batch, const char *profile_type, const char *function, const char *caller)
{
	const BatchSample *samples;
	const BatchSeries *series;
	size_t count = batch_samples(batch, &samples);
	int64_t sum = 0;

	batch_series(batch, &series);
	for (size_t i = 0; i < count; i++)
	{
		if (strcmp(series[samples[i].series].profile_type, profile_type) == 0 &&
			(function == NULL || has_call(batch, samples[i].stack, function, caller)))
			sum += samples[i].value;
	}
	return sum;
}

/* All that was sampled, with symbols. The world's clocks and threads have ended. */
static Batch *
take_batch(World *world, ResolveStats *stats)
{
	UnwindCounts counts;
	ResolveContext context = { .files = world->files,
							   .symbolizer = world->symbolizer,
							   .unwind_counts = &counts,
							   .deadline_ns = INT64_MAX };
	Interval *interval = reader_take(world->reader);
	uint32_t next_stack = 0;
	Batch *batch;

	unwind_counts_init(&counts);
	assert_int_equal(batch_create(8 << 20, &batch), 0);
	assert_int_equal(resolve_interval(&context, interval, &next_stack, batch, stats), 0);
	interval_free(interval);
	unwind_counts_fini(&counts);
	return batch;
}

static void
stop(World *world)
{
	detach(world);
	atomic_store(&world->stopping, true);
	assert_int_equal(pthread_join(world->poller, NULL), 0);
}

/* Skips the test where kernel or rights do not allow it. */
static void
load_or_skip(World *world)
{
	Failure failure = { 0 };

	if (features_check(false, &failure) != EXIT_OK)
	{
		print_message("skipped: %s\n", failure.message);
		skip();
	}
	load(world);
}

/*
 * A thread sleeps and works in turns. One kind sums the time that it was away, up to the last time
 * that it left; the other its time on the CPU. Both walk with one walker.
 */
static void
test_away(void **state)
{
	World world = { 0 };
	ResolveStats stats = { 0 };
	Batch *batch;
	int64_t elapsed_ns;
	int64_t cpu_ns;

	load_or_skip(&world);
	set_up(&world);
	elapsed_ns = clock_ns(CLOCK_MONOTONIC);
	attach(&world, true);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	sleep_and_spin();
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	elapsed_ns = clock_ns(CLOCK_MONOTONIC) - elapsed_ns;
	stop(&world);
	batch = take_batch(&world, &stats);
	print_message("%d samples on the CPU, %d off; %.0f ms away and %.0f on the CPU of %.0f\n",
				  (int) world.records[PFS_KIND_ON_CPU], (int) world.records[PFS_KIND_WAIT_SLEEP],
				  1e-6 * (double) value_of(batch, off_cpu, NULL, NULL), 1e-6 * (double) cpu_ns,
				  1e-6 * (double) elapsed_ns);
	assert_true(world.records[PFS_KIND_WAIT_SLEEP] >= TURNS);
	assert_true(value_of(batch, off_cpu, NULL, NULL) >= (TURNS - 1) * (int64_t) SLEEP_NS / 2);
	assert_true(value_of(batch, off_cpu, NULL, NULL) + cpu_ns <= elapsed_ns + SLEEP_NS / 10);
	assert_true(value_of(batch, off_cpu, "sleep_in_turns", "sleep_and_spin") > 0);
	assert_true(value_of(batch, on_cpu, "spin_in_turns", "sleep_and_spin") > 0);
	assert_int_equal(stats.samples,
					 world.records[PFS_KIND_ON_CPU] + world.records[PFS_KIND_WAIT_SLEEP]);
	batch_free(batch);
	tear_down(&world);
}

#ifdef __x86_64__
/* Generated code is walked by its frame pointer, and called by whose place it had when it ran. */
static void
test_generated(void **state)
{
	static const uint8_t loop[] = {
		0x55, 0x48, 0x89, 0xe5,		  /* push rbp; mov rbp, rsp */
		0xb9, 0x00, 0x00, 0x01, 0x00, /* mov ecx, 65536 */
		0xff, 0xc9, 0x75, 0xfc,		  /* dec ecx; jnz */
		0x5d, 0xc3,					  /* pop rbp; ret */
	};
	World world = { 0 };
	ResolveStats stats = { 0 };
	CodeTableStats codes;
	Batch *batch;
	void *code;
	union
	{
		void *address;
		void (*function)(void);
	} call;

	load_or_skip(&world);
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	memcpy(code, loop, sizeof(loop));
	call.address = code;
	world.code = (uintptr_t) code;
	assert_int_equal(code_table_create(1 << 16, &world.codes), 0);
	set_up(&world);
	attach(&world, false);
	run_generated(call.function);
	atomic_store(&world.second_ns, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	run_generated(call.function);
	stop(&world);
	batch = take_batch(&world, &stats);
	print_message("%.0f ms first, %.0f ms second\n",
				  1e-6 * (double) value_of(batch, on_cpu, "first", "run_generated"),
				  1e-6 * (double) value_of(batch, on_cpu, "second", "run_generated"));
	assert_true(value_of(batch, on_cpu, "first", "run_generated") > 0);
	assert_true(value_of(batch, on_cpu, "second", "run_generated") > 0);
	assert_int_equal(value_of(batch, on_cpu, "[jit]", "run_generated"), 0);
	code_table_stats(world.codes, &codes);
	assert_int_equal(codes.count, 0);
	batch_free(batch);
	tear_down(&world);
	munmap(code, 4096);
}
#endif

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_away),
#ifdef __x86_64__
		cmocka_unit_test(test_generated),
#endif
	};

	symbolizer_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
