/*
 * test_late_names.c
 *		Names that arrive after the samples: an interval does not wait for the symbol worker, and
 *		the names are stored once it answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "agent/flusher/late_names.h"
#include "agent/flusher/resolve.h"
#include "agent/reader/interval.h"
#include "base/clock.h"
#include "symbols/worker/worker.h"

typedef struct Fixture
{
	MappedFileTable *files;
	Symbolizer *symbolizer;
	LateNames *late;
	UnwindCounts counts;
	MappedFile *program;
	uint64_t offset; /* offset of a function of this program */
	Batch *batch;
} Fixture;

static void named_function(void);

/* A function whose name is resolved; it is not called. */
static __attribute__((noinline, used)) void
named_function(void)
{
	(void) getppid();
}

static int
setup(void **state)
{
	static Fixture fixture;
	const SymbolizerOptions options = { .cache_bytes = 1 << 20, .inlined_lines = true };
	Dl_info program;

	if (dladdr((void *) (uintptr_t) &named_function, &program) == 0 ||
		mapped_file_table_create(&fixture.files) != 0 ||
		symbolizer_create(&options, &fixture.symbolizer) != 0 ||
		late_names_create(fixture.files, &fixture.late) != 0 ||
		mapped_file_acquire_executable(fixture.files, 0, (uint32_t) getpid(), program.dli_fname,
									   &fixture.program) != 0 ||
		batch_create(1 << 20, &fixture.batch) != 0)
		return -1;
	unwind_counts_init(&fixture.counts);
	fixture.offset = (uintptr_t) &named_function - (uintptr_t) program.dli_fbase;
	*state = &fixture;
	return 0;
}

static int
teardown(void **state)
{
	Fixture *fixture = *state;

	batch_free(fixture->batch);
	unwind_counts_fini(&fixture->counts);
	late_names_free(fixture->late);
	mapped_file_release(fixture->files, fixture->program);
	mapped_file_table_free(fixture->files);
	symbolizer_free(fixture->symbolizer);
	return 0;
}

/* Returns the number of locations in the batch that have lines of the function. */
static uint32_t
named_locations(const Batch *batch)
{
	const BatchLocation *locations;
	const BatchFunction *functions;
	size_t count = batch_locations(batch, &locations);
	uint32_t named = 0;

	(void) batch_functions(batch, &functions);
	for (size_t i = 0; i < count; i++)
		named += locations[i].line_count > 0 &&
				 strcmp(functions[locations[i].lines[0].function].name, "named_function") == 0;
	return named;
}

/*
 * Builds one sample whose stack is the function alone, and resolves it for at most a tenth of a
 * second.
 */
static void
resolve_sample(Fixture *fixture, ResolveStats *stats)
{
	Frame frame = { .address = fixture->offset, .kind = FRAME_FILE };
	IntervalStack stack = { .side = STACK_USER_SIDE, .depth = 1, .frames = &frame };
	IntervalSample sample = { .count = 1, .value = 1 };
	ResolveContext context = {
		.files = fixture->files,
		.symbolizer = fixture->symbolizer,
		.unwind_counts = &fixture->counts,
		.late = fixture->late,
		.deadline_ns = clock_ns(CLOCK_MONOTONIC) + NS_PER_S / 10,
	};
	IntervalSeries series = { .period = 1 };
	LabelSetTable *labels;
	Interval *interval;
	uint32_t next = 0;

	assert_int_equal(label_set_table_create(1, &labels), 0);
	series.labels = label_set_add(labels, NULL, 0, 0);
	assert_non_null(series.labels);
	assert_int_equal(interval_create(fixture->files, 1 << 20, &interval), 0);
	assert_int_equal(interval_add_series(interval, series, &sample.series), 0);
	assert_int_equal(interval_add_file(interval, fixture->program, 1, &frame.item), 0);
	stack.executable = frame.item;
	assert_int_equal(interval_add_stack(interval, &stack, &sample.stack), 0);
	assert_int_equal(interval_add_sample(interval, &sample, &next), 0);
	next = 0;
	memset(stats, 0, sizeof(*stats));
	assert_int_equal(resolve_interval(&context, interval, &next, fixture->batch, stats), 0);
	assert_int_equal(next, 1);
	interval_free(interval);
	label_set_table_free(labels);
}

/*
 * If a worker does not answer, the sample is stored by its address, long before the worker is
 * abandoned; then the name of that location follows.
 */
static void
names_follow_samples(void **state)
{
	Fixture *fixture = *state;
	int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	const BatchLocation *locations;
	const BatchSample *samples;
	ResolveStats stats;
	Binary *binary;
	SymbolLines lines;
	uint64_t address;
	Batch *names;
	pid_t worker;

	assert_int_equal(binary_open(fixture->symbolizer, "/proc/self/exe", "self", &binary), 0);
	assert_int_equal(binary_symbolize(binary, 1, &lines), 0); /* the worker answers from here on */
	assert_true(binary_address(binary, fixture->offset, &address));
	worker = symbolizer_worker_pid(fixture->symbolizer);
	assert_true(worker > 0);
	assert_int_equal(kill(worker, SIGSTOP), 0);
	resolve_sample(fixture, &stats);
	assert_in_range(clock_ns(CLOCK_MONOTONIC) - began_ns, 0, 5 * NS_PER_S);
	assert_int_equal(batch_samples(fixture->batch, &samples), 1);
	assert_int_equal(stats.addresses_only, 1);
	assert_int_equal(named_locations(fixture->batch), 0);
	assert_int_equal(late_names_count(fixture->late), 1);

	/* other callers wait no longer for them */
	assert_int_equal(batch_create(1 << 20, &names), 0);
	assert_int_equal(late_names_resolve(fixture->late, fixture->symbolizer, 0,
										clock_ns(CLOCK_MONOTONIC) + NS_PER_S / 10, names),
					 0);
	assert_int_equal(late_names_count(fixture->late), 1);
	assert_int_equal(kill(worker, SIGCONT), 0);
	assert_int_equal(late_names_resolve(fixture->late, fixture->symbolizer, 0, INT64_MAX, names),
					 1);
	assert_int_equal(late_names_count(fixture->late), 0);
	assert_int_equal(named_locations(names), 1);
	assert_int_equal(batch_samples(names, &samples), 0);
	assert_int_equal(batch_locations(names, &locations), 1);
	assert_int_equal(locations[0].address, address);
	batch_free(names);
	binary_release(binary);
}

/* An owner has a share of the list, and entries that do not fit are counted. */
static void
bounds_what_is_owed(void **state)
{
	Fixture *fixture = *state;
	const uint64_t hostile = UINT64_C(1) << 3;
	const uint64_t honest = UINT64_C(1) << 4;

	for (uint64_t i = 0; i < LATE_NAMES_OWNER_MAX + 5; i++)
		late_names_add(fixture->late, fixture->program, i, hostile);
	late_names_add(fixture->late, fixture->program, 0, hostile); /* the list contains it already */
	assert_int_equal(late_names_count(fixture->late), LATE_NAMES_OWNER_MAX);
	assert_int_equal(late_names_dropped(fixture->late), 5);
	late_names_add(fixture->late, fixture->program, 1 << 20, honest);
	assert_int_equal(late_names_count(fixture->late), LATE_NAMES_OWNER_MAX + 1);
	assert_int_equal(late_names_dropped(fixture->late), 5);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_follow_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(bounds_what_is_owed, setup, teardown),
	};

	symbolizer_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
