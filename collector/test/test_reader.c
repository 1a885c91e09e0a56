/*
 * test_reader.c
 *		From ring buffer records to a batch: labels, sums, windows, functions, incompleteness.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/flusher/resolve.h"
#include "agent/reader/reader.h"
#include "agent/reader/unwind_tables.h"
#include "base/clock.h"
#include "memory_tables.h"
#include "process/proc_file.h"
#include "symbols/worker/worker.h"

#define WINDOW_US INT64_C(10000000)

typedef struct Fixture
{
	ReaderOptions options;
	MappedFileTable *files;
	Symbolizer *symbolizer;
	Losses losses;
	Reader *reader;
	ResolveStats stats;
	Batch *batch;
} Fixture;

typedef struct Record
{
	struct pfs_sample sample;
	uint64_t stack[PFS_MAX_FRAMES + PFS_MAX_USER_FRAMES];
} Record;

static int
setup(void **state)
{
	Fixture *fixture = calloc(1, sizeof(*fixture));
	SymbolizerOptions symbolizer = { .cache_bytes = 16 << 20, .debug_directory = "" };

	fixture->options = (ReaderOptions){
		.labels = { .node = "host" },
		.window_us = WINDOW_US,
		.interval_bytes = 1 << 20,
		.memory_bytes = 384 << 20,
		.process_limit = 16,
		.past_bytes = 1 << 20,
	};
	assert_int_equal(mapped_file_table_create(&fixture->files), 0);
	assert_int_equal(symbolizer_create(&symbolizer, &fixture->symbolizer), 0);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	Fixture *fixture = *state;

	batch_free(fixture->batch);
	reader_free(fixture->reader);
	mapped_file_table_free(fixture->files);
	symbolizer_free(fixture->symbolizer);
	free(fixture);
	return 0;
}

/* A sample of a process, without a stack. */
static Record
record_of(pid_t pid)
{
	Record record = {
		.sample = { .pid = (uint32_t) pid, .tid = (uint32_t) pid, .value = 1000, .period = 1000 }
	};
	ProcStat stat;

	assert_int_equal(proc_stat_read((uint32_t) pid, &stat), 0);
	record.sample.start_time_ns =
		stat.start_ticks * (UINT64_C(1000000000) / (uint64_t) sysconf(_SC_CLK_TCK));
	record.sample.arg_start = stat.arg_start;
	record.sample.time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	strcpy(record.sample.process_comm, "tester");
	memcpy(record.sample.comm, "sixteen bytes 16", PFS_COMM_BYTES); /* no NUL at the end */
	return record;
}

static Record
own_record(void)
{
	return record_of(getpid());
}

static void
send(Fixture *fixture, const Record *record)
{
	size_t frames = (size_t) record->sample.kernel_count + pfs_walk_kept(record->sample.user_count);

	if (fixture->reader == NULL)
		assert_int_equal(reader_create(&fixture->options, fixture->files, &fixture->losses,
									   &fixture->reader),
						 0);
	reader_handle_record(fixture->reader, record,
						 sizeof(record->sample) + frames * sizeof(uint64_t));
}

static void
finish(Fixture *fixture)
{
	UnwindCounts counts;
	ResolveContext context = {
		.files = fixture->files,
		.symbolizer = fixture->symbolizer,
		.unwind_counts = &counts,
		.deadline_ns = INT64_MAX,
	};
	uint32_t next_stack = 0;
	Interval *interval = reader_take(fixture->reader);
	const BatchUnwound *unwound;
	uint64_t stacks = 0;
	uint64_t complete = 0;

	unwind_counts_init(&counts);
	assert_non_null(interval);
	assert_int_equal(batch_create(8 << 20, &fixture->batch), 0);
	assert_int_equal(resolve_interval(&context, interval, &next_stack, fixture->batch,
									  &fixture->stats),
					 0);
	assert_int_equal(next_stack, interval_stack_count(interval));
	interval_free(interval);

	/* the counts of the executables add up */
	unwind_counts_report(&counts, fixture->batch);
	for (size_t i = batch_unwound(fixture->batch, &unwound); i-- > 0;)
	{
		stacks += unwound[i].stacks;
		complete += unwound[i].complete;
	}
	assert_int_equal(stacks, fixture->stats.user_samples);
	assert_int_equal(complete, fixture->stats.complete);
	unwind_counts_fini(&counts);
}

/* Functions of a stack of the batch, leaf first, joined by ';'. */
static void
stack_text(const Batch *batch, uint32_t stack, char *text, size_t size)
{
	const BatchStack *stacks;
	const BatchLocation *locations;
	const BatchFunction *functions;

	batch_stacks(batch, &stacks);
	batch_locations(batch, &locations);
	batch_functions(batch, &functions);
	text[0] = '\0';
	for (uint32_t i = 0; i < stacks[stack].depth; i++)
	{
		const BatchLocation *location = &locations[stacks[stack].locations[i]];
		size_t used = strlen(text);

		snprintf(text + used, size - used, "%s%s", i > 0 ? ";" : "",
				 location->line_count > 0
					 ? functions[location->lines[location->line_count - 1].function].name
					 : "?");
	}
}

static const char *
label_value(const Batch *batch, uint32_t series, const char *name)
{
	const BatchSeries *items;

	batch_series(batch, &items);
	for (uint32_t i = 0; i < items[series].label_count; i++)
	{
		if (strcmp(items[series].labels[i].name, name) == 0)
			return items[series].labels[i].value;
	}
	return "";
}

