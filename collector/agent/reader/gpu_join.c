/*
 * gpu_join.c
 *		Adds the time of GPU kernels to the interval, under the stacks that launched them.
 */
#include "agent/reader/gpu_join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "agent/reader/gpu_programs.h"
#include "agent/reader/sample_builder.h"
#include "base/clock.h"
#include "gpu/gpu_share.h"
#include "symbols/worker/worker_accounts.h"

#define WAIT_NS	   (10 * NS_PER_S) /* of launches and windows for each other */
#define LOOK_NS	   (100 * NS_PER_MS)
#define FORGET_NS  (120 * NS_PER_S)
#define GPU_PERIOD 1
/* A library that measures hands over a window every 16 s or more often. */
#define LIBRARY_NS (60 * NS_PER_S)

#define CUDA_RUNTIME   "[cuda]"
#define NAME_OTHER	   "[other kernels]"
#define NAME_UNKNOWN   "[unknown kernel]"
#define NAME_NO_LAUNCH "[launch not sampled]"

static const char *const copy_names[PFS_GPU_COPY_COUNT] = {
	[PFS_GPU_COPY_OTHER] = "other", [PFS_GPU_COPY_HTOD] = "htod", [PFS_GPU_COPY_DTOH] = "dtoh",
	[PFS_GPU_COPY_DTOD] = "dtod",	[PFS_GPU_COPY_HTOH] = "htoh", [PFS_GPU_COPY_PTOP] = "ptop",
};

#define COPY_SET "set"

/*
 * Returns whether a frame belongs to the libraries that a launch passes through. Sets *driver if it
 * is CUDA's driver.
 */
