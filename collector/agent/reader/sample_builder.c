/*
 * sample_builder.c
 *		Turns a record and its walked stack into a sample of the interval: series, frames, time.
 */
#include "agent/reader/sample_builder.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "symbols/worker/worker_accounts.h"

/*
 * Copies the name of a thread without a suffix of kernel workers: they append the queue that they
 * serve at the moment ("kworker/1:2").
 */
static void
copy_comm(char to[LABELLER_NAME_SIZE], const char from[PFS_COMM_BYTES], bool kernel_thread)
{
	memcpy(to, from, PFS_COMM_BYTES);
	to[PFS_COMM_BYTES] = '\0';
	if (kernel_thread)
		to[strcspn(to, "/")] = '\0';
}

LabelSet *
sample_labels_of(Reader *reader, const SampledThread *thread, Process *process)
{
	IssuedLabels *issued = process_labels(process);
	LabelFacts facts = { .owner = process_series(process),
						 .exe = process_exe(process),
						 .cgroup = process_cgroup(process),
						 .compiler = process_compiler(process),
						 .runtime = process_runtime(process),
						 .environment = process_environment(process),
						 .pid = thread->pid };
	LabelSet *labels;

	copy_comm(facts.comm, thread->process_comm, thread->is_kernel);
	copy_comm(facts.thread_name, thread->comm, thread->is_kernel);
	labels = labeller_issue(reader->labeller, issued, &facts, reader->now_ns);
	if (issued->capped)
		losses_add(reader->losses, LOSS_SERIES_CAPPED, 1);
	if (issued->failed)
		losses_add(reader->losses, LOSS_LABELS_FAILED, 1);
	/* The BPF program then skips the process, so that a dropped process costs little. */
	process_set_verdict(reader->processes, process, PFS_VERDICT_DROP, issued->dropped);
	return labels;
}

/*
 * Returns the process's labels together with the requested labels of the thread; the caller
 * releases them. Sets *ids to the trace and span in the thread's labels.
 */
static LabelSet *
labels_of_record(Reader *reader, const Record *record, Process *process, PfsTraceIds *ids)
{
	const struct pfs_sample *sample = record->sample;
	const SampledThread thread = { .pid = sample->pid,
								   .is_kernel = (sample->flags & PFS_SAMPLE_KERNEL_THREAD) != 0,
								   .comm = sample->comm,
								   .process_comm = sample->process_comm };
	LabelSet *labels = sample_labels_of(reader, &thread, process);
	CustomValues values;
	bool capped;

	*ids = (PfsTraceIds){ { 0 }, { 0 } };
	if (labels == NULL || record->labels == NULL)
		return labels == NULL ? NULL : label_set_retain(labels);
	custom_labels_pick(&reader->options.custom, record->labels, &values);
	/* Traces do not become labels, because each would be a series of its own. */
	*ids = values.ids;
	if (values.count == 0)
		return label_set_retain(labels);
	labels = labeller_issue_with(reader->labeller, process_labels(process), values.labels,
								 values.count, &capped, reader->now_ns);
	if (capped)
		losses_add(reader->losses, LOSS_SERIES_CAPPED, 1);
	return labels;
}

/*
 * The frames of the sample that one user frame becomes: several if functions were inlined into it.
 */
typedef struct FrameList
{
	Frame *frames;
	uint32_t room; /* at least 1 */
	uint16_t count;
} FrameList;

/*
 * Replaces a frame of code without a file by the names that the code had when it was sampled, if
 * the namer knows them.
 */
