/*
 * run_profile.c
 *		Names frames and adds stacks to a batch.
 */
#include "ci/run_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/flusher/batch_lines.h"
#include "base/hash.h"
#include "base/table.h"

#define SYMBOL_CACHE_BYTES	((size_t) 64 * 1024 * 1024)
#define SYMBOL_WORKER_BYTES ((size_t) 1024 * 1024 * 1024)
#define TABLE_BYTES			((size_t) 256 * 1024 * 1024)

#define DEBUG_DIRECTORY "/usr/lib/debug"

#define KERNEL_FILE		   "[kernel.kallsyms]"
#define FRAME_NAME_KERNEL  "[kernel]"
#define FRAME_NAME_JIT	   "[jit]"
#define FRAME_NAME_UNKNOWN "[unknown]"
#define NO_PARTITION	   "unknown"

typedef struct Located
{
	RunFrame frame;
	uint32_t location; /* index in the batch */
} Located;

typedef struct ProfileBuilder
{
	RunProfiler *profiler;
	Batch *batch;
	Budget budget;
	Table table; /* table of Located */
	BatchSample sample;
} ProfileBuilder;

ExitCode
run_profiler_init(RunProfiler *profiler, Failure *failure)
{
	const SymbolizerOptions options = { .cache_bytes = SYMBOL_CACHE_BYTES,
										.worker_bytes = SYMBOL_WORKER_BYTES,
										.debug_directory = DEBUG_DIRECTORY,
										.inlined_lines = true };
	int error;

	*profiler = (RunProfiler){ 0 };
	run_files_init(&profiler->files);
	error = symbolizer_create(&options, &profiler->symbolizer);
	if (error == 0)
		return EXIT_OK;
	failure_set(failure, EXIT_INTERNAL, "could not start the symbolizer");
	failure_detail(failure, "%s.", strerror(-error));
	return failure->code;
}

/*
 * Closes all files after a run: the next run may execute other files of the same names. The
 * symbolizer keeps the answers of files that have not changed.
 */
static void
profiler_close_files(RunProfiler *profiler)
{
	for (size_t i = 0; i < profiler->binary_capacity; i++)
	{
		if (profiler->binaries[i] != NULL)
			binary_release(profiler->binaries[i]);
		profiler->binaries[i] = NULL;
	}
	profiler->opened_count = 0;
}

void
run_profiler_fini(RunProfiler *profiler)
{
	profiler_close_files(profiler);
	free(profiler->binaries);
	run_files_fini(&profiler->files);
	symbolizer_free(profiler->symbolizer);
	*profiler = (RunProfiler){ 0 };
}

/*
 * Opens the files that the run has added since the last call. A file that cannot be read has no
 * binary.
 */
static int
profiler_open_files(RunProfiler *profiler)
{
	size_t wanted = profiler->files.table.capacity;

	if (wanted > profiler->binary_capacity)
	{
		Binary **binaries = reallocarray(profiler->binaries, wanted, sizeof(Binary *));

		if (binaries == NULL)
			return -ENOMEM;
		profiler->binaries = binaries;
		for (size_t i = profiler->binary_capacity; i < wanted; i++)
			binaries[i] = NULL;
		profiler->binary_capacity = wanted;
	}
	for (; profiler->opened_count < profiler->files.table.count; profiler->opened_count++)
	{
		const char *path = run_files_path(&profiler->files, profiler->opened_count);
		Binary **binary = &profiler->binaries[profiler->opened_count];

		if (path[0] == '/' && binary_open(profiler->symbolizer, path, path, binary) != 0)
			*binary = NULL;
	}
	return 0;
}

static int
builder_add_named(Batch *batch, const char *file, const char *name, uint32_t *location)
{
	const BatchMapping mapping = { .build_id = "", .file = file };
	const BatchFunction function = { .name = name, .system_name = name, .filename = "" };
	BatchLine line = { 0 };
	BatchLocation added = { .mapping = BATCH_NO_MAPPING, .line_count = 1, .lines = &line };
	int error = file == NULL ? 0 : batch_add_mapping(batch, &mapping, &added.mapping);

	if (error == 0)
		error = batch_add_function(batch, &function, &line.function);
	return error != 0 ? error : batch_add_location(batch, &added, location);
}

/* Adds a frame of a file, with the functions that are inlined there. */
static int
builder_add_file_frame(const ProfileBuilder *builder, const RunFrame *frame, uint32_t *location)
{
	const RunProfiler *profiler = builder->profiler;
	Binary *binary = profiler->binaries[frame->file];
	BatchMapping mapping = { .build_id = binary == NULL ? "" : binary_build_id(binary),
							 .file = run_files_path(&profiler->files, frame->file) };
	BatchLine lines[BATCH_LINES_MAX];
	BatchLocation added = { .lines = lines };
	SymbolLines symbols = { 0 };
	int error;

	if (binary == NULL || !binary_address(binary, frame->address, &added.address))
		return builder_add_named(builder->batch, mapping.file, FRAME_NAME_UNKNOWN, location);
	/* on failure the frame keeps its address, and can be named later ("symbolize") */
	if (binary_symbolize(binary, added.address, &symbols) != 0)
		symbols.count = 0;
	error = batch_add_mapping(builder->batch, &mapping, &added.mapping);
	if (error == 0)
		error = batch_lines_add(builder->batch, &symbols, lines, &added.line_count);
	return error != 0 ? error : batch_add_location(builder->batch, &added, location);
}

