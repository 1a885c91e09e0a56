/*
 * reader_fixture.h
 *		Sends records in the form of the kernel's through the reader into a batch.
 */
#ifndef COLLECTOR_TEST_READER_FIXTURE_H
#define COLLECTOR_TEST_READER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/flusher/resolve.h"
#include "agent/reader/reader.h"
#include "agent/reader/unwind_tables.h"
#include "base/clock.h"
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

static inline int
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

static inline int
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

/* Returns a sample of a process, without a stack. */
static inline Record
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
	memcpy(record.sample.comm, "sixteen bytes 16", PFS_COMM_BYTES); /* without a NUL at the end */
	return record;
}

static inline Record
own_record(void)
{
	return record_of(getpid());
}

static inline void
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

static inline void
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

/* Returns the functions of a stack of the batch, leaf first, joined by ';'. */
static inline void
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

/* Global functions, so that every kind of symbol table has them. */
void test_leaf(void);
void start_thread(void);

__attribute__((noinline)) void
test_leaf(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

/* A function with the name of a root, so that a stack which ends here is whole. */
__attribute__((noinline)) void
start_thread(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

static inline uint64_t
address_of(void (*function)(void))
{
	return (uint64_t) (uintptr_t) function;
}

/*
 * Adds one more user frame; a return address is that of a function + 1, because one less is looked
 * up.
 */
static inline void
add_frame(Record *record, uint64_t address)
{
	record->stack[record->sample.user_count++] = address;
}

/* Asserts that the batch has one sample, with this stack. */
static inline void
assert_only_stack(const Fixture *fixture, const char *expected)
{
	const BatchSample *samples;
	char text[256];

	assert_int_equal(batch_samples(fixture->batch, &samples), 1);
	stack_text(fixture->batch, samples[0].stack, text, sizeof(text));
	assert_string_equal(text, expected);
}

#endif