static int
name_code(Reader *reader, Process *process, const UserFrame *user, uint64_t time_ns,
		  FrameList *list)
{
	const CodeNamer *namer = &reader->options.namer;
	ExecImage image = process_identity(process);
	CodeObject *objects[CODE_INLINED_MAX];
	size_t named =
		namer->name != NULL ? namer->name(namer->context, &image, user, time_ns, objects) : 0;
	uint16_t put = 0;
	int result = 0;

	/* Go on after an error and without room, because every object has to be released. */
	for (size_t i = 0; i < named; i++)
	{
		if (result == 0 && put < list->room)
		{
			Frame *frame = &list->frames[put];

			*frame = (Frame){ 0, INTERVAL_NO_ITEM, FRAME_CODE };
			result = interval_add_code(reader->interval, objects[i], &frame->item);
			put = (uint16_t) (put + (result == 0));
		}
		else if (result == 0)
			losses_add(reader->losses, LOSS_FRAMES_CUT, 1);
		code_object_release(objects[i]);
	}
	if (put > 0)
		list->count = put;
	return result;
}

/*
 * Resolves one user frame by the mappings at the time of the sample. Returns -ENOMEM if the
 * interval is full; -EAGAIN if the flusher took the interval while the process was read, so that
 * items added to it are gone.
 */
static int
resolve_user_frame(Reader *reader, Process *process, const UserFrame *user, uint64_t time_ns,
				   bool is_leaf, FrameList *list)
{
	Frame *frame = &list->frames[0];
	uint64_t intervals = reader->intervals;
	ProcessAddress where;
	bool found;

	*frame = (Frame){ 0, INTERVAL_NO_ITEM, FRAME_UNKNOWN };
	list->count = 1;
	/*
	 * The code of an interpreted frame is an identifier of its interpreter, not an address to look
	 * up.
	 */
	if (user->more_count > 0)
	{
		frame->kind = FRAME_INTERPRETED;
		return name_code(reader, process, user, time_ns, list);
	}
	found = process_resolve(reader->processes, process, user->code, time_ns, is_leaf,
							reader->now_ns, &where);
	if (reader->intervals != intervals)
		return -EAGAIN;
	if (!found)
		return 0;
	if (where.kind == MAPPING_ANONYMOUS)
	{
		frame->kind = FRAME_JIT;
		return name_code(reader, process, user, time_ns, list);
	}
	if (where.file == NULL)
		return 0;
	frame->kind = FRAME_FILE;
	frame->address = where.address;
	return interval_add_file(reader->interval, where.file, reader->owners, &frame->item);
}

/* Returns true if the walk used unwind rules, not registers alone. */
static bool
walked_by_rules(uint8_t status)
{
	return status != PFS_WALK_NO_PROCESS && status != PFS_WALK_NO_REGISTERS;
}

/*
 * Returns true if the frame's caller was found by unwind rules of its code. False for interpreted
 * code, which has no rules, and for generated code whose caller was found by frame pointer. next is
 * the index of the following frame.
 */
static bool
went_by_its_rules(const Reader *reader, const UserFrame *user, FrameKind kind, uint32_t next,
				  uint32_t count)
{
	UserFrame caller;

	if (user->more_count > 0)
		return false;
	return !((kind == FRAME_JIT || kind == FRAME_CODE) &&
			 user_frame_next(reader->user_frames, count, &next, &caller) &&
			 caller.by_frame_pointer);
}

static Loss
loss_of_user_side(ProcessState state)
{
	if (state == PROCESS_UNREADABLE)
		return LOSS_PROCESS_UNREADABLE;
	return state == PROCESS_STUCK ? LOSS_PROCESS_STUCK : LOSS_PROCESS_GONE;
}

/*
 * Adds a frame that stands for missing frames, so that the frame after it does not appear to be the
 * caller of the frame before it.
 */
static void
mark_cut(Reader *reader, uint32_t cut, IntervalStack *stack)
{
	reader->frames[stack->depth++] = (Frame){ 0, INTERVAL_NO_ITEM, FRAME_CUT };
	losses_add(reader->losses, LOSS_STACK_CUT, 1);
	losses_add(reader->losses, LOSS_FRAMES_CUT, cut);
}

/*
 * Returns the next frame of a walk, or the mark that stands for cut frames. *cut is the number of
 * cut frames whose mark was not returned yet.
 */