/* Public functions, so that a symbol table of any kind has them. */
void test_leaf(void);
void start_thread(void);

__attribute__((noinline)) void
test_leaf(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

/* Named like a root, so that a stack which ends here is whole. */
__attribute__((noinline)) void
start_thread(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

static uint64_t
address_of(void (*function)(void))
{
	return (uint64_t) (uintptr_t) function;
}

/* One more user frame; a return address is that of a function + 1: one less is looked up. */
static void
add_frame(Record *record, uint64_t address)
{
	record->stack[record->sample.user_count++] = address;
}

/* The batch has one sample, of that stack. */
static void
assert_only_stack(const Fixture *fixture, const char *expected)
{
	const BatchSample *samples;
	char text[256];

	assert_int_equal(batch_samples(fixture->batch, &samples), 1);
	stack_text(fixture->batch, samples[0].stack, text, sizeof(text));
	assert_string_equal(text, expected);
}

/* Sends a sample that has test_leaf as its last frame. */
static void
send_leaf(Fixture *fixture, Record *record)
{
	add_frame(record, address_of(test_leaf));
	send(fixture, record);
}

static void
test_sums(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	const BatchSample *samples;
	const BatchSeries *series;

	add_frame(&record, address_of(test_leaf));
	add_frame(&record, address_of(start_thread) + 1);
	send(fixture, &record);
	send(fixture, &record);
	send(fixture, &record);
	finish(fixture);
	assert_only_stack(fixture, "test_leaf;start_thread");
	assert_int_equal(batch_samples(fixture->batch, &samples), 1);
	assert_int_equal(samples[0].value, 3000);
	assert_int_equal(samples[0].time_us % WINDOW_US, 0);
	assert_int_equal(fixture->stats.samples, 3);
	assert_int_equal(fixture->stats.user_samples, 3);
	assert_int_equal(fixture->stats.complete, 3);
	assert_int_equal(batch_series(fixture->batch, &series), 1);
	assert_string_equal(series[0].profile_type,
						"process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta");
	assert_int_equal(series[0].period, 1000);
	assert_string_equal(label_value(fixture->batch, 0, "node"), "host");
	assert_string_equal(label_value(fixture->batch, 0, "comm"), "tester");
	assert_string_equal(label_value(fixture->batch, 0, "pid"), "");
	assert_string_equal(label_value(fixture->batch, 0, "thread_name"), "");
	assert_true(label_value(fixture->batch, 0, "exe")[0] == '/');
}

/* Without a root the stack hangs under a frame that says so. */
static void
test_incomplete(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();

	add_frame(&record, address_of(test_leaf));
	add_frame(&record, 0x10); /* no code: a register that was no frame pointer led there */
	add_frame(&record, address_of(start_thread) + 1);
	send(fixture, &record);
	finish(fixture);
	assert_only_stack(fixture, "test_leaf;[incomplete]");
	assert_int_equal(fixture->stats.complete, 0);
	assert_int_equal(losses_total(&fixture->losses, LOSS_ADDRESS_UNKNOWN), 0);
}

/* A stack that fills the record to its limit. */
static void
test_deepest(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	const BatchSample *samples;
	const BatchStack *stacks;

	record.sample.user_count = PFS_MAX_FRAMES;
	for (int i = 0; i < PFS_MAX_FRAMES; i++)
		record.stack[i] = address_of(test_leaf) + 1;
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_samples(fixture->batch, &samples), 1);
	batch_stacks(fixture->batch, &stacks);
	assert_int_equal(stacks[samples[0].stack].depth, PFS_MAX_FRAMES + 1);
	assert_int_equal(fixture->stats.complete, 0);
}

/* Of deep recursion the record has the innermost frames, and, going round, the outermost. */
static void
test_cut(void **state)
{
	const uint32_t found = 1000;
	Fixture *fixture = *state;
	Record record = own_record();
	const BatchSample *samples;
	const BatchStack *stacks;
	char text[16384];

	record.sample.user_count = (uint16_t) found;
	for (uint32_t i = 0; i < found; i++)
		record.stack[pfs_walk_place(i)] = address_of(test_leaf) + 1;
	record.stack[pfs_walk_place(found - 1)] = address_of(start_thread) + 1;
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_samples(fixture->batch, &samples), 1);
	batch_stacks(fixture->batch, &stacks);
	assert_int_equal(stacks[samples[0].stack].depth, PFS_MAX_USER_FRAMES + 1);
	stack_text(fixture->batch, samples[0].stack, text, sizeof(text));
	assert_memory_equal(text + PFS_LEAF_FRAMES * strlen("test_leaf;"), "[frames cut];", 13);
	assert_string_equal(text + strlen(text) - strlen(";test_leaf;start_thread"),
						";test_leaf;start_thread");
	assert_int_equal(fixture->stats.complete, 1);
	assert_int_equal(losses_total(&fixture->losses, LOSS_STACK_CUT), 1);
	assert_int_equal(losses_total(&fixture->losses, LOSS_FRAMES_CUT), found - PFS_MAX_USER_FRAMES);
}

/* Start code keeps no frame pointers: what a walk finds beyond a root is not its caller. */
static void
test_beyond_root(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();

	add_frame(&record, address_of(test_leaf));
	add_frame(&record, address_of(start_thread) + 1);
	add_frame(&record, address_of(test_leaf) + 2);
	send(fixture, &record);
	finish(fixture);
	assert_only_stack(fixture, "test_leaf;start_thread");
	assert_int_equal(fixture->stats.complete, 1);
}

