/*
 * reader.c
 *		From ring buffer records to interval samples.
 *
 * Two threads: one empties the ring and looks new processes up, the other walks stacks and sums.
 * They meet in a queue. The lock is never held while unwind tables are made; those are made one at a time, the one that
 * most walks wait for first, while records whose walks need none of them go on.
 */
#include "agent/reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/heartbeat.h"
#include "base/clock.h"
#include "base/log.h"

#define POLL_MS				100
#define SWEEP_NS			UINT64_C(20000000000)
#define NS_PER_S			UINT64_C(1000000000)
#define QUEUE_BYTES			((size_t) 64 * 1024 * 1024)
#define NS_PER_US			1000
#define MAX_LABELS			10
#define PAST_PROCESSES		2048
#define REREAD_GENERATED_NS UINT64_C(10000000)
/* one may stand for a process that is gone */
#define MAX_FRAMES			(PFS_MAX_FRAMES + PFS_MAX_USER_FRAMES + 1)
#define RING_NICE_LEVEL		(-10)
/* handled before a table is made that walks wait for, where records come without a pause */
#define RECORDS_A_TABLE		32

/* A record that was read out of the ring and waits to be handled. */
typedef struct QueuedRecord
{
	struct QueuedRecord *next;
	uint64_t table; /* that its walk waits for */
	size_t length_bytes;
	uint64_t bytes[]; /* of any size; aligned */
} QueuedRecord;

struct Reader
{
	ReaderOptions options;
	MappedFileTable *files;
	Losses *losses;
	Sampler *sampler;
	UnwindTables *unwind; /* of the walker thread; NULL: stacks are taken as they come */
	pthread_t ring_thread;
	pthread_t walker_thread;
	bool started;
	atomic_bool stopping;
	atomic_bool refusing;
	atomic_bool shrinking;
	Heartbeat ring_heartbeat;
	Heartbeat walker_heartbeat;
	QueuedRecord
		*parked; /* of the walker thread: records that wait for unwind tables, in any order */
	bool tables_wanted; /* likewise: some walk waits, or was cut short, for want of a table */

	pthread_mutex_t mutex; /* guards all that follows */
	pthread_cond_t queued;
	QueuedRecord *queue; /* oldest first */
	QueuedRecord **queue_end;
	size_t queue_bytes;	 /* and of those parked */
	bool queue_complete; /* the ring is empty, and stays so */
	Interval *interval;	 /* NULL without memory */
	PastImages *past;
	ProcessTable *processes;
	uint64_t now_ns;			/* CLOCK_MONOTONIC, when the lock was taken */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t user_frames[PFS_MAX_USER_FRAMES];
	Frame frames[MAX_FRAMES];
};

/* A record of the ring buffer, by its parts. */
typedef struct Record
{
	const struct pfs_sample *sample;
	const uint64_t *kernel_frames;
	const uint64_t *user_frames;
	const struct pfs_late *late; /* NULL: none */
} Record;

/* The user side of a record as walked; its frames are the reader's. */
typedef struct UserWalk
{
	uint32_t count;
	uint32_t late_from; /* frames from here on went by our rules */
	uint8_t status;		/* enum pfs_walk_status */
} UserWalk;

/* The oldest record of the queue, or NULL; its bytes count until it is freed. */
static QueuedRecord *
take_queued(Reader *reader)
{
	QueuedRecord *record = reader->queue;

	if (record == NULL)
		return NULL;
	reader->queue = record->next;
	if (reader->queue == NULL)
		reader->queue_end = &reader->queue;
	return record;
}