static bool
next_user_frame(Reader *reader, const UserWalk *walk, uint32_t *cut, uint32_t *next,
				UserFrame *user, IntervalStack *stack)
{
	if (*cut > 0)
	{
		if (user_frame_next(reader->user_frames, walk->cut_at, next, user))
			return true;
		mark_cut(reader, *cut, stack);
		*cut = 0;
	}
	return user_frame_next(reader->user_frames, walk->count, next, user);
}

static uint32_t
frames_of_walk(const Reader *reader, const UserWalk *walk)
{
	uint32_t frames = 0;
	uint32_t next = 0;
	UserFrame user;

	while (user_frame_next(reader->user_frames, walk->count, &next, &user))
		frames++;
	return frames;
}

/*
 * Returns how many places one frame may take if "wanted" places must stay free for the frames after
 * it.
 */
static uint32_t
free_places(const IntervalStack *stack, uint32_t wanted)
{
	uint32_t taken = stack->depth + wanted;

	return taken < MAX_FRAMES ? MAX_FRAMES - taken : 1;
}

/* Appends the user side of the sample to the stack. */
static int
resolve_user_stack(Reader *reader, const struct pfs_sample *sample, Process *process,
				   const UserWalk *walk, IntervalStack *stack)
{
	/* number of frames not resolved yet; a place must stay free for each */
	uint32_t left = frames_of_walk(reader, walk);
	uint32_t cut = walk->cut;
	uint32_t next = 0;
	UserFrame user;
	int result = 0;

	if (!record_has_user_side(sample))
	{
		stack->side = STACK_NO_USER_SIDE;
		return 0;
	}
	stack->side = STACK_USER_SIDE;
	stack->walk = PFS_WALK_NO_PROCESS;
	if (process_state(process) != PROCESS_LIVE)
	{
		losses_add(reader->losses, loss_of_user_side(process_state(process)), 1);
		reader->frames[stack->depth++] = (Frame){ 0, INTERVAL_NO_ITEM, FRAME_GONE };
		return 0;
	}
	stack->walk = walk->status;
	while (result == 0 && next_user_frame(reader, walk, &cut, &next, &user, stack))
	{
		Frame *frame = &reader->frames[stack->depth];
		FrameList list = { .frames = frame };

		left -= left > 0;
		list.room = free_places(stack, left + (cut > 0));
		result =
			resolve_user_frame(reader, process, &user, sample->time_ns, user.place == 0, &list);
		if (result == 0 && frame->kind == FRAME_UNKNOWN)
		{
			/*
			 * No code is mapped there, so the frame pointer was invalid, and all frames beyond it
			 * are wrong.
			 */
			if (user.place > 0)
			{
				stack->walk = PFS_WALK_NO_MAPPING;
				break;
			}
			losses_add(reader->losses, LOSS_ADDRESS_UNKNOWN, 1);
		}
		stack->depth = (uint16_t) (stack->depth + list.count);
		/*
		 * The caller was found by the rules of code that has been replaced since, so it may be
		 * wrong.
		 */
		if (walked_by_rules(stack->walk) &&
			went_by_its_rules(reader, &user, frame->kind, next,
							  cut > 0 ? walk->cut_at : walk->count) &&
			!process_walk_held(reader->processes, process, user.code, sample->time_ns,
							   user.place >= walk->late_from))
		{
			stack->walk = PFS_WALK_STALE;
			break;
		}
	}
	return result;
}

static bool
is_wait(uint8_t kind)
{
	return kind >= PFS_KIND_WAIT_SLEEP && kind <= PFS_KIND_WAIT_PREEMPTED;
}