/*
 * Where rules led to the end a function that only bears a root's name has callers; start code is
 * its innermost function.
 */
static void
test_name_of_root(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();

	record.sample.user_status = PFS_WALK_END_OF_STACK;
	add_frame(&record, address_of(test_leaf));
	add_frame(&record, address_of(start_thread) + 1);
	add_frame(&record, address_of(test_leaf) + 2);
	add_frame(&record, address_of(start_thread) + 1);
	add_frame(&record, address_of(start_thread) + 1);
	send(fixture, &record);
	finish(fixture);
	assert_only_stack(fixture, "test_leaf;start_thread;test_leaf;start_thread");
	assert_int_equal(fixture->stats.complete, 1);
}

static void
test_process_gone(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	const BatchStack *stacks;

	record.sample.start_time_ns += 1000000000;
	send_leaf(fixture, &record);
	finish(fixture);
	assert_only_stack(fixture, "[process gone];[incomplete]");
	assert_string_equal(label_value(fixture->batch, 0, "comm"), "tester");
	batch_stacks(fixture->batch, &stacks);
	assert_string_equal(stacks[0].partition, "unknown");
	assert_int_equal(losses_total(&fixture->losses, LOSS_PROCESS_GONE), 1);
}

static void
test_kernel_thread(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	const BatchStack *stacks;
	const BatchSample *samples;

	record.sample.flags = PFS_SAMPLE_KERNEL_THREAD;
	strcpy(record.sample.process_comm, "kworker/u8:3");
	record.sample.kernel_count = 1;
	record.stack[0] = UINT64_C(0xffffffff81000000);
	send(fixture, &record);
	strcpy(record.sample.process_comm, "kworker/1:0");
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_samples(fixture->batch, &samples), 1);
	assert_string_equal(label_value(fixture->batch, 0, "comm"), "kworker");
	assert_string_equal(label_value(fixture->batch, 0, "exe"), "");
	assert_int_equal(batch_stacks(fixture->batch, &stacks), 1);
	assert_int_equal(stacks[0].depth, 1);
	assert_string_equal(stacks[0].partition, "kernel");
	assert_int_equal(fixture->stats.user_samples, 0);
}

/*
 * A thread that works for the kernel has no user side, and the process that it belongs to has one
 * all the same.
 */
static void
test_worker(void **state)
{
	Fixture *fixture = *state;
	Record worker = own_record();
	Record record = own_record();
	const BatchStack *stacks;

	worker.sample.flags = PFS_SAMPLE_WORKER;
	worker.sample.kernel_count = 1;
	worker.stack[0] = UINT64_C(0xffffffff81000000);
	send(fixture, &worker);
	add_frame(&record, address_of(test_leaf));
	add_frame(&record, address_of(start_thread) + 1);
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_stacks(fixture->batch, &stacks), 2);
	assert_int_equal(stacks[0].depth, 1);
	assert_int_equal(stacks[1].depth, 2);
	assert_int_equal(fixture->stats.user_samples, 1);
	assert_int_equal(fixture->stats.complete, 1);
	assert_true(label_value(fixture->batch, 0, "exe")[0] == '/');
	assert_int_equal(losses_total(&fixture->losses, LOSS_PROCESS_GONE), 0);
}

/* Each name is a series of its own, so a process that renames itself gets so many and no more. */
static void
test_names_in_a_loop(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	const int count = 3000;
	const BatchSeries *series;
	size_t series_count;
	int others = 0;

	add_frame(&record, address_of(start_thread));
	for (int i = 0; i < count; i++)
	{
		snprintf(record.sample.process_comm, sizeof(record.sample.process_comm), "loop-%d", i);
		send(fixture, &record);
	}
	/* one that has its series keeps it */
	strcpy(record.sample.process_comm, "loop-0");
	send(fixture, &record);
	finish(fixture);
	series_count = batch_series(fixture->batch, &series);
	/* a slow machine takes some seconds, in which one or two more are allowed */
	assert_in_range(series_count, LABELLER_PROCESS_BURST + 1, LABELLER_PROCESS_BURST + 16);
	for (size_t i = 0; i < series_count; i++)
		others += strcmp(label_value(fixture->batch, (uint32_t) i, "comm"), LABELLER_OTHER) == 0;
	assert_int_equal(others, 1);
	assert_int_equal(losses_total(&fixture->losses, LOSS_SERIES_CAPPED),
					 count - (int) series_count + 1);
	assert_int_equal(fixture->stats.samples, count + 1);
}

typedef struct Rule
{
	const char *team;
	bool drops;
	int calls;
} Rule;

static LabelVerdict
apply_rule(void *context, const LabelFacts *facts, LabelList *list)
{
	Rule *rule = context;

	rule->calls++;
	assert_string_equal(facts->comm, "tester");
	if (rule->drops || !label_list_set(list, "team", rule->team) ||
		!label_list_set(list, "exe", ""))
		return LABELS_DROPPED;
	return LABELS_KEPT;
}

