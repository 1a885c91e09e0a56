/*
 * reader.c
 *		From ring buffer records to interval samples.
 */
#include "agent/reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"

#define POLL_MS			  100
#define SWEEP_NS		  UINT64_C(60000000000)
#define NS_PER_US		  1000
#define MAX_LABELS		  10
#define MAX_FRAMES		  (2 * PFS_MAX_FRAMES + 1) /* one may stand for a process that is gone */
#define READER_NICE_LEVEL (-10)

struct Reader
{
	ReaderOptions options;
	ImageTable *images;
	Losses *losses;
	Sampler *sampler;
	pthread_t thread;
	bool started;
	atomic_bool stopping;
	pthread_mutex_t
		mutex;			/* guards interval, and processes where the main thread asks for figures */
	Interval *interval; /* NULL without memory */
	ProcessTable *processes;
	uint64_t swept_ns;
	uint64_t now_ns;			/* CLOCK_MONOTONIC, at the last poll */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	Frame frames[MAX_FRAMES];
};

int
reader_create(const ReaderOptions *options, ImageTable *images, Losses *losses, Reader **result)
{
	Reader *reader = calloc(1, sizeof(*reader));

	if (reader == NULL)
		return -ENOMEM;
	reader->options = *options;
	reader->images = images;
	reader->losses = losses;
	pthread_mutex_init(&reader->mutex, NULL);
	if (process_table_create(images, options->process_limit, &reader->processes) != 0 ||
		interval_create(images, options->interval_bytes, &reader->interval) != 0)
	{
		reader_free(reader);
		return -ENOMEM;
	}
	*result = reader;
	return 0;
}

void
reader_free(Reader *reader)
{
	if (reader == NULL)
		return;
	process_table_free(reader->processes);
	interval_free(reader->interval);
	pthread_mutex_destroy(&reader->mutex);
	free(reader);
}

static void
add_label(IntervalSeries *series, BatchLabel *labels, const char *name, const char *value)
{
	if (value[0] != '\0')
		labels[series->label_count++] = (BatchLabel){ .name = name, .value = value };
}

/*
 * Kernel workers are named for the queue they serve at the moment ("kworker/1:2"): that part is cut
 * off.
 */
static void
copy_comm(char to[PFS_COMM_BYTES + 1], const char from[PFS_COMM_BYTES], bool kernel_thread)
{
	memcpy(to, from, PFS_COMM_BYTES);
	to[PFS_COMM_BYTES] = '\0';
	if (kernel_thread)
		to[strcspn(to, "/")] = '\0';
}

static int
add_series(Reader *reader, const struct pfs_sample *sample, const Process *process, uint32_t *index)
{
	bool kernel_thread = (sample->flags & PFS_SAMPLE_KERNEL_THREAD) != 0;
	const CgroupLabels *cgroup = process_cgroup(process);
	char comm[PFS_COMM_BYTES + 1];
	char thread_name[PFS_COMM_BYTES + 1];
	char pid[16];
	BatchLabel labels[MAX_LABELS];
	IntervalSeries series = { .labels = labels };

	copy_comm(comm, sample->process_comm, kernel_thread);
	copy_comm(thread_name, sample->comm, kernel_thread);
	snprintf(pid, sizeof(pid), "%u", sample->pid);
	add_label(&series, labels, "node", reader->options.node);
	add_label(&series, labels, "comm", comm);
	add_label(&series, labels, "exe", process_exe(process));
	add_label(&series, labels, "cgroup", cgroup->path);
	add_label(&series, labels, "container_id", cgroup->container_id);
	add_label(&series, labels, "systemd_unit", cgroup->systemd_unit);
	if (reader->options.label_pid)
		add_label(&series, labels, "pid", pid);
	if (reader->options.label_thread)
		add_label(&series, labels, "thread_name", thread_name);
	return interval_add_series(reader->interval, &series, index);
}

/* One user frame. -ENOMEM where the interval is full. */
static int
resolve_user_frame(Reader *reader, Process *process, uint64_t address, bool is_leaf, Frame *frame)
{
	ProcessAddress where;

	frame->image = INTERVAL_NO_IMAGE;
	frame->address = 0;
	frame->kind = FRAME_UNKNOWN;
	if (!process_resolve(reader->processes, process, address, is_leaf, reader->now_ns, &where))
		return 0;
	if (where.kind == MAPPING_ANONYMOUS)
		frame->kind = FRAME_JIT;
	else if (where.image != NULL)
	{
		frame->kind = FRAME_IMAGE;
		frame->address = where.address;
		return interval_add_image(reader->interval, where.image, &frame->image);
	}
	return 0;
}

/* Appends the user side to the frames. */
static int
resolve_user_stack(Reader *reader, const struct pfs_sample *sample, const uint64_t *addresses,
				   Process *process, IntervalStack *stack)
{
	int result = 0;

	if (sample->flags)
	{
		stack->side = STACK_NO_USER_SIDE;
		return 0;
	}
	stack->side = STACK_USER_SIDE;
	if (process_state(process) != PROCESS_LIVE)
	{
		losses_add(reader->losses,
				   process_state(process) == PROCESS_UNREADABLE ? LOSS_PROCESS_UNREADABLE
																: LOSS_PROCESS_GONE,
				   1);
		reader->frames[stack->depth++] = (Frame){ 0, INTERVAL_NO_IMAGE, FRAME_GONE };
		return 0;
	}
	for (uint32_t i = 0; i < sample->user_count && result == 0; i++)
	{
		uint64_t address = i == 0 ? addresses[i] : addresses[i] - 1;

		result =
			resolve_user_frame(reader, process, address, i == 0, &reader->frames[stack->depth]);
		if (result == 0 && reader->frames[stack->depth].kind == FRAME_UNKNOWN)
		{
			/* no caller there: a frame pointer that was none led astray, and all beyond is as wrong */
			if (i > 0)
				break;
			losses_add(reader->losses, LOSS_ADDRESS_UNKNOWN, 1);
		}
		stack->depth++;
	}
	return result;
}

