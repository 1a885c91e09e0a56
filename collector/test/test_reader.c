/*
 * test_reader.c
 *		Records on their way through the reader into a batch.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory_tables.h"
#include "reader_fixture.h"

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

/* Without a root the stack begins with a frame that says so. */
static void
test_incomplete(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();

	add_frame(&record, address_of(test_leaf));
	add_frame(&record, 0x10); /* not code: a register that was not a frame pointer led here */
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

/* Of deep recursion the record has the innermost frames and, wrapping around, the outermost. */
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

/*
 * Start code keeps no frame pointers: an address that a walk finds beyond a root is not its caller.
 */
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
 * If rules lead to the end of the stack, a function that only bears a root's name may have callers;
 * start code is then the outermost function.
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

/* A thread that works for the kernel has no user side, but its process has one. */
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

/* Each name is a series, so a process that renames itself gets a limited number of them. */
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
	/* a name that has its series keeps it */
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

/* Labels are built and relabelled once, and again when more is known. */
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

/*
 * Inside exec the old user side is gone and the new one has not begun: nothing counts as missing.
 */
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

/* Returns the address of a function of the running kernel; 0: the kernel has none, or hides it. */
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

/*
 * A tick that waited for an interrupt to end belongs to the interrupted code, a tick in a fault
 * does not.
 */
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
	record.stack[0] = interrupt + 2; /* any other function, below an interrupt */
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

/* Windows are aligned, except the first, which begins with the sampling. */
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

/* If the clock was set back by an hour since sampling began, windows are as long as before. */
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

/* With their own times, samples of one stack stay separate, by a microsecond if necessary. */
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
	/* a header that announces a stack's copy, which is missing */
	record.sample.user_count = 5;
	record.sample.flags = PFS_SAMPLE_LATE;
	reader_handle_record(fixture->reader, &record, sizeof(record.sample) + 5 * sizeof(uint64_t));
	record.sample.flags = 0;
	/* an unknown kind */
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
 * Samples of two kinds on one stack are two profile types, whose values are summed unchanged, in 63
 * bits.
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

/* A sum that exceeds 63 bits is refused; the earlier sum stays. */
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
	record.sample.time_ns -= 10 * (uint64_t) WINDOW_US * 1000; /* no earlier sum to add to */
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_samples(fixture->batch, &samples), 1);
	assert_int_equal(samples[0].value, INT64_MAX);
	assert_int_equal(losses_total(&fixture->losses, LOSS_VALUE_OVERFLOW), 3);
	assert_int_equal(losses_total(&fixture->losses, LOSS_INTERVAL_FULL), 0);
	assert_int_equal(fixture->stats.samples, 1);
}

/* Above the memory limit samples are dropped and counted, and accepted again below it. */
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

/* Samples that do not fit are counted, and earlier ones stay whole. */
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

/* Counts this process's descriptors of a file with that name, deleted or not. */
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
 * step.
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
	assert_int_equal(read(ends[0], &byte, 1), 0); /* exec has closed the other end */
	close(ends[0]);
	wait_for_arguments(pid, name);
	return pid;
}

/*
 * Returns the seconds after a program's end at which its file is released, if sweeps run when they
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
 * Files of ended programs are released though no sample arrives any more: soon if they were
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
		cmocka_unit_test_setup_teardown(test_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_given_back, setup, teardown),
	};

	symbolizer_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