/* Labels are made and relabelled once, and again when more is known. */
static void
test_relabelled(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	Rule rule = { .team = "" };
	const BatchSeries *series;

	fixture->options.labels.rule = apply_rule;
	fixture->options.labels.rule_context = &rule;
	add_frame(&record, address_of(start_thread));
	for (int i = 0; i < 5; i++)
		send(fixture, &record);
	assert_int_equal(rule.calls, 1);
	rule.team = "storage";
	send(fixture, &record);
	assert_int_equal(rule.calls, 1);
	reader_learned_labels(fixture->reader);
	send(fixture, &record);
	send(fixture, &record);
	assert_int_equal(rule.calls, 2);
	rule.drops = true;
	reader_learned_labels(fixture->reader);
	send(fixture, &record);
	assert_int_equal(reader_dropped(fixture->reader), 1);
	rule.drops = false;
	reader_learned_labels(fixture->reader);
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_series(fixture->batch, &series), 2);
	assert_string_equal(label_value(fixture->batch, 0, "team"), "");
	assert_string_equal(label_value(fixture->batch, 1, "team"), "storage");
	assert_string_equal(label_value(fixture->batch, 1, "exe"), "");
	assert_int_equal(fixture->stats.samples, 9);
}

/* Inside exec the old user side is gone and the new one has not begun: nothing is missing. */
static void
test_inside_exec(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	const BatchStack *stacks;

	record.sample.flags = PFS_SAMPLE_NO_IMAGE;
	record.sample.kernel_count = 1;
	record.stack[0] = UINT64_C(0xffffffff81000000);
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_stacks(fixture->batch, &stacks), 1);
	assert_int_equal(stacks[0].depth, 1);
	assert_int_equal(fixture->stats.samples, 1);
	assert_int_equal(fixture->stats.user_samples, 0);
	assert_int_equal(losses_total(&fixture->losses, LOSS_PROCESS_GONE), 0);
}

/* Address of a function of the running kernel; 0: it has none, or we may not see it. */
static uint64_t
kernel_address(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	uint64_t address;
	uint64_t found = 0;
	char type;
	char symbol[512];

	while (file != NULL && found == 0 &&
		   fscanf(file, "%" SCNx64 " %c %511s%*[^\n]", &address, &type, symbol) == 3)
		found = strcmp(symbol, name) == 0 ? address : 0;
	if (file != NULL)
		fclose(file);
	return found;
}

/* A tick that waited for an interrupt to end is the interrupted code's, one in a fault is not. */
static void
test_tick_behind_interrupt(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	uint64_t leaving = kernel_address("irqentry_exit_to_user_mode");
	uint64_t interrupt = kernel_address("asm_sysvec_apic_timer_interrupt");
	uint64_t fault = kernel_address("asm_exc_page_fault");
	const BatchSample *samples;
	const BatchStack *stacks;
	char text[256];

	if (leaving == 0 || interrupt == 0 || fault == 0)
		skip();
	record.sample.kernel_count = 2;
	record.sample.user_count = 2;
	record.stack[0] = leaving + 1;
	record.stack[1] = interrupt + 2;
	record.stack[2] = address_of(test_leaf);
	record.stack[3] = address_of(start_thread) + 1;
	send(fixture, &record);
	record.stack[1] = fault + 2;
	send(fixture, &record);
	record.stack[0] = interrupt + 2; /* anything else, below an interrupt */
	record.stack[1] = interrupt + 2;
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_samples(fixture->batch, &samples), 3);
	batch_stacks(fixture->batch, &stacks);
	stack_text(fixture->batch, samples[0].stack, text, sizeof(text));
	assert_string_equal(text, "test_leaf;start_thread");
	stack_text(fixture->batch, samples[1].stack, text, sizeof(text));
	assert_string_equal(text,
						"irqentry_exit_to_user_mode;asm_exc_page_fault;test_leaf;start_thread");
	assert_int_equal(stacks[samples[2].stack].depth, 4);
}

static void
test_labels(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	char pid[16];

	fixture->options.labels.pid = true;
	fixture->options.labels.thread = true;
	send_leaf(fixture, &record);
	finish(fixture);
	snprintf(pid, sizeof(pid), "%d", (int) getpid());
	assert_string_equal(label_value(fixture->batch, 0, "pid"), pid);
	assert_string_equal(label_value(fixture->batch, 0, "thread_name"), "sixteen bytes 16");
}

/* Windows are aligned, but the first begins with the sampling. */
static void
test_windows(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	int64_t now_us = clock_ns(CLOCK_REALTIME) / 1000;
	const BatchSample *samples;

	fixture->options.start_us = now_us - 3 * WINDOW_US;
	send_leaf(fixture, &record);
	record.sample.time_ns -= (uint64_t) WINDOW_US * 1000;
	send(fixture, &record);
	/* the window in which sampling began */
	record.sample.time_ns -= (uint64_t) WINDOW_US * 2000;
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_samples(fixture->batch, &samples), 3);
	assert_int_equal(samples[0].time_us % WINDOW_US, 0);
	assert_int_equal(samples[0].time_us - samples[1].time_us, WINDOW_US);
	assert_int_equal(samples[2].time_us, fixture->options.start_us);
}

/* The clock was set back by an hour since sampling began: windows are as long as before. */
static void
test_clock_set_back(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	const BatchSample *samples;

	fixture->options.start_us = clock_ns(CLOCK_REALTIME) / 1000 + INT64_C(3600000000);
	send_leaf(fixture, &record);
	record.sample.time_ns -= (uint64_t) WINDOW_US * 1000;
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_samples(fixture->batch, &samples), 2);
	assert_int_equal(samples[0].time_us - samples[1].time_us, WINDOW_US);
	assert_true(samples[0].time_us < fixture->options.start_us);
}