static int
add_stack(Reader *reader, const struct pfs_sample *sample, const uint64_t *addresses,
		  Process *process, uint32_t *index)
{
	IntervalStack stack = { .executable = INTERVAL_NO_IMAGE, .frames = reader->frames };
	Image *executable = process_executable(process);
	int result;

	for (uint32_t i = 0; i < sample->kernel_count; i++)
		reader->frames[stack.depth++] =
			(Frame){ i == 0 ? addresses[i] : addresses[i] - 1, INTERVAL_NO_IMAGE, FRAME_KERNEL };
	result = resolve_user_stack(reader, sample, addresses + sample->kernel_count, process, &stack);
	if (result == 0 && executable != NULL)
		result = interval_add_image(reader->interval, executable, &stack.executable);
	if (result == 0)
		result = interval_add_stack(reader->interval, &stack, index);
	return result;
}

/* Start of the window that a moment of CLOCK_MONOTONIC falls into. */
static int64_t
window_start(const Reader *reader, uint64_t time_ns)
{
	int64_t time_us = ((int64_t) time_ns + reader->realtime_offset_ns) / NS_PER_US;
	int64_t aligned_us = time_us - time_us % reader->options.window_us;

	return aligned_us > reader->options.start_us ? aligned_us : reader->options.start_us;
}

static void
handle_sample(Reader *reader, const struct pfs_sample *sample, const uint64_t *addresses)
{
	IntervalSample added = { .count = 1 };
	Process *process = process_table_get(reader->processes, sample, reader->now_ns);

	if (process == NULL || reader->interval == NULL ||
		add_series(reader, sample, process, &added.series) != 0 ||
		add_stack(reader, sample, addresses, process, &added.stack) != 0)
	{
		losses_add(reader->losses, LOSS_INTERVAL_FULL, 1);
		return;
	}
	added.window_us = window_start(reader, sample->time_ns);
	if (interval_add_sample(reader->interval, &added) != 0)
		losses_add(reader->losses, LOSS_INTERVAL_FULL, 1);
}

void
reader_handle_record(void *context, const void *record, size_t length_bytes)
{
	Reader *reader = context;
	const struct pfs_sample *sample = record;

	if (length_bytes < sizeof(*sample) || sample->kernel_count > PFS_MAX_FRAMES ||
		sample->user_count > PFS_MAX_FRAMES ||
		length_bytes < sizeof(*sample) +
						   ((size_t) sample->kernel_count + sample->user_count) * sizeof(uint64_t))
	{
		losses_add(reader->losses, LOSS_RECORD_MALFORMED, 1);
		return;
	}
	pthread_mutex_lock(&reader->mutex);
	reader->now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	reader->realtime_offset_ns = clock_ns(CLOCK_REALTIME) - (int64_t) reader->now_ns;
	handle_sample(reader, sample, (const uint64_t *) (const void *) (sample + 1));
	pthread_mutex_unlock(&reader->mutex);
}

/* Reads until told to stop, and then until the ring is empty. */
static void *
reader_run(void *argument)
{
	Reader *reader = argument;

	/*
	 * under full load a short-lived process would else be gone before we run; without the right we
	 * are later
	 */
	setpriority(PRIO_PROCESS, 0, READER_NICE_LEVEL);
	for (;;)
	{
		bool stopping = atomic_load(&reader->stopping);
		int result = sampler_poll(reader->sampler, stopping ? 0 : POLL_MS);
		uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);

		if (result < 0)
			log_event(LOG_WARNING, "reader", "could not read the ring buffer",
					  log_text("detail", strerror(-result)));
		if (stopping && result <= 0)
			break;
		if (now_ns - reader->swept_ns > SWEEP_NS)
		{
			pthread_mutex_lock(&reader->mutex);
			process_table_sweep(reader->processes, now_ns);
			pthread_mutex_unlock(&reader->mutex);
			reader->swept_ns = now_ns;
		}
	}
	return NULL;
}

int
reader_start(Reader *reader, Sampler *sampler)
{
	int result;

	reader->sampler = sampler;
	reader->swept_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	result = pthread_create(&reader->thread, NULL, reader_run, reader);
	reader->started = result == 0;
	return -result;
}

Interval *
reader_take(Reader *reader)
{
	Interval *fresh = NULL;
	Interval *taken;

	if (interval_create(reader->images, reader->options.interval_bytes, &fresh) != 0)
		fresh = NULL;
	pthread_mutex_lock(&reader->mutex);
	taken = reader->interval;
	reader->interval = fresh;
	pthread_mutex_unlock(&reader->mutex);
	return taken;
}

void
reader_stop(Reader *reader)
{
	if (!reader->started)
		return;
	atomic_store(&reader->stopping, true);
	pthread_join(reader->thread, NULL);
	reader->started = false;
}

void
reader_process_stats(Reader *reader, ProcessTableStats *stats)
{
	pthread_mutex_lock(&reader->mutex);
	process_table_stats(reader->processes, stats);
	pthread_mutex_unlock(&reader->mutex);
}