int
reader_create(const ReaderOptions *options, MappedFileTable *files, Losses *losses, Reader **result)
{
	Reader *reader = calloc(1, sizeof(*reader));
	pthread_condattr_t attributes;

	if (reader == NULL)
		return -ENOMEM;
	reader->options = *options;
	reader->files = files;
	reader->losses = losses;
	reader->queue_end = &reader->queue;
	pthread_mutex_init(&reader->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&reader->queued, &attributes);
	pthread_condattr_destroy(&attributes);
	if (past_images_create(PAST_PROCESSES, options->past_bytes, &reader->past) != 0 ||
		process_table_create(files, options->process_limit, &reader->processes) != 0 ||
		interval_create(files, options->interval_bytes, &reader->interval) != 0)
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
	while (reader->queue != NULL)
		free(take_queued(reader));
	while (reader->parked != NULL)
	{
		QueuedRecord *record = reader->parked;

		reader->parked = record->next;
		free(record);
	}
	process_table_free(reader->processes);
	past_images_free(reader->past);
	unwind_tables_free(reader->unwind);
	interval_free(reader->interval);
	pthread_cond_destroy(&reader->queued);
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
 * Kernel workers are named for the queue they serve at the moment ("kworker/1:2"): that part is
 * cut off.
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
	IntervalSeries series = { .labels = labels, .period_ns = (int64_t) sample->period_ns };

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

/* One user frame, as it was when it was sampled. -ENOMEM where the interval is full. */
static int
resolve_user_frame(Reader *reader, Process *process, uint64_t address, uint64_t time_ns,
				   bool is_leaf, Frame *frame)
{
	ProcessAddress where;

	frame->file = INTERVAL_NO_FILE;
	frame->address = 0;
	frame->kind = FRAME_UNKNOWN;
	if (!process_resolve(reader->processes, process, address, time_ns, is_leaf, reader->now_ns,
						 &where))
		return 0;
	if (where.kind == MAPPING_ANONYMOUS)
		frame->kind = FRAME_JIT;
	else if (where.file != NULL)
	{
		frame->kind = FRAME_FILE;
		frame->address = where.address;
		return interval_add_file(reader->interval, where.file, &frame->file);
	}
	return 0;
}

/* Was no code mapped since the sample, nor since the process was read? Other code may else stand where it ran. */
static bool
jit_is_as_sampled(Reader *reader, const struct pfs_sample *sample, const Process *process)
{
	uint64_t mapped_ns;

	past_images_update(reader->past);
	mapped_ns = past_images_mapped_ns(reader->past, sample->pid, sample->time_ns);
	return mapped_ns < sample->time_ns && mapped_ns < process_read_ns(process);
}

/*
 * The user side as walked: by the kernel, and from where it could not go on by us. The frame at
 * which the kernel stopped is walked again. Returns the number of the table that the walk has to wait for, or 0.
 */
static uint64_t
walk_user_stack(Reader *reader, const Record *record, const Process *process, UserWalk *walk)
{
	const struct pfs_late *late = record->late;
	ExecImage identity = process_identity(process);
	uint64_t *frames = reader->user_frames;
	uint32_t first = record->sample->user_count;
	size_t walked;
	int status;

	memcpy(frames, record->user_frames, first * sizeof(uint64_t));
	*walk = (UserWalk){ first, first, record->sample->user_status };
	if (reader->unwind == NULL)
		return 0;
	if (late == NULL)
	{
		/* nothing to go on with, but whoever comes next is to have the table */
		if (walk->status == PFS_WALK_NO_TABLE && first > 0 &&
			unwind_tables_want(reader->unwind, &identity, frames[first - 1], reader->now_ns) != 0)
			reader->tables_wanted = true;
		return 0;
	}

	if (first > 0 && PFS_FRAME_ADDRESS(frames[first - 1]) == late->at.pc)
		first--;
	walked = unwind_tables_walk(reader->unwind, &identity, late,
								jit_is_as_sampled(reader, record->sample, process), frames + first,
								PFS_MAX_USER_FRAMES - first, &status);
	walk->status = (uint8_t) status;
	walk->late_from = first;
	/* where there was no room to describe the process, what the kernel found is all there is */
	if (status != PFS_WALK_NO_PROCESS)
		walk->count = first + (uint32_t) walked;
	return status == PFS_WALK_NO_TABLE && walked > 0
			   ? unwind_tables_want(reader->unwind, &identity, frames[walk->count - 1],
									reader->now_ns)
			   : 0;
}

/* Neither kernel threads nor processes inside exec or exit have one. */
static bool
has_user_side(const struct pfs_sample *sample)
{
	return (sample->flags & (PFS_SAMPLE_KERNEL_THREAD | PFS_SAMPLE_NO_IMAGE)) == 0;
}

/* Did more than the registers go into the walk? */
static bool
walked_by_rules(uint8_t status)
{
	return status != PFS_WALK_NO_PROCESS && status != PFS_WALK_NO_REGISTERS;
}

/* Generated code whose caller frame pointers led to: no rule had a part in it, so it does not matter whose rules were known. */
static bool
went_by_frame_pointer(const Reader *reader, uint32_t frame, uint32_t count, FrameKind kind)
{
	return kind == FRAME_JIT && frame + 1 < count &&
		   (reader->user_frames[frame + 1] & PFS_FRAME_BY_FRAME_POINTER) != 0;
}

/* Appends the user side to the frames. */
static int
resolve_user_stack(Reader *reader, const struct pfs_sample *sample, Process *process,
				   const UserWalk *walk, IntervalStack *stack)
{
	int result = 0;

	if (!has_user_side(sample))
	{
		stack->side = STACK_NO_USER_SIDE;
		return 0;
	}
	stack->side = STACK_USER_SIDE;
	stack->walk = PFS_WALK_NO_PROCESS;
	if (process_state(process) != PROCESS_LIVE)
	{
		losses_add(reader->losses,
				   process_state(process) == PROCESS_UNREADABLE ? LOSS_PROCESS_UNREADABLE
																: LOSS_PROCESS_GONE,
				   1);
		reader->frames[stack->depth++] = (Frame){ 0, INTERVAL_NO_FILE, FRAME_GONE };
		return 0;
	}
	stack->walk = walk->status;
	for (uint32_t i = 0; i < walk->count && result == 0; i++)
	{
		uint64_t frame = reader->user_frames[i];
		uint64_t address =
			PFS_FRAME_ADDRESS(frame) - ((frame & PFS_FRAME_RETURN_ADDRESS) != 0 ? 1 : 0);

		result = resolve_user_frame(reader, process, address, sample->time_ns, i == 0,
									&reader->frames[stack->depth]);
		if (result == 0 && reader->frames[stack->depth].kind == FRAME_UNKNOWN)
		{
			/*
			 * no caller there: a frame pointer that was none led astray, and all beyond is as
			 * wrong
			 */
			if (i > 0)
			{
				stack->walk = PFS_WALK_NO_MAPPING;
				break;
			}
			losses_add(reader->losses, LOSS_ADDRESS_UNKNOWN, 1);
		}
		stack->depth++;
		/* the caller was found by rules of other code: whatever it is, it did not call */
		if (walked_by_rules(stack->walk) &&
			!went_by_frame_pointer(reader, i, walk->count, reader->frames[stack->depth - 1].kind) &&
			!process_walk_held(reader->processes, process, address, sample->time_ns,
							   i >= walk->late_from))
		{
			stack->walk = PFS_WALK_STALE;
			break;
		}
	}
	return result;
}

static int
add_stack(Reader *reader, const Record *record, Process *process, const UserWalk *walk,
		  uint32_t *index)
{
	const uint64_t *addresses = record->kernel_frames;
	IntervalStack stack = { .executable = INTERVAL_NO_FILE, .frames = reader->frames };
	MappedFile *executable = process_executable(process);
	int result;

	for (uint32_t i = 0; i < record->sample->kernel_count; i++)
		reader->frames[stack.depth++] =
			(Frame){ i == 0 ? addresses[i] : addresses[i] - 1, INTERVAL_NO_FILE, FRAME_KERNEL };
	result = resolve_user_stack(reader, record->sample, process, walk, &stack);
	if (result == 0 && executable != NULL)
		result = interval_add_file(reader->interval, executable, &stack.executable);
	if (result == 0)
		result = interval_add_stack(reader->interval, &stack, index);
	return result;
}

/* Where a moment of CLOCK_MONOTONIC is stored: at the start of its window, or as it is. */
static int64_t
stored_time(const Reader *reader, uint64_t time_ns)
{
	int64_t time_us = ((int64_t) time_ns + reader->realtime_offset_ns) / NS_PER_US;
	int64_t aligned_us = time_us - time_us % reader->options.window_us;

	if (reader->options.keep_times)
		return time_us;
	return aligned_us > reader->options.start_us ? aligned_us : reader->options.start_us;
}

static void
add_sample(Reader *reader, const Record *record, Process *process, const UserWalk *walk)
{
	const struct pfs_sample *sample = record->sample;
	IntervalSample added = { .count = 1 };

	if (process == NULL || reader->interval == NULL ||
		add_series(reader, sample, process, &added.series) != 0 ||
		add_stack(reader, record, process, walk, &added.stack) != 0)
	{
		losses_add(reader->losses, LOSS_INTERVAL_FULL, 1);
		return;
	}
	added.time_us = stored_time(reader, sample->time_ns);
	if (interval_add_sample(reader->interval, &added) != 0)
		losses_add(reader->losses, LOSS_INTERVAL_FULL, 1);
}

/* The parts of a record; false where its size does not fit what it says. */
static bool
parse_record(const void *bytes, size_t length_bytes, Record *record)
{
	const struct pfs_sample *sample = bytes;
	size_t frame_bytes;

	if (length_bytes < sizeof(*sample) || sample->kernel_count > PFS_MAX_FRAMES ||
		sample->user_count > PFS_MAX_USER_FRAMES)
		return false;
	frame_bytes = ((size_t) sample->kernel_count + sample->user_count) * sizeof(uint64_t);
	if (length_bytes < sizeof(*sample) + frame_bytes)
		return false;
	record->sample = sample;
	record->kernel_frames = (const uint64_t *) (const void *) (sample + 1);
	record->user_frames = record->kernel_frames + sample->kernel_count;
	record->late = NULL;
	if (sample->flags & PFS_SAMPLE_LATE)
	{
		size_t late_bytes = length_bytes - sizeof(*sample) - frame_bytes;

		record->late = (const void *) (record->user_frames + sample->user_count);
		if (late_bytes < offsetof(struct pfs_late, bytes) ||
			record->late->length > late_bytes - offsetof(struct pfs_late, bytes))
			return false;
	}
	return true;
}

static void
lock(Reader *reader)
{
	pthread_mutex_lock(&reader->mutex);
	reader->now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	reader->realtime_offset_ns = clock_ns(CLOCK_REALTIME) - (int64_t) reader->now_ns;
}

static void
unlock(Reader *reader)
{
	pthread_mutex_unlock(&reader->mutex);
}

/* Did the kernel's walk fail in generated code? It is walked by frame pointer until rules for it are found beside it. */
static bool
failed_in_generated_code(const Record *record, const Process *process)
{
	const struct pfs_sample *sample = record->sample;
	uint64_t frame;

	if (sample->user_count == 0 ||
		(sample->user_status != PFS_WALK_BAD_FRAME && sample->user_status != PFS_WALK_READ_FAILED))
		return false;
	frame = record->user_frames[sample->user_count - 1];
	return process_is_generated(process, PFS_FRAME_ADDRESS(frame) -
											 ((frame & PFS_FRAME_RETURN_ADDRESS) != 0 ? 1 : 0));
}

/*
 * Code of files that was mapped since the process was read is looked at as soon as it is sampled. Generated code is not: that
 * of compilers that write and execute in turn may not be executable at this moment. Only where a walk could not go on, it
 * may have been mapped since, or have taken other code's place, and then the process is read again.
 */
static void
follow_mappings(Reader *reader, const Record *record, Process *process)
{
	const struct pfs_late *late = record->late;
	bool failed;
	uint64_t mapped_ns;

	if (process == NULL)
		return;
	past_images_update_to(reader->past, record->sample->time_ns);
	process_follow(reader->processes, process, reader->now_ns);
	if (late != NULL)
		failed = record->sample->user_status == PFS_WALK_NO_TABLE ||
				 !process_covers(process, late->at.pc - late->at.is_return);
	else
		failed = failed_in_generated_code(record, process) &&
				 process_read_ns(process) + REREAD_GENERATED_NS < reader->now_ns;
	if (!failed)
		return;
	past_images_update(reader->past);
	mapped_ns = past_images_mapped_ns(reader->past, record->sample->pid, record->sample->time_ns);
	if (mapped_ns != UINT64_MAX)
		process_reread_before(reader->processes, process, mapped_ns, reader->now_ns);
}

/* The unwinder forgets what the process table has. Called with the lock. */
static void
forget_processes(Reader *reader, uint64_t now_ns)
{
	ExecImage forgotten;

	while (process_table_take_forgotten(reader->processes, &forgotten))
		unwind_tables_forget(reader->unwind, &forgotten, now_ns);
}

/*
 * Sees to it that the unwinder knows the record's process as it is. Called with the lock, which is
 * given back while unwind tables are made.
 */
static void
describe_process(Reader *reader, const Record *record)
{
	Process *process = process_table_get(reader->processes, record->sample, reader->now_ns);
	const struct pfs_late *late = record->late;
	ProcessDescription description;
	size_t described;
	int result;

	if (process == NULL || reader->unwind == NULL)
		return;
	forget_processes(reader, reader->now_ns);
	/*
	 * code that was mapped since the process was described is found by reading its mappings again
	 */
	follow_mappings(reader, record, process);
	if (late != NULL)
		process_seek(reader->processes, process, late->at.pc - late->at.is_return, reader->now_ns);
	if (!process_take_description(reader->processes, process, &description))
		return;
	unlock(reader);
	result = unwind_tables_describe(reader->unwind, &description.identity, description.mappings,
									description.count, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	described = description.count;
	process_description_fini(reader->files, &description);
	lock(reader);
	process = process_table_get(reader->processes, record->sample, reader->now_ns);
	if (process != NULL && result == -ENOSPC)
		process_had_no_room(reader->processes, process, reader->now_ns);
	else if (process != NULL)
		process_described(process, result == 0 ? described : 0, reader->now_ns);
}

/* Adds a record to the interval, or returns the number of the table that has to be loaded first. */
static uint64_t
handle_record(Reader *reader, const Record *record)
{
	UserWalk walk = { 0 };
	uint64_t table = 0;
	Process *process;

	lock(reader);
	describe_process(reader, record);
	process = process_table_get(reader->processes, record->sample, reader->now_ns);
	if (process != NULL && has_user_side(record->sample) && process_state(process) == PROCESS_LIVE)
	{
		past_images_update_to(reader->past, process_read_ns(process) > record->sample->time_ns
												? process_read_ns(process)
												: record->sample->time_ns);
		table = walk_user_stack(reader, record, process, &walk);
	}
	if (table == 0)
		add_sample(reader, record, process, &walk);
	unlock(reader);
	return table;
}

void
reader_handle_record(Reader *reader, const void *record, size_t length_bytes)
{
	Record parsed;

	if (!parse_record(record, length_bytes, &parsed))
		losses_add(reader->losses, LOSS_RECORD_MALFORMED, 1);
	else
	{
		while (handle_record(reader, &parsed) != 0)
			(void) unwind_tables_load_wanted(reader->unwind, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	}
}

void
reader_queue_record(void *context, const void *record, size_t length_bytes)
{
	Reader *reader = context;
	QueuedRecord *queued = malloc(sizeof(*queued) + length_bytes);
	Record parsed;

	lock(reader);
	if (parse_record(record, length_bytes, &parsed))
		follow_mappings(reader, &parsed,
						process_table_get(reader->processes, parsed.sample, reader->now_ns));
	if (queued == NULL || reader->queue_bytes + length_bytes > QUEUE_BYTES ||
		atomic_load(&reader->refusing))
	{
		losses_add(reader->losses,
				   atomic_load(&reader->refusing) ? LOSS_MEMORY_LIMIT : LOSS_RECORDS_FULL, 1);
		free(queued);
	}
	else
	{
		queued->next = NULL;
		queued->table = 0;
		queued->length_bytes = length_bytes;
		memcpy(queued->bytes, record, length_bytes);
		*reader->queue_end = queued;
		reader->queue_end = &queued->next;
		reader->queue_bytes += length_bytes;
	}
	unlock(reader);
}

/* Under full load a short-lived process would else be gone before we look. Who was started with more keeps it. */
static void
go_first(void)
{
	if (getpriority(PRIO_PROCESS, 0) > RING_NICE_LEVEL)
		(void) setpriority(PRIO_PROCESS, 0, RING_NICE_LEVEL);
}

/* Reads until told to stop, and then until the ring is empty. */
static void *
ring_run(void *argument)
{
	Reader *reader = argument;
	bool stopping;
	bool queued;
	int result;

	go_first();
	do
	{
		heartbeat_work(&reader->ring_heartbeat);
		stopping = atomic_load(&reader->stopping);
		/* many threads that come and go fill the side-band's buffers sooner than they are read by the clock */
		if (!stopping)
			past_images_wait(reader->past, sampler_descriptor(reader->sampler), POLL_MS);
		result = sampler_poll(reader->sampler, 0);
		if (result < 0)
			log_event(LOG_WARNING, "reader", "could not read the ring buffer",
					  log_text("detail", strerror(-result)));
		lock(reader);
		past_images_update(reader->past);
		losses_add(reader->losses, LOSS_SIDEBAND_FULL, past_images_take_lost(reader->past));
		losses_add(reader->losses, LOSS_PAST_FULL, past_images_take_pushed_out(reader->past));
		queued = reader->queue != NULL;
		unlock(reader);
		/* once for all that came, and when the lock is free: woken for each it would wait for us each time */
		if (queued)
			pthread_cond_signal(&reader->queued);
	} while (!stopping || result > 0);
	lock(reader);
	reader->queue_complete = true;
	pthread_cond_signal(&reader->queued);
	unlock(reader);
	return NULL;
}

/*
 * Waits for something to do, until a moment of CLOCK_MONOTONIC: *record is the next one, or NULL where tables are to be made
 * or the time has come. False where all is done.
 */
static bool
wait_for_work(Reader *reader, uint64_t until_ns, QueuedRecord **record)
{
	struct timespec until = { (time_t) (until_ns / NS_PER_S), (long) (until_ns % NS_PER_S) };
	int result = 0;
	bool more;

	lock(reader);
	while (reader->queue == NULL && !reader->queue_complete && !reader->tables_wanted &&
		   result != ETIMEDOUT)
		result = pthread_cond_timedwait(&reader->queued, &reader->mutex, &until);
	*record = take_queued(reader);
	more = *record != NULL || !reader->queue_complete || reader->parked != NULL;
	unlock(reader);
	return more;
}

/* Adds a record to the interval, or parks it until its table is there. */
static void
finish_or_park(Reader *reader, QueuedRecord *record)
{
	Record parsed;

	record->table = 0;
	if (!parse_record(record->bytes, record->length_bytes, &parsed))
		losses_add(reader->losses, LOSS_RECORD_MALFORMED, 1);
	else
		record->table = handle_record(reader, &parsed);
	if (record->table != 0)
	{
		record->next = reader->parked;
		reader->parked = record;
		reader->tables_wanted = true;
		return;
	}
	lock(reader);
	reader->queue_bytes -= record->length_bytes;
	unlock(reader);
	free(record);
}

/*
 * Makes the table that is wanted most, and goes on with what was parked for it. Where none is wanted whoever still waits
 * does so for a table that is gone, and finds that out.
 */
static void
make_wanted_table(Reader *reader)
{
	uint64_t table =
		unwind_tables_load_wanted(reader->unwind, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	QueuedRecord *parked = reader->parked;

	reader->parked = NULL;
	reader->tables_wanted = table != 0;
	while (parked != NULL)
	{
		QueuedRecord *record = parked;

		parked = record->next;
		if (table == 0 || record->table == table)
			finish_or_park(reader, record);
		else
		{
			record->next = reader->parked;
			reader->parked = record;
		}
	}
}

void
reader_sweep(Reader *reader, uint64_t now_ns, uint64_t keep_ns)
{
	lock(reader);
	process_table_sweep(reader->processes, now_ns);
	/* at once, or tables would count as used until a sample comes and the next sweep after it */
	forget_processes(reader, now_ns);
	past_images_follow_cpus(reader->past);
	unlock(reader);
	unwind_tables_sweep(reader->unwind, now_ns, keep_ns);
}

static void *
walker_run(void *argument)
{
	Reader *reader = argument;
	uint64_t swept_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	uint32_t handled = 0; /* since a table was made */
	QueuedRecord *record;

	/* the later the tables are there, the more stacks are copied meanwhile, and wait here */
	go_first();
	while (wait_for_work(reader, swept_ns + SWEEP_NS, &record))
	{
		uint64_t now_ns;

		heartbeat_work(&reader->walker_heartbeat);
		if (record != NULL)
			finish_or_park(reader, record);
		if (reader->tables_wanted && (record == NULL || ++handled >= RECORDS_A_TABLE))
		{
			make_wanted_table(reader);
			handled = 0;
		}
		now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC); /* later than what was just used */
		if (atomic_exchange(&reader->shrinking, false))
			reader_sweep(reader, now_ns, UNWIND_TABLES_KEEP_TIGHT_NS);
		else if (now_ns - swept_ns >= SWEEP_NS)
		{
			reader_sweep(reader, now_ns, UNWIND_TABLES_KEEP_NS);
			swept_ns = now_ns;
		}
		heartbeat_wait(&reader->walker_heartbeat);
	}
	return NULL;
}

int
reader_use_tables(Reader *reader, KernelTables *tables)
{
	return unwind_tables_create(reader->files, tables, reader->options.table_cache,
								&reader->unwind);
}

int
reader_start(Reader *reader, Sampler *sampler)
{
	int result = reader_use_tables(reader, sampler_tables(sampler));

	if (result != 0)
		return result;
	reader->sampler = sampler;
	result = past_images_listen(reader->past);
	if (result != 0)
		log_event(LOG_WARNING, "reader", "could not listen to executions and mappings",
				  log_text("detail", strerror(-result)),
				  log_text("hint", "Stacks of processes that end within moments will be missing."));
	else
		process_table_remember(reader->processes, reader->past);
	result = pthread_create(&reader->ring_thread, NULL, ring_run, reader);
	if (result != 0)
		return -result;
	result = pthread_create(&reader->walker_thread, NULL, walker_run, reader);
	if (result != 0)
	{
		atomic_store(&reader->stopping, true);
		pthread_join(reader->ring_thread, NULL);
		return -result;
	}
	reader->started = true;
	return 0;
}

void
reader_refuse(Reader *reader, bool refuse)
{
	atomic_store(&reader->refusing, refuse);
}

void
reader_shrink(Reader *reader)
{
	atomic_store(&reader->shrinking, true);
}

Interval *
reader_take(Reader *reader)
{
	Interval *fresh = NULL;
	Interval *taken;

	if (interval_create(reader->files, reader->options.interval_bytes, &fresh) != 0)
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
	pthread_join(reader->ring_thread, NULL);
	pthread_join(reader->walker_thread, NULL);
	reader->started = false;
}

void
reader_busy_ms(const Reader *reader, int64_t *ring_ms, int64_t *walker_ms)
{
	*ring_ms = heartbeat_busy_ms(&reader->ring_heartbeat);
	*walker_ms = heartbeat_busy_ms(&reader->walker_heartbeat);
}

void
reader_process_stats(const Reader *reader, ProcessTableStats *stats)
{
	process_table_stats(reader->processes, stats);
}

void
reader_unwind_stats(const Reader *reader, UnwinderStats *stats)
{
	unwind_tables_stats(reader->unwind, stats);
}