/* With their own times, samples of one stack stay apart, a microsecond if need be. */
static void
test_own_times(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	const BatchSample *samples;

	fixture->options.keep_times = true;
	send_leaf(fixture, &record);
	record.sample.time_ns += 1000;
	send(fixture, &record);
	record.sample.time_ns += 52631578;
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_samples(fixture->batch, &samples), 3);
	assert_int_equal(samples[1].time_us - samples[0].time_us, 1);
	assert_in_range(samples[2].time_us - samples[1].time_us, 52631, 52632);
	assert_in_range(samples[0].time_us, clock_ns(CLOCK_REALTIME) / 1000 - 60000000,
					clock_ns(CLOCK_REALTIME) / 1000);
}

static void
test_malformed(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();

	record.sample.user_count = 5;
	send(fixture, &record);
	reader_handle_record(fixture->reader, &record, sizeof(record.sample) + 4 * sizeof(uint64_t));
	reader_handle_record(fixture->reader, &record, 10);
	record.sample.user_count = PFS_MAX_WALK_WORDS + 1;
	reader_handle_record(fixture->reader, &record, sizeof(record));
	/* a stack's copy that is said to follow, and does not */
	record.sample.user_count = 5;
	record.sample.flags = PFS_SAMPLE_LATE;
	reader_handle_record(fixture->reader, &record, sizeof(record.sample) + 5 * sizeof(uint64_t));
	record.sample.flags = 0;
	/* a kind that there is not */
	record.sample.kind = PFS_KIND_COUNT;
	send(fixture, &record);
	assert_int_equal(losses_total(&fixture->losses, LOSS_RECORD_MALFORMED), 5);
}

/*
 * Samples of two frequencies are two series, and each counts by its own period: the sum is exact.
 */
static void
test_periods(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	const BatchSample *samples;
	const BatchSeries *series;
	int64_t sum = 0;

	add_frame(&record, address_of(start_thread));
	record.sample.period = 52631578;
	record.sample.value = 52631578;
	for (int i = 0; i < 7; i++)
		send(fixture, &record);
	record.sample.period = 111111111;
	record.sample.value = 111111111;
	for (int i = 0; i < 5; i++)
		send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_series(fixture->batch, &series), 2);
	assert_int_equal(batch_samples(fixture->batch, &samples), 2);
	for (int i = 0; i < 2; i++)
	{
		assert_int_equal(samples[i].value % series[samples[i].series].period, 0);
		sum += samples[i].value;
	}
	assert_int_equal(series[0].period + series[1].period, 52631578 + 111111111);
	assert_int_equal(sum, 7 * 52631578 + 5 * 111111111);
}

/*
 * Samples of two kinds on one stack are two profile types, whose values are summed as they come, in
 * 63 bits.
 */
static void
test_kinds(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	const BatchSample *samples;
	const BatchSeries *series;
	const BatchStack *stacks;

	add_frame(&record, address_of(start_thread));
	send(fixture, &record);
	record.sample.kind = PFS_KIND_WAIT_SLEEP;
	record.sample.value = UINT64_C(9) << 32;
	send(fixture, &record);
	send(fixture, &record);
	record.sample.value = 1;
	send(fixture, &record);
	record.sample.kind = PFS_KIND_ON_CPU;
	record.sample.value = 1000;
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_series(fixture->batch, &series), 2);
	assert_int_equal(batch_stacks(fixture->batch, &stacks), 1);
	assert_int_equal(batch_samples(fixture->batch, &samples), 2);
	assert_string_equal(series[samples[0].series].profile_type,
						"process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta");
	assert_int_equal(samples[0].value, 2000);
	assert_string_equal(series[samples[1].series].profile_type,
						"wallclock:wall:nanoseconds:wall:nanoseconds:delta");
	assert_int_equal(samples[1].value, (INT64_C(18) << 32) + 1);
	assert_int_equal(series[samples[1].series].period, 1000);
	assert_int_equal(fixture->stats.samples, 5);
	assert_int_equal(fixture->stats.complete, 5);
}

/* A sum that leaves 63 bits is refused; what was summed before stays. */
static void
test_value_overflow(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	const BatchSample *samples;

	record.sample.kind = PFS_KIND_WAIT_SLEEP;
	record.sample.value = INT64_MAX;
	send_leaf(fixture, &record);
	record.sample.value = 1;
	send(fixture, &record);
	record.sample.value = UINT64_MAX;
	send(fixture, &record);
	record.sample.time_ns -= 10 * (uint64_t) WINDOW_US * 1000; /* nothing there to add to */
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_samples(fixture->batch, &samples), 1);
	assert_int_equal(samples[0].value, INT64_MAX);
	assert_int_equal(losses_total(&fixture->losses, LOSS_VALUE_OVERFLOW), 3);
	assert_int_equal(losses_total(&fixture->losses, LOSS_INTERVAL_FULL), 0);
	assert_int_equal(fixture->stats.samples, 1);
}

/*
 * Who names code: a function for a place, from a moment on. Interpreted code goes by its word, and
 * its line by the word that follows.
 */
typedef struct NamedCode
{
	uint64_t code;
	uint64_t born_ns;
	const char *name;
} NamedCode;

typedef struct Names
{
	CodeTable *table;
	NamedCode codes[8]; /* oldest first */
	int count;
	int asked;
} Names;