static bool
is_launch_code(const Reader *reader, const Frame *frame, bool *driver)
{
	static const char *const names[] = { "libprofstore-gpu.so", "libcupti.so", "libcuda.so" };
	const char *path;
	const char *slash;

	if (frame->kind != FRAME_FILE)
		return false;
	path = mapped_file_name(interval_file(reader->interval, frame->item));
	slash = strrchr(path, '/');
	path = slash != NULL ? slash + 1 : path;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		/* Compare beginnings only, because the names may end in a version, as in libcuda.so.1. */
		*driver = i == 2;
		if (strncmp(path, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

/*
 * Drops the innermost frames, which are the same for all launches: those of our library, CUPTI and
 * the driver except its outermost one, which is the function that the program has called.
 */
static void
drop_launch_code(const Reader *reader, IntervalStack *stack)
{
	uint16_t first = 0;
	bool driver = false;
	bool is_driver;

	while (first < stack->depth && is_launch_code(reader, &stack->frames[first], &is_driver))
	{
		driver = is_driver;
		first++;
	}
	if (first > 0 && driver)
		first--;
	stack->frames += first;
	stack->depth = (uint16_t) (stack->depth - first);
}

/* Returns false if the process must not be sampled. Its labels are issued. */
static bool
process_is_sampled(Reader *reader, const struct pfs_sample *sample, Process *process)
{
	const SampledThread thread = { .pid = sample->pid,
								   .comm = sample->process_comm,
								   .process_comm = sample->process_comm };

	return sample_labels_of(reader, &thread, process) != NULL;
}

static void
lose_full(Reader *reader)
{
	losses_add(reader->losses, LOSS_GPU_FULL, 1);
}

void
gpu_join_keep(Reader *reader, const Record *record, Process *process, const UserWalk *walk)
{
	const struct pfs_sample *sample = record->sample;
	const GpuLaunch launch = { .correlation = (uint32_t) sample->value,
							   .period = sample->period >= 1 && sample->period <= UINT32_MAX
											 ? sample->period
											 : 1,
							   .came_ns = reader->now_ns };
	IntervalStack stack;
	GpuProgram *program;
	ExecImage image;
	int result = -ENOMEM;

	if (process != NULL && !process_is_sampled(reader, sample, process))
		return;
	/*
	 * -EAGAIN: the flusher has taken the interval that the frames refer to, so resolve them again.
	 */
	if (process != NULL)
	{
		do
			result = sample_stack_resolve(reader, record, process, walk, &stack);
		while (result == -EAGAIN);
	}
	if (result != 0)
	{
		lose_full(reader);
		return;
	}
	/* Every launch of the library passes through this code, which would hide the caller. */
	drop_launch_code(reader, &stack);
	image = process_identity(process);
	program = gpu_programs_get(&reader->gpu, &image, process_owner(process), reader->now_ns);
	if (program == NULL ||
		!gpu_program_keep(&reader->gpu, program, &launch, reader->interval, &stack))
		lose_full(reader);
}

/* Context of the decoder's sink. */
typedef struct RowsTaken
{
	Reader *reader;
	Process *process;
	GpuProgram *program;
	const Record *record;
} RowsTaken;

/* Returns the labels of rows of the window, which it holds; NULL if there is no room for labels. */
static LabelSet *
window_labels(const GpuWaiting *waiting, uint16_t device, uint32_t stream, const char *copy)
{
	for (uint32_t i = 0; i < waiting->labels_count; i++)
	{
		const GpuLabels *labels = &waiting->labels[i];

		if (labels->device == device && labels->stream == stream && strcmp(labels->copy, copy) == 0)
			return labels->labels;
	}
	return NULL;
}

static const char *
copy_of_row(const struct pfs_gpu_row *row)
{
	if (row->kind == PFS_GPU_ROW_SETS)
		return COPY_SET;
	return row->kind == PFS_GPU_ROW_COPIES ? copy_names[row->name] : "";
}

/* Issues the labels of a row's device, stream and copy, unless the window has them already. */
static void
issue_labels(const RowsTaken *taken, GpuWaiting *waiting, const struct pfs_gpu_row *row)
{
	Reader *reader = taken->reader;
	bool by_stream = reader->options.gpu_label_stream && copy_of_row(row)[0] == '\0';
	GpuLabels issued = { .device = row->device,
						 .copy = copy_of_row(row),
						 .stream = by_stream ? row->stream : 0 };
	char device[16];
	char stream[16];
	BatchLabel labels[4];
	uint32_t count = 0;
	bool capped;

	/* Rows beyond the limit find no labels, and add_value() counts them as lost. */
	if (waiting->labels_count == GPU_WINDOW_LABELS_MAX ||
		window_labels(waiting, issued.device, issued.stream, issued.copy) != NULL)
		return;
	snprintf(device, sizeof(device), "%u", row->device);
	snprintf(stream, sizeof(stream), "%u", row->stream);
	if (issued.copy[0] != '\0')
		labels[count++] = (BatchLabel){ "copy", issued.copy };
	labels[count++] = (BatchLabel){ "gpu", device };
	if (taken->program->uuids[row->device][0] != '\0')
		labels[count++] = (BatchLabel){ "gpu_uuid", taken->program->uuids[row->device] };
	if (by_stream)
		labels[count++] = (BatchLabel){ "stream", stream };
	issued.labels = labeller_issue_with(reader->labeller, process_labels(taken->process), labels,
										count, &capped, reader->now_ns);
	if (capped)
		losses_add(reader->losses, LOSS_SERIES_CAPPED, 1);
	if (issued.labels != NULL)
		waiting->labels[waiting->labels_count++] = issued;
}

static void
release_incomplete(Reader *reader, GpuProgram *program)
{
	gpu_program_release(&reader->gpu, program, program->decoder_bytes);
	program->decoder_bytes = 0;
}

/* Charges the window that is not complete, and gives it up if its owner has no room. */
static void
charge_incomplete(Reader *reader, GpuProgram *program)
{
	size_t bytes = gpu_decoder_bytes(&program->decoder);

	/* Release first: charged twice for a moment, the window might not fit. */
	release_incomplete(reader, program);
	if (gpu_program_charge(&reader->gpu, program, bytes))
		program->decoder_bytes = bytes;
	else
	{
		gpu_decoder_fini(&program->decoder);
		lose_full(reader);
	}
}

/*
 * Called for each window of a program: keeps its rows until the launches' samples have arrived, or
 * counts it as lost.
 */
static void
take_window(void *context, const GpuWindow *window)
{
	const RowsTaken *taken = context;
	Reader *reader = taken->reader;
	GpuProgram *program = taken->program;
	size_t bytes = sizeof(GpuWaiting) + MAX(window->count, 1) * sizeof(*window->rows);
	GpuWaiting *waiting = NULL;
	GpuWaiting **end = &program->waiting;
	uint32_t before = 0;

	/* The decoder has handed its rows over: they are charged as a waiting window instead. */
	release_incomplete(reader, program);
	for (; *end != NULL; end = &(*end)->next)
		before++;
	losses_add(reader->losses, LOSS_GPU_RECORDS_REFUSED, window->head.window.refused);
	losses_add(reader->losses, LOSS_GPU_UNMATCHED, window->head.window.unmatched);
	/* A program that sends windows faster than they are added must not fill the list. */
	if (before < GPU_PROGRAM_WINDOWS && gpu_program_charge(&reader->gpu, program, bytes))
	{
		waiting = calloc(1, sizeof(*waiting));
		if (waiting == NULL)
			gpu_program_release(&reader->gpu, program, bytes);
	}
	if (waiting == NULL)
	{
		lose_full(reader);
		free(window->rows);
		return;
	}
	waiting->window = *window;
	waiting->bytes = bytes;
	waiting->time_ns = taken->record->sample->time_ns;
	waiting->due_ns = reader->now_ns + WAIT_NS;
	for (uint32_t i = 0; i < window->count; i++)
		issue_labels(taken, waiting, &window->rows[i]);
	*end = waiting;
	reader->gpu_stats.windows++;
	reader->gpu_stats.observed_ns += window->head.window.observed_ns;
}

/* Called for each name of a kernel: stores the name for the program's later rows. */
static void
take_name(void *context, uint32_t number, const char *text, uint32_t length)
{
	const RowsTaken *taken = context;
	Reader *reader = taken->reader;
	char name[PFS_GPU_NAME_BYTES + 1];
	CodeName code = { CUDA_RUNTIME, name, "", 0, 0 };
	CodeObject *object;

	memcpy(name, text, length);
	name[length] = '\0';
	/* Equal names of several programs become one object, and so one location. */
	object = code_table_add(reader->options.namer.table, &code);
	if (object == NULL)
		lose_full(reader);
	else if (!gpu_program_name(&reader->gpu, taken->program, number, object))
	{
		code_object_release(object);
		lose_full(reader);
	}
}

static void
take_device(void *context, uint32_t device, const uint8_t uuid[PFS_GPU_UUID_BYTES])
{
	const RowsTaken *taken = context;
	char *text = taken->program->uuids[device];
	size_t length = (size_t) snprintf(text, GPU_UUID_TEXT_BYTES, "GPU-");

	for (size_t i = 0; i < PFS_GPU_UUID_BYTES; i++)
		length += (size_t) snprintf(text + length, GPU_UUID_TEXT_BYTES - length, "%s%02x",
									i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* Adds what the decoder has refused to the losses. */
static void
count_refused(Reader *reader, GpuProgram *program)
{
	losses_add(reader->losses, LOSS_GPU_RECORDS_REFUSED,
			   program->decoder.refused - program->refused);
	losses_add(reader->losses, LOSS_GPU_CUPTI_BUSY, program->decoder.busy - program->busy);
	program->refused = program->decoder.refused;
	program->busy = program->decoder.busy;
}

/*
 * Returns whether the rows of a library count. One file may be probed under two names, and a
 * program may load two libraries, whose windows alternate: the first one that has observed counts,
 * until it has sent no rows for a while, because a file that is probed again has another cookie.
 */
static bool
program_has_library(const Reader *reader, GpuProgram *program, const Record *record)
{
	uint64_t library = record->sample->period;

	if ((program->library == 0 || reader->now_ns - program->library_ns > LIBRARY_NS) &&
		record->rows[0].kind == PFS_GPU_ROW_WINDOW && record->rows[0].window.observed_ns > 0)
		program->library = library;
	if (program->library != 0 && program->library != library)
		return false;
	program->library_ns = reader->now_ns;
	return true;
}

void
gpu_join_take_rows(Reader *reader, const Record *record)
{
	const struct pfs_sample *sample = record->sample;
	Process *process = process_table_get(reader->processes, sample, reader->now_ns);
	RowsTaken taken = { .reader = reader, .process = process, .record = record };
	const GpuWindowSink sink = { &taken, take_window, take_name, take_device };
	ExecImage image;

	if (process == NULL || reader->options.namer.table == NULL)
	{
		lose_full(reader);
		return;
	}
	if (!process_is_sampled(reader, sample, process))
		return;
	image = process_identity(process);
	taken.program = gpu_programs_get(&reader->gpu, &image, process_owner(process), reader->now_ns);
	if (taken.program == NULL)
	{
		lose_full(reader);
		return;
	}
	if (!program_has_library(reader, taken.program, record))
		return;
	/* The process may have ended, and its entry may be gone, when the last windows are added. */
	if (taken.program->executable == NULL && process_executable(process) != NULL)
	{
		taken.program->executable = process_executable(process);
		mapped_file_retain(reader->files, taken.program->executable);
	}
	gpu_decoder_feed(&taken.program->decoder, record->rows, sample->value, sample->time_ns, &sink);
	charge_incomplete(reader, taken.program);
	count_refused(reader, taken.program);
}

/* A window that is being added to the interval. */
typedef struct Settling
{
	Reader *reader;
	GpuProgram *program;
	const GpuWaiting *waiting;
} Settling;

static bool
settling_has_stack(void *context, const struct pfs_gpu_row *row)
{
	const Settling *settling = context;

	return gpu_program_launch(settling->program, row->correlation) != NULL;
}

/* Adds a name of our own as a frame of the interval. */
static int
add_own_frame(Reader *reader, const char *name, Frame *frame)
{
	const CodeName code = { CUDA_RUNTIME, name, "", 0, 0 };
	CodeObject *object = code_table_add(reader->options.namer.table, &code);
	int result = object == NULL ? -ENOMEM : 0;

	*frame = (Frame){ 0, INTERVAL_NO_ITEM, FRAME_CODE };
	if (result == 0)
		result = interval_add_code(reader->interval, object, &frame->item);
	code_object_release(object);
	return result;
}

/* Adds the frame of a kernel. */
static int
add_kernel_frame(const Settling *settling, uint32_t number, Frame *frame)
{
	const GpuProgram *program = settling->program;

	if (number == PFS_GPU_OTHER_NAME)
		return add_own_frame(settling->reader, NAME_OTHER, frame);
	if (number >= program->names_count || program->names[number] == NULL)
		return add_own_frame(settling->reader, NAME_UNKNOWN, frame);
	*frame = (Frame){ 0, INTERVAL_NO_ITEM, FRAME_CODE };
	return interval_add_code(settling->reader->interval, program->names[number], &frame->item);
}

/* Adds the frames of a kept launch after those that the stack has. */
static int
add_held_frames(const Settling *settling, const GpuLaunch *launch, IntervalStack *stack)
{
	Reader *reader = settling->reader;
	uint64_t owners = worker_account_of(settling->program->owner->owner);
	int result = 0;

	stack->side = launch->side;
	stack->walk = launch->walk;
	for (uint16_t i = 0; i < launch->depth && stack->depth < MAX_FRAMES && result == 0; i++)
	{
		const HeldFrame *held = &launch->frames[i];
		Frame *frame = &reader->frames[stack->depth++];

		/*
		 * Items of the interval in which the launch was kept do not exist in this one: add them
		 * again.
		 */
		*frame = (Frame){ held->address, INTERVAL_NO_ITEM, held->kind };
		if (held->kind == FRAME_FILE)
			result = interval_add_file(reader->interval, held->item, owners, &frame->item);
		else if (held->kind == FRAME_CODE)
			result = interval_add_code(reader->interval, held->item, &frame->item);
	}
	return result;
}

/* Adds a stack: the frames that it has, and those of the launch; NULL: the launch is not known. */
static int
add_launch_stack(const Settling *settling, uint16_t depth, const GpuLaunch *launch, bool of_kernel,
				 uint32_t *index)
{
	Reader *reader = settling->reader;
	IntervalStack stack = { .executable = INTERVAL_NO_ITEM,
							.side = STACK_NO_USER_SIDE,
							.depth = depth,
							.frames = reader->frames };
	int result = 0;

	if (launch != NULL)
		result = add_held_frames(settling, launch, &stack);
	else if (of_kernel)
		result = add_own_frame(reader, NAME_NO_LAUNCH, &reader->frames[stack.depth++]);
	/* The executable determines the partition of the dictionary, as for other samples. */
	if (result == 0 && settling->program->executable != NULL)
		result = interval_add_file(reader->interval, settling->program->executable,
								   worker_account_of(settling->program->owner->owner),
								   &stack.executable);
	return result == 0 ? interval_add_stack(reader->interval, &stack, index) : result;
}

/* Adds a value of a stack to the interval. */
static void
add_value(const Settling *settling, enum pfs_kind kind, LabelSet *labels, int result,
		  uint32_t stack, uint64_t value)
{
	Reader *reader = settling->reader;
	const IntervalSeries series = { labels, GPU_PERIOD, kind };
	IntervalSample added = { .count = 1, .value = value, .stack = stack };
	uint32_t index;

	if (value == 0)
		return;
	if (result == 0 && labels == NULL)
		result = -ENOMEM;
	if (result == 0)
		result = interval_add_series(reader->interval, series, &added.series);
	added.time_us = sample_stored_time(reader, settling->waiting->time_ns);
	if (result == 0)
		result = interval_add_sample(reader->interval, &added, &index);
	if (result != 0)
		losses_add(reader->losses, result == -EOVERFLOW ? LOSS_VALUE_OVERFLOW : LOSS_INTERVAL_FULL,
				   1);
}

static void
settling_add_share(void *context, const GpuShare *share)
{
	const Settling *settling = context;
	const GpuWaiting *waiting = settling->waiting;
	const GpuLaunch *launch = NULL;
	uint32_t stack = 0;
	int result = add_kernel_frame(settling, share->name, &settling->reader->frames[0]);

	/* A kernel without a sampled launch keeps its time, under a frame that says so. */
	if (share->launch != GPU_SHARE_NO_LAUNCH)
		launch =
			gpu_program_launch(settling->program, waiting->window.rows[share->launch].correlation);
	if (result == 0)
		result = add_launch_stack(settling, 1, launch, true, &stack);
	add_value(settling, PFS_KIND_GPU_KERNEL_TIME,
			  window_labels(waiting, share->device, share->stream, ""), result, stack, share->ns);
}

/* Adds copies, which have no stack: time and bytes. */
static void
settle_copies(const Settling *settling)
{
	const GpuWindow *window = &settling->waiting->window;

	for (uint32_t i = 0; i < window->count; i++)
	{
		const struct pfs_gpu_row *row = &window->rows[i];
		const char *copy = copy_of_row(row);
		LabelSet *labels = window_labels(settling->waiting, row->device, 0, copy);
		uint32_t stack = 0;
		char name[32];
		int result;

		if (copy[0] == '\0')
			continue;
		snprintf(name, sizeof(name), "[copy %s]", copy);
		/* The library reports sums of copies, not their callers, so the stack is this one frame. */
		result = add_own_frame(settling->reader, name, &settling->reader->frames[0]);
		if (result == 0)
			result = add_launch_stack(settling, 1, NULL, false, &stack);
		add_value(settling, PFS_KIND_GPU_COPY_TIME, labels, result, stack,
				  gpu_share_scaled(window, row->ns));
		add_value(settling, PFS_KIND_GPU_COPY_BYTES, labels, result, stack,
				  gpu_share_scaled(window, row->bytes));
	}
}

/* Returns the next launch of the window that was not counted in this round; NULL if all were. */
static GpuLaunch *
next_launch(const Settling *settling, uint32_t *at, uint32_t round)
{
	const GpuWindow *window = &settling->waiting->window;

	while (*at < window->count)
	{
		const struct pfs_gpu_row *row = &window->rows[(*at)++];
		GpuLaunch *launch = row->kind == PFS_GPU_ROW_KEPT
								? gpu_program_launch(settling->program, row->correlation)
								: NULL;

		if (launch != NULL && launch->counted != round)
		{
			launch->counted = round;
			return launch;
		}
	}
	return NULL;
}

/*
 * Adds the launches of a window of which none is known: under the first kernel's device and stream.
 * A window without kernels has captured its launches only.
 */
static void
add_unknown_launches(const Settling *settling, uint64_t launches)
{
	const GpuWindow *window = &settling->waiting->window;
	uint32_t stack = 0;
	uint32_t first = 0;
	int result;

	while (first < window->count && window->rows[first].kind != PFS_GPU_ROW_KERNELS)
		first++;
	if (first == window->count)
		return;
	result = add_launch_stack(settling, 0, NULL, true, &stack);
	/* the stream is 0 unless there are labels by stream */
	add_value(settling, PFS_KIND_GPU_LAUNCH,
			  window_labels(settling->waiting, window->rows[first].device,
							window->rows[first].stream, ""),
			  result, stack, launches);
}

/*
 * Adds the number of launches, unless a probe counts all of them: each kept one stands for as many
 * as its period says, in proportion.
 */
static void
settle_launches(const Settling *settling)
{
	const GpuWindow *window = &settling->waiting->window;
	uint64_t launches = gpu_share_scaled(window, window->head.window.launches);
	uint64_t periods = 0;
	uint64_t passed = 0;
	uint64_t given = 0;
	GpuLaunch *launch;
	uint32_t at = 0;

	/* The first round sums the periods, by which the second one divides the launches. */
	while ((launch = next_launch(settling, &at, 1)) != NULL)
		periods += launch->period;
	if (periods == 0)
	{
		add_unknown_launches(settling, launches);
		return;
	}
	at = 0;
	while ((launch = next_launch(settling, &at, 2)) != NULL)
	{
		const struct pfs_gpu_row *row = &window->rows[at - 1];
		uint32_t stream = settling->reader->options.gpu_label_stream ? row->stream : 0;
		uint32_t stack = 0;
		uint64_t until;
		int result = add_launch_stack(settling, 0, launch, true, &stack);

		passed += launch->period;
		/*
		 * Each launch gets the difference of two rounded sums, so that all parts add up to the
		 * total.
		 */
		until = passed == periods
					? launches
					: (uint64_t) ((double) launches * (double) passed / (double) periods);
		add_value(settling, PFS_KIND_GPU_LAUNCH,
				  window_labels(settling->waiting, row->device, stream, ""), result, stack,
				  until - given);
		given = until;
	}
}

/* Forgets the launches of a window. */
static void
forget_launches(const Settling *settling)
{
	const GpuWindow *window = &settling->waiting->window;

	for (uint32_t i = 0; i < window->count; i++)
	{
		const struct pfs_gpu_row *row = &window->rows[i];
		GpuLaunch *launch;

		if (row->kind != PFS_GPU_ROW_KEPT)
			continue;
		launch = gpu_program_launch(settling->program, row->correlation);
		/* a graph has several rows, of which the first one forgets its launch */
		if (launch != NULL)
			gpu_program_forget(&settling->reader->gpu, settling->program, launch);
	}
}

static void
settle_window(Reader *reader, GpuProgram *program, GpuWaiting *waiting)
{
	Settling settling = { reader, program, waiting };
	const GpuShareSink sink = { &settling, settling_has_stack, settling_add_share };

	/* There was no memory for an interval, so the whole window is lost. */
	if (reader->interval == NULL)
	{
		losses_add(reader->losses, LOSS_INTERVAL_FULL, 1);
		return;
	}
	gpu_share_window(&waiting->window, reader->options.gpu_label_stream, &sink);
	settle_copies(&settling);
	if (!reader->options.gpu_launches_probed)
		settle_launches(&settling);
	forget_launches(&settling);
}

/* Returns whether all stacks of a window have come, or it has waited for long enough. */
static bool
is_ready(const Reader *reader, const GpuProgram *program, const GpuWaiting *waiting, uint64_t *late)
{
	uint64_t missing = 0;

	for (uint32_t i = 0; i < waiting->window.count; i++)
	{
		const struct pfs_gpu_row *row = &waiting->window.rows[i];

		/*
		 * The stack of a launch comes in a record of its own, which may be parked for an unwind
		 * table.
		 */
		missing +=
			row->kind == PFS_GPU_ROW_KEPT && gpu_program_launch(program, row->correlation) == NULL;
	}
	*late = missing;
	return missing == 0 || reader->now_ns >= waiting->due_ns;
}

/* Forgets launches for which no window came. */
static void
forget_old_launches(Reader *reader, GpuProgram *program)
{
	GpuLaunch *launch;
	GpuLaunch *next;

	HASH_ITER(hh, program->launches, launch, next)
	{
		if (reader->now_ns - launch->came_ns > (uint64_t) WAIT_NS)
		{
			losses_add(reader->losses, LOSS_GPU_UNMATCHED, 1);
			gpu_program_forget(&reader->gpu, program, launch);
		}
	}
}

void
gpu_join_settle(Reader *reader, bool all)
{
	if (reader->gpu.programs == NULL ||
		(!all && reader->now_ns - reader->gpu_looked_ns < (uint64_t) LOOK_NS))
		return;
	reader->gpu_looked_ns = reader->now_ns;
	for (GpuProgram *program = reader->gpu.programs; program != NULL; program = program->hh.next)
	{
		GpuWaiting *waiting = program->waiting;
		uint64_t late;

		/* is_ready() is called even if all windows are due, because it sets late. */
		while (waiting != NULL && (is_ready(reader, program, waiting, &late) || all))
		{
			settle_window(reader, program, waiting);
			losses_add(reader->losses, LOSS_GPU_UNMATCHED, late);
			program->waiting = waiting->next;
			gpu_waiting_free(&reader->gpu, program, waiting);
			waiting = program->waiting;
		}
		forget_old_launches(reader, program);
	}
}

void
gpu_join_sweep(Reader *reader)
{
	GpuProgram *program;
	GpuProgram *next;

	HASH_ITER(hh, reader->gpu.programs, program, next)
	{
		/* Programs are not forgotten when their process ends: their last windows may still wait. */
		if (program->waiting == NULL && reader->now_ns - program->used_ns > (uint64_t) FORGET_NS)
			gpu_programs_drop(&reader->gpu, program);
	}
}