static int
builder_add_frame(const ProfileBuilder *builder, const RunFrame *frame, uint32_t *location)
{
	const char *name;
	const char *module;
	uint64_t start;

	switch (frame->file)
	{
		case RUN_FRAME_KERNEL:
			if (!kernel_symbolize(builder->profiler->symbolizer, frame->address, &name, &module,
								  &start))
				name = FRAME_NAME_KERNEL;
			return builder_add_named(builder->batch, KERNEL_FILE, name, location);
		case RUN_FRAME_CODE:
			return builder_add_named(builder->batch, NULL, FRAME_NAME_JIT, location);
		case RUN_FRAME_UNKNOWN:
			return builder_add_named(builder->batch, NULL, FRAME_NAME_UNKNOWN, location);
		default:
			return builder_add_file_frame(builder, frame, location);
	}
}

static bool
located_equal(const void *item, const void *key)
{
	const RunFrame *left = &((const Located *) item)->frame;
	const RunFrame *right = key;

	return left->file == right->file && left->address == right->address;
}

/* Returns 0 and the location of a frame, which is named at its first use. */
static int
builder_locate(ProfileBuilder *builder, const RunFrame *frame, uint32_t *location)
{
	Table *table = &builder->table;
	uint64_t hash = hash_word(hash_word(table->seed, frame->file), frame->address);
	uint32_t position;
	int error;

	if (table_find(table, hash, located_equal, frame, &position))
	{
		*location = ((const Located *) table_item(table, position))->location;
		return 0;
	}
	error = builder_add_frame(builder, frame, location);
	if (error == 0)
		error = table_reserve(table);
	if (error == 0)
		*(Located *) table_append(table, hash) =
			(Located){ .frame = *frame, .location = *location };
	return error;
}

/* Returns the partition for a program's stacks: its build ID, or its path if it has none. */
static const char *
builder_partition(const ProfileBuilder *builder, uint32_t executable)
{
	const RunProfiler *profiler = builder->profiler;

	if (executable >= profiler->files.table.count)
		return NO_PARTITION;
	if (profiler->binaries[executable] != NULL &&
		binary_build_id(profiler->binaries[executable])[0] != '\0')
		return binary_build_id(profiler->binaries[executable]);
	return run_files_path(&profiler->files, executable);
}

/* Adds a sample; a RunSampleHandler. */
static int
builder_add_sample(void *context, const RunFrame *frames, size_t count, uint32_t executable)
{
	ProfileBuilder *builder = context;
	uint32_t locations[RUN_FRAMES_MAX];
	BatchStack stack = { .locations = locations };
	int error = profiler_open_files(builder->profiler);

	stack.partition = builder_partition(builder, executable);
	for (size_t i = 0; i < count && i < RUN_FRAMES_MAX && error == 0; i++)
		error = builder_locate(builder, &frames[i], &locations[stack.depth++]);
	if (error == 0)
		error = batch_add_stack(builder->batch, &stack, &builder->sample.stack);
	return error != 0 ? error : batch_add_sample(builder->batch, &builder->sample);
}

/* Adds a value of the whole run, whose stack has one frame. */
static int
builder_add_value(Batch *batch, const BatchSeries *series, int64_t time_us, int64_t value)
{
	uint32_t location;
	BatchStack stack = { .partition = NO_PARTITION, .depth = 1, .locations = &location };
	BatchSample sample = { .time_us = time_us, .value = value };
	int error = builder_add_named(batch, NULL, "[run]", &location);

	if (error == 0)
		error = batch_add_stack(batch, &stack, &sample.stack);
	if (error == 0)
		error = batch_add_series(batch, series, &sample.series);
	return error != 0 ? error : batch_add_sample(batch, &sample);
}

static int
profile_add_run_samples(RunProfiler *profiler, const BenchmarkRun *run, const BatchSeries *series,
						Batch *batch)
{
	ProfileBuilder builder = { .profiler = profiler,
							   .batch = batch,
							   .budget = { .limit_bytes = TABLE_BYTES },
							   .sample = { .time_us = run->time_us,
										   .value = run_events_period_ns(run->events) } };
	int error = batch_add_series(batch, series, &builder.sample.series);

	table_init(&builder.table, &builder.budget, sizeof(Located));
	if (error == 0)
		error = run_frames_replay(run->events, &profiler->files, builder_add_sample, &builder);
	table_fini(&builder.table);
	profiler_close_files(profiler);
	return error;
}

int
run_profile_add(RunProfiler *profiler, const BenchmarkRun *run, const BatchLabel *labels,
				size_t label_count, Batch *batch)
{
	BatchSeries series = { .profile_type = CI_RUN_CPU_TYPE,
						   .label_count = (uint32_t) label_count,
						   .labels = labels };
	int error = builder_add_value(batch, &series, run->time_us, run->cpu_ns);

	series.profile_type = CI_RUN_WALL_TYPE;
	if (error == 0)
		error = builder_add_value(batch, &series, run->time_us, run->wall_ns);
	if (error != 0 || run->events == NULL)
		return error;
	series.profile_type = CI_CPU_TYPE;
	series.period = run_events_period_ns(run->events);
	return profile_add_run_samples(profiler, run, &series, batch);
}

int
run_profile_mark(const char *type, int64_t time_us, const BatchLabel *labels, size_t label_count,
				 Batch *batch)
{
	const BatchSeries series = { .profile_type = type,
								 .label_count = (uint32_t) label_count,
								 .labels = labels };

	return builder_add_value(batch, &series, time_us, 1);
}