static size_t
name_code(void *context, const ExecImage *image, const UserFrame *frame, uint64_t time_ns,
		  CodeObject *objects[CODE_INLINED_MAX])
{
	Names *names = context;
	CodeName name = { .runtime = "[jit]", .file = "" };

	names->asked++;
	assert_int_equal(image->pid, getpid());
	for (int i = 0; i < names->count; i++)
	{
		if (names->codes[i].code == frame->code && names->codes[i].born_ns <= time_ns)
			name.name = names->codes[i].name;
	}
	if (name.name == NULL)
		return 0;
	if (frame->more_count > 0)
	{
		assert_int_equal(frame->interpreter, 2);
		name.runtime = "[python]";
		name.file = "/app/view.py";
		name.start_line = 10;
		name.line = (int32_t) PFS_FRAME_PAYLOAD(frame->more[0]);
	}
	objects[0] = code_table_add(names->table, &name);
	return objects[0] != NULL;
}

static void
use_names(Fixture *fixture, Names *names, size_t bytes)
{
	assert_int_equal(code_table_create(bytes, &names->table), 0);
	fixture->options.namer =
		(CodeNamer){ .name = name_code, .context = names, .table = names->table };
}

static void
add_name(Names *names, uint64_t code, uint64_t born_ns, const char *name)
{
	names->codes[names->count++] = (NamedCode){ code, born_ns, name };
}

/* Nothing holds a code object any more. */
static void
end_names(Names *names)
{
	CodeTableStats stats;

	code_table_stats(names->table, &stats);
	assert_int_equal(stats.count, 0);
	code_table_free(names->table);
}

static uint64_t
map_generated_code(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(code, MAP_FAILED);
	return (uintptr_t) code;
}

/* Two functions that have one place in turn keep their names, that of the time of the sample. */
static void
test_generated_code(void **state)
{
	Fixture *fixture = *state;
	Names names = { 0 };
	uint64_t code = map_generated_code();
	Record record = own_record();
	uint64_t now_ns = record.sample.time_ns;
	const BatchLocation *locations;
	const BatchMapping *mappings;
	const BatchSample *samples;
	const BatchStack *stacks;
	char text[256];

	use_names(fixture, &names, 1 << 20);
	add_name(&names, code + 16, 1, "first");
	add_name(&names, code + 16, now_ns, "second");
	add_frame(&record, code + 16);
	add_frame(&record, code + 32 + 1); /* nobody knows it */
	add_frame(&record, address_of(start_thread) + 1);
	send(fixture, &record);
	send(fixture, &record);
	record.sample.time_ns = now_ns - 1;
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_stacks(fixture->batch, &stacks), 2);
	stack_text(fixture->batch, 0, text, sizeof(text));
	assert_string_equal(text, "second;[jit];start_thread");
	stack_text(fixture->batch, 1, text, sizeof(text));
	assert_string_equal(text, "first;[jit];start_thread");
	assert_int_equal(names.asked, 6); /* not of code that a file has */
	batch_samples(fixture->batch, &samples);
	assert_int_equal(samples[0].value, 2000);
	assert_int_equal(fixture->stats.complete, 3);

	/* a location without address, identified by its mapping, function and line */
	batch_locations(fixture->batch, &locations);
	batch_mappings(fixture->batch, &mappings);
	assert_int_equal(locations[stacks[0].locations[0]].address, 0);
	assert_string_equal(mappings[locations[stacks[0].locations[0]].mapping].file, "[jit]");
	assert_string_equal(mappings[locations[stacks[0].locations[0]].mapping].build_id, "");
	end_names(&names);
	munmap((void *) (uintptr_t) code, 4096);
}

/* One frame of interpreted code, of two words more. */
static void
add_interpreted_frame(Record *record, uint64_t code, uint64_t line)
{
	add_frame(record, code | UINT64_C(2) << 56 | UINT64_C(2) << 60);
	add_frame(record, line | UINT64_C(15) << 60);
	add_frame(record, UINT64_MAX);
}

/* Interpreted code stands between the frames of its interpreter, with file and line. */
static void
test_interpreted_code(void **state)
{
	Fixture *fixture = *state;
	Names names = { 0 };
	Record record = own_record();
	const BatchFunction *functions;
	const BatchLocation *locations;
	const BatchMapping *mappings;
	const BatchStack *stacks;
	const BatchLocation *inner;
	const BatchLocation *outer;

	use_names(fixture, &names, 1 << 20);
	add_name(&names, 0x7f0000001000, 0, "render");
	add_frame(&record, address_of(test_leaf));
	add_interpreted_frame(&record, 0x7f0000001000, 12);
	add_interpreted_frame(&record, 0x7f0000001000, 15);
	add_interpreted_frame(&record, 0x7f0000002000, 1);
	add_frame(&record, address_of(start_thread) + 1);
	send(fixture, &record);
	send(fixture, &record);
	finish(fixture);
	assert_only_stack(fixture, "test_leaf;render;render;[interpreted];start_thread");
	assert_int_equal(fixture->stats.complete, 2);
	batch_stacks(fixture->batch, &stacks);
	batch_locations(fixture->batch, &locations);
	batch_functions(fixture->batch, &functions);
	batch_mappings(fixture->batch, &mappings);
	inner = &locations[stacks[0].locations[1]];
	outer = &locations[stacks[0].locations[2]];
	assert_int_equal(inner->line_count, 1);
	assert_int_equal(inner->lines[0].line, 12);
	assert_int_equal(outer->lines[0].line, 15);
	assert_int_equal(inner->lines[0].function, outer->lines[0].function);
	assert_string_equal(functions[inner->lines[0].function].filename, "/app/view.py");
	assert_int_equal(functions[inner->lines[0].function].start_line, 10);
	assert_string_equal(mappings[inner->mapping].file, "[python]");
	end_names(&names);
}