int
sample_stack_resolve(Reader *reader, const Record *record, Process *process, const UserWalk *walk,
					 IntervalStack *stack)
{
	const uint64_t *addresses = record->kernel_frames;
	MappedFile *executable = process_executable(process);
	uint32_t first = 0;
	int result;

	if (reader->interval == NULL)
		return -ENOMEM;
	*stack = (IntervalStack){ .executable = INTERVAL_NO_ITEM, .frames = reader->frames };
	reader->owners = worker_account_of(process_owner(process));
	if (is_wait(record->sample->kind))
		first = (uint32_t) scheduler_code_depth(&reader->options.scheduler, addresses,
												record->sample->kernel_count);
	/* All frames but the innermost have return addresses: 1 less lies inside the call. */
	for (uint32_t i = first; i < record->sample->kernel_count; i++)
		reader->frames[stack->depth++] =
			(Frame){ i == 0 ? addresses[i] : addresses[i] - 1, INTERVAL_NO_ITEM, FRAME_KERNEL };
	result = resolve_user_stack(reader, record->sample, process, walk, stack);
	if (result == 0 && executable != NULL)
		result =
			interval_add_file(reader->interval, executable, reader->owners, &stack->executable);
	return result;
}

int64_t
sample_stored_time(const Reader *reader, uint64_t time_ns)
{
	int64_t time_us = ((int64_t) time_ns + reader->realtime_offset_ns) / NS_PER_US;
	int64_t aligned_us = time_us - time_us % reader->options.window_us;

	if (reader->options.keep_times)
		return time_us;
	/*
	 * Only the first window may begin at the start of sampling: if the clock was set back, earlier
	 * times are correct.
	 */
	if (aligned_us < reader->options.start_us &&
		reader->options.start_us - aligned_us < reader->options.window_us)
		return reader->options.start_us;
	return aligned_us;
}

/* Adds the sample to its trace and span, if it has any. */
static void
add_trace(Reader *reader, uint64_t value, IntervalTrace *trace)
{
	trace->value = value;
	if ((pfs_trace_is_known(&trace->ids) || pfs_span_is_known(&trace->ids)) &&
		interval_add_trace(reader->interval, trace) != 0)
		losses_add(reader->losses, LOSS_TRACES_NOT_KEPT, 1);
}

/*
 * Adds the sample's series and stack. Returns -ENOMEM if the interval is full; -EAGAIN if the
 * interval was taken meanwhile.
 */
static int
add_series_and_stack(Reader *reader, const Record *record, Process *process, const UserWalk *walk,
					 IntervalSeries series, IntervalSample *added)
{
	IntervalStack stack;
	int result = -ENOMEM;

	/* There is no interval if the flusher could not allocate the next one. */
	if (reader->interval != NULL)
		result = interval_add_series(reader->interval, series, &added->series);
	if (result == 0)
		result = sample_stack_resolve(reader, record, process, walk, &stack);
	return result == 0 ? interval_add_stack(reader->interval, &stack, &added->stack) : result;
}

void
sample_build(Reader *reader, const Record *record, Process *process, const UserWalk *walk)
{
	const struct pfs_sample *sample = record->sample;
	IntervalSeries series = { .period = (int64_t) sample->period, .kind = sample->kind };
	IntervalSample added = { .count = 1, .value = sample->value };
	IntervalTrace trace;
	int result = -ENOMEM;

	if (process != NULL)
		series.labels = labels_of_record(reader, record, process, &trace.ids);
	if (process != NULL && series.labels == NULL)
	{
		/* The kernel has been notified, so it sends no further record of this process. */
		reader->dropped++;
		return;
	}
	if (process != NULL)
	{
		/* This loop ends, because a process is not read again soon after a reading. */
		do
			result = add_series_and_stack(reader, record, process, walk, series, &added);
		while (result == -EAGAIN);
	}
	/* The series of the interval holds a reference of its own. */
	label_set_release(series.labels);
	if (result != 0)
	{
		losses_add(reader->losses, LOSS_INTERVAL_FULL, 1);
		return;
	}
	added.time_us = sample_stored_time(reader, sample->time_ns);
	result = interval_add_sample(reader->interval, &added, &trace.sample);
	if (result == 0)
		add_trace(reader, sample->value, &trace);
	else
		losses_add(reader->losses, result == -EOVERFLOW ? LOSS_VALUE_OVERFLOW : LOSS_INTERVAL_FULL,
				   1);
}