/*
 * Of deep recursion of interpreted code words are cut out, and at the edges parts of frames are
 * left: these are no frames, and do not hide those that are whole.
 */
static void
test_interpreted_code_cut(void **state)
{
	Fixture *fixture = *state;
	Names names = { 0 };
	Record record = own_record();
	const uint32_t found = PFS_MAX_USER_FRAMES + 200; /* words, in the middle of a frame */
	const BatchStack *stacks;
	char text[16384];

	use_names(fixture, &names, 1 << 20);
	add_name(&names, 0x7f0000001000, 0, "recurse");
	record.sample.user_status = PFS_WALK_END_OF_STACK;
	record.sample.user_count = (uint16_t) found;
	for (uint32_t i = 0; i < found; i++)
	{
		uint64_t *word = &record.stack[pfs_walk_place(i)];

		if (i == found - 1)
			*word = address_of(start_thread) + 1;
		else if (i % 3 == 0)
			*word = UINT64_C(0x7f0000001000) | UINT64_C(2) << 56 | UINT64_C(2) << 60;
		else
			*word = 1 | UINT64_C(15) << 60;
	}
	send(fixture, &record);
	finish(fixture);
	batch_stacks(fixture->batch, &stacks);
	/* 384 words are 128 frames; of the last 128 the first one ends a frame, the last is the root */
	assert_int_equal(stacks[0].depth, 128 + 1 + (PFS_ROOT_FRAMES - 2) / 3 + 1);
	stack_text(fixture->batch, 0, text, sizeof(text));
	assert_non_null(strstr(text, "recurse;[frames cut];recurse;recurse"));
	assert_null(strstr(text, "[interpreted]"));
	assert_non_null(strstr(text, "recurse;start_thread"));
	assert_int_equal(losses_total(&fixture->losses, LOSS_STACK_CUT), 1);
	assert_int_equal(fixture->stats.complete, 1);
	end_names(&names);
}

/*
 * A walk that we go on with keeps what an interpreter's walk had recorded before; the frame at
 * which the kernel stopped is walked again.
 */
static void
test_interpreted_code_late(void **state)
{
	Fixture *fixture = *state;
	Names names = { 0 };
	KernelTables *tables = memory_tables_create();
	const size_t head_bytes = offsetof(struct pfs_late, bytes);
#ifdef __aarch64__
	/* the caller of a leaf is in a register, which is zero */
	const enum pfs_walk_status end = PFS_WALK_BAD_FRAME;
#else
	const enum pfs_walk_status end = PFS_WALK_READ_FAILED;
#endif
	struct
	{
		struct pfs_sample sample;
		uint64_t stack[4];
		struct pfs_late late;
	} *record = calloc(1, sizeof(*record));

	assert_non_null(tables);
	assert_non_null(record);
	use_names(fixture, &names, 1 << 20);
	add_name(&names, 0x7f0000001000, 0, "render");
	record->sample = own_record().sample;
	record->sample.flags = PFS_SAMPLE_LATE;
	record->sample.user_status = PFS_WALK_NO_TABLE;
	record->sample.user_count = 4;
	record->stack[0] = UINT64_C(0x7f0000001000) | UINT64_C(2) << 56 | UINT64_C(2) << 60;
	record->stack[1] = 7 | UINT64_C(15) << 60;
	record->stack[2] = UINT64_MAX;
	record->stack[3] = address_of(test_leaf);
	record->late.at.pc = address_of(test_leaf);
	record->late.at.sp = 8; /* nothing of the stack was copied */
	record->late.at.innermost = 1;
	assert_int_equal(reader_create(&fixture->options, fixture->files, &fixture->losses,
								   &fixture->reader),
					 0);
	assert_int_equal(reader_use_tables(fixture->reader, tables), 0);
	reader_handle_record(fixture->reader, record, offsetof(typeof(*record), late) + head_bytes);
	finish(fixture);
	assert_only_stack(fixture, "render;test_leaf;[incomplete]");
	assert_int_equal(fixture->stats.incomplete[end], 1);
	reader_free(fixture->reader);
	fixture->reader = NULL;
	memory_tables_free(tables);
	free(record);
	end_names(&names);
}

/* Without room for a name the frame goes without one; that is counted, and no sample lost. */
static void
test_names_full(void **state)
{
	Fixture *fixture = *state;
	Names names = { 0 };
	uint64_t code = map_generated_code();
	Record record = own_record();

	use_names(fixture, &names, 16);
	add_name(&names, code, 0, "first");
	add_frame(&record, code);
	add_frame(&record, address_of(start_thread) + 1);
	send(fixture, &record);
	send(fixture, &record);
	finish(fixture);
	assert_only_stack(fixture, "[jit];start_thread");
	assert_int_equal(fixture->stats.samples, 2);
	assert_int_equal(losses_total(&fixture->losses, LOSS_CODE_FULL), 2);
	interval_free(reader_take(fixture->reader));
	assert_int_equal(losses_total(&fixture->losses, LOSS_CODE_FULL), 2);
	end_names(&names);
	munmap((void *) (uintptr_t) code, 4096);
}

/* Over the ceiling of memory samples are dropped by count, and taken again below it. */
static void
test_refuses(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();

	send(fixture, &record);
	reader_refuse(fixture->reader, true);
	reader_queue_record(fixture->reader, &record, sizeof(record.sample));
	assert_int_equal(losses_total(&fixture->losses, LOSS_MEMORY_LIMIT), 1);
	reader_refuse(fixture->reader, false);
	reader_queue_record(fixture->reader, &record, sizeof(record.sample));
	assert_int_equal(losses_total(&fixture->losses, LOSS_MEMORY_LIMIT), 1);
	assert_int_equal(losses_total(&fixture->losses, LOSS_RECORDS_FULL), 0);
}

/* What does not fit any more is counted, and what was there before stays whole. */
static void
test_budget(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	const BatchSample *samples;
	size_t count;
	uint64_t lost;

	fixture->options.interval_bytes = 128 * 1024;
	record.sample.kernel_count = PFS_MAX_FRAMES;
	record.sample.flags = PFS_SAMPLE_KERNEL_THREAD;
	for (uint64_t i = 0; i < 200; i++)
	{
		record.stack[0] = i;
		send(fixture, &record);
	}
	finish(fixture);
	lost = losses_total(&fixture->losses, LOSS_INTERVAL_FULL);
	count = batch_samples(fixture->batch, &samples);
	assert_true(lost > 0 && lost < 200);
	assert_int_equal(fixture->stats.samples, 200 - lost);
	assert_true(count > 0);
	/* the next interval has room again */
	batch_free(fixture->batch);
	fixture->batch = NULL;
	send(fixture, &record);
	assert_int_equal(losses_total(&fixture->losses, LOSS_INTERVAL_FULL), lost);
}

/* Descriptors of ours whose file has that name, deleted or not. */
static int
descriptors_of(const char *name)
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;
	int count = 0;

	assert_non_null(directory);
	while ((entry = readdir(directory)) != NULL)
	{
		char target[512];
		ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);

		if (length < 0)
			continue;
		target[length] = '\0';
		count += strncmp(target, name, strlen(name)) == 0;
	}
	closedir(directory);
	return count;
}

/*
 * Files are closed at exec before the program is mapped and has its arguments, which are the last
 * that it gets.
 */
static void
wait_for_arguments(pid_t pid, const char *name)
{
	char path[64];
	char arguments[64];
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int) pid);
	do
	{
		FILE *file = fopen(path, "re");

		assert_non_null(file);
		length = fread(arguments, 1, sizeof(arguments) - 1, file);
		arguments[length] = '\0';
		fclose(file);
	} while (length != strlen(name) + sizeof("1000") + 1 || strcmp(arguments, name) != 0);
}

/* Runs a program of that name, which sleeps; returns when it executes. */
static pid_t
start_sleeper(const char *name)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
	{
		execl(name, name, "1000", (char *) NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0); /* closed by exec */
	close(ends[0]);
	wait_for_arguments(pid, name);
	return pid;
}

/*
 * Seconds after a program's end at which its file is given back, where the sweeps come when they
 * are due.
 */
static int
seconds_until_given_back(Fixture *fixture, bool deleted)
{
	char name[] = "/tmp/test_reader_XXXXXX";
	char command[128];
	int fd = mkstemp(name);
	pid_t pid;
	Record record;
	uint64_t ended_ns;
	int status;
	int seconds = 0;

	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "cp \"$(command -v sleep)\" %s && chmod 700 %s", name, name);
	assert_int_equal(system(command), 0);
	pid = start_sleeper(name);
	record = record_of(pid);
	send(fixture, &record);
	assert_int_equal(descriptors_of(name), 1);
	if (deleted)
		unlink(name);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	interval_free(reader_take(fixture->reader));
	ended_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	while (descriptors_of(name) > 0 && seconds < 1000)
	{
		seconds += 20;
		reader_sweep(fixture->reader, ended_ns + (uint64_t) seconds * 1000000000,
					 UNWIND_TABLES_KEEP_NS);
		mapped_file_table_sweep(fixture->files);
	}
	unlink(name);
	return seconds;
}

/*
 * Files of programs that ended are given back though no sample comes any more: soon where they were
 * deleted.
 */
static void
test_given_back(void **state)
{
	Fixture *fixture = *state;
	KernelTables *tables = memory_tables_create();

	assert_non_null(tables);
	assert_int_equal(reader_create(&fixture->options, fixture->files, &fixture->losses,
								   &fixture->reader),
					 0);
	assert_int_equal(reader_use_tables(fixture->reader, tables), 0);
	assert_int_equal(mapped_file_table_referenced(fixture->files), 0);
	assert_in_range(seconds_until_given_back(fixture, false), 120, 220);
	assert_in_range(seconds_until_given_back(fixture, true), 60, 100);

	reader_free(fixture->reader);
	fixture->reader = NULL;
	assert_int_equal(mapped_file_table_referenced(fixture->files), 0);
	memory_tables_free(tables);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sums, setup, teardown),
		cmocka_unit_test_setup_teardown(test_incomplete, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deepest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_beyond_root, setup, teardown),
		cmocka_unit_test_setup_teardown(test_name_of_root, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_worker, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_in_a_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_relabelled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inside_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tick_behind_interrupt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_labels, setup, teardown),
		cmocka_unit_test_setup_teardown(test_windows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_clock_set_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_periods, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kinds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_value_overflow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_generated_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interpreted_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interpreted_code_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interpreted_code_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_given_back, setup, teardown),
	};

	symbolizer_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
