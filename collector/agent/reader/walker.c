/*
 * walker.c
 *		The walker thread: turns records of the queue into samples of the interval.
 *
 * 1. describe_process() gives the unwinder the process's mappings if it does not have the current
 *    ones.
 * 2. walk_user_stack() continues where the kernel's walk ended.
 * 3. sample_build() converts addresses to files and offsets, and sums equal stacks.
 * 4. A record whose walk needs a missing unwind table is parked. Tables are made one at a time, the
 *    one that most walks wait for first, while records that need none continue.
 *
 * The lock is never held while tables are made.
 */
#include "agent/reader/walker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/reader/gpu_join.h"
#include "agent/reader/reader.h"
#include "agent/reader/ring.h"
#include "agent/reader/sample_builder.h"
#include "base/clock.h"

#define SWEEP_NS		UINT64_C(20000000000)
/* While programs with a GPU library are known, their windows are looked at this often. */
#define GPU_TURN_NS		UINT64_C(500000000)
/* Number of records handled before a wanted table is made, if records arrive without a pause. */
#define RECORDS_A_TABLE 32

/*
 * Returns true if no code was mapped between the sample and now; otherwise other code may have
 * replaced the sampled code.
 */
static bool
jit_is_as_sampled(Reader *reader, const struct pfs_sample *sample, const Process *process)
{
	uint64_t mapped_ns;

	/* Read the events up to now, because a mapping made since the sample counts. */
	past_images_update(reader->past);
	mapped_ns = past_images_mapped_ns(reader->past, sample->pid, sample->time_ns);
	return mapped_ns < sample->time_ns && mapped_ns < process_read_ns(process);
}

/* Returns the stack address at which a frame ends, from the record; 0 if it is unknown. */
static uint64_t
kernel_end(const Record *record, uint32_t place)
{
	const struct pfs_chain *chain = record->chain;

	/* The end of the last frame is known only when the walk has found its caller. */
	if (chain == NULL || place >= chain->end_count || record->ends[place] == PFS_END_UNKNOWN ||
		place == pfs_walk_place(record->sample->user_count - 1U))
		return 0;
	return chain->first_sp + (uint64_t) record->ends[place] * 8;
}

/* Returns the frames that the kernel found, innermost first. */
static UserWalk
kernel_walk(const Record *record, uint64_t *frames, uint64_t *ends)
{
	uint32_t found = record->sample->user_count;
	uint32_t kept = pfs_walk_kept(found);

	for (uint32_t i = 0; i < kept; i++)
	{
		/*
		 * The kernel overwrites the places behind the leaf in turn, so the root may begin anywhere
		 * in them.
		 */
		uint32_t place = i < PFS_LEAF_FRAMES ? i : pfs_walk_place(found - kept + i);

		frames[i] = record->user_frames[place];
		ends[i] = kernel_end(record, place);
	}
	return (UserWalk){ .count = kept,
					   .cut = found - kept,
					   .cut_at = PFS_LEAF_FRAMES,
					   .late_from = kept,
					   .status = record->sample->user_status };
}

/* Cuts frames out of the middle of a deep stack. */
static void
cut_frames(UserWalk *walk, uint64_t *frames, uint64_t *ends)
{
	uint32_t surplus = walk->count - pfs_walk_kept(walk->count);

	if (surplus == 0)
		return;
	memmove(frames + PFS_LEAF_FRAMES, frames + PFS_LEAF_FRAMES + surplus,
			PFS_ROOT_FRAMES * sizeof(*frames));
	memmove(ends + PFS_LEAF_FRAMES, ends + PFS_LEAF_FRAMES + surplus,
			PFS_ROOT_FRAMES * sizeof(*ends));
	walk->count -= surplus;
	walk->cut += surplus;
	/*
	 * The index moves with its frame; if that frame was cut, it becomes that of the first frame
	 * after the cut.
	 */
	if (walk->late_from > PFS_LEAF_FRAMES)
		walk->late_from = walk->late_from > PFS_LEAF_FRAMES + surplus ? walk->late_from - surplus
																	  : PFS_LEAF_FRAMES;
}

/*
 * Continues the kernel's walk from the frame at which the kernel had to stop. Frames of a virtual
 * machine need memory of the process, which is read without the lock; *process may be NULL
 * afterwards. Returns the number of words.
 */
static size_t
walk_late(Reader *reader, const Record *record, Process **process, uint32_t first, int *status)
{
	ExecImage identity = process_identity(*process);
	uint64_t owner = process_owner(*process);
	bool trust_jit = jit_is_as_sampled(reader, record->sample, *process);
	bool reads = reader->options.runtimes != NULL &&
				 runtimes_machine(reader->options.runtimes, &identity) != NULL;
	size_t walked;

	if (reads)
		reader_unlock(reader);
	walked = unwind_tables_walk(reader->unwind, &identity, owner, record->late,
								record->sample->time_ns, trust_jit, reader->user_frames + first,
								reader->frame_ends + first, PFS_MAX_WALK_FRAMES, status);
	if (reads)
	{
		reader_lock(reader);
		/* The table may have dropped the process while the lock was released. */
		*process = process_table_get(reader->processes, record->sample, reader->now_ns);
	}
	return walked;
}

/*
 * Completes the user side: keeps the frames that the kernel found, and walks again from the frame
 * at which it stopped. Returns the number of the table that the walk must wait for, or 0.
 */
static uint64_t
walk_user_stack(Reader *reader, const Record *record, Process **process, UserWalk *walk)
{
	const struct pfs_late *late = record->late;
	ExecImage identity = process_identity(*process);
	uint64_t owner = process_owner(*process);
	uint64_t *frames = reader->user_frames;
	uint64_t *ends = reader->frame_ends;
	uint64_t table = 0;
	uint32_t first;
	size_t walked;
	int status;

	*walk = kernel_walk(record, frames, ends);
	first = walk->count;
	if (reader->unwind == NULL)
		return 0;
	unwind_tables_note_code(reader->unwind, &identity, owner, frames, first,
							record->sample->time_ns);
	if (late == NULL)
	{
		/*
		 * The kernel copied no stack for this record, so its walk cannot continue; but later
		 * records need the table.
		 */
		if (walk->status == PFS_WALK_NO_TABLE && first > 0 &&
			unwind_tables_want(reader->unwind, &identity, owner, frames[first - 1],
							   reader->now_ns) != 0)
			reader->tables_wanted = true;
		return 0;
	}

	/*
	 * The walk begins with the frame at which the kernel stopped, which the kernel may have
	 * recorded.
	 */
	if (first > 0 && PFS_FRAME_MORE(frames[first - 1]) == 0 &&
		PFS_FRAME_ADDRESS(frames[first - 1]) == late->at.pc)
		first--;
	walked = walk_late(reader, record, process, first, &status);
	/* The walk reached the end of the copy, which is short because the kernel ran out of time. */
	if (status == PFS_WALK_READ_FAILED && record->sample->user_status == PFS_WALK_OUT_OF_TIME)
		status = PFS_WALK_OUT_OF_TIME;
	walk->status = (uint8_t) status;
	walk->late_from = first;
	/* If the process could not be described, only the frames that the kernel found are known. */
	if (status != PFS_WALK_NO_PROCESS)
		walk->count = first + (uint32_t) walked;
	if (status == PFS_WALK_NO_TABLE && walked > 0)
		table = unwind_tables_want(reader->unwind, &identity, owner, frames[walk->count - 1],
								   reader->now_ns);
	cut_frames(walk, frames, ends);
	return table;
}

/*
 * Drops from the unwinder the processes that the process table has dropped. The caller must hold
 * the lock.
 */
static void
forget_processes(Reader *reader, uint64_t now_ns)
{
	ExecImage forgotten;

	while (process_table_take_forgotten(reader->processes, &forgotten))
		unwind_tables_forget(reader->unwind, &forgotten, now_ns);
}

/*
 * Makes sure that the unwinder has the current mappings of the record's process. The caller holds
 * the lock, which is released while unwind tables are made. Returns the process, or NULL.
 */
static Process *
describe_process(Reader *reader, const Record *record)
{
	Process *process = process_table_get(reader->processes, record->sample, reader->now_ns);
	const struct pfs_late *late = record->late;
	ProcessDescription description;
	uint64_t owner;
	size_t described;
	int result;

	if (process == NULL || reader->unwind == NULL)
		return process;
	/* Forget processes first, because their mappings make room for those of this one. */
	forget_processes(reader, reader->now_ns);
	process_settle(reader->processes, process);
	/* Reads the mappings again if code was mapped since the process was described. */
	reader_follow_mappings(reader, record, process);
	if (late != NULL)
		process_seek(reader->processes, process, late->at.pc - late->at.is_return, reader->now_ns);
	if (!process_take_description(reader->processes, process, &description))
		return process;
	owner = process_owner(process);
	reader_unlock(reader);
	result =
		unwind_tables_describe(reader->unwind, &description.identity, owner, description.mappings,
							   description.count, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	described = description.count;
	process_description_fini(reader->files, &description);
	reader_lock(reader);
	/* The pointer may be invalid: the table may have dropped the process meanwhile. */
	process = process_table_get(reader->processes, record->sample, reader->now_ns);
	if (process != NULL && result == -ENOSPC)
		process_had_no_room(reader->processes, process, reader->now_ns);
	else if (process != NULL)
		process_described(reader->processes, process,
						  result == 0 || result == -EAGAIN ? described : 0, reader->now_ns);
	/* A file did not answer: use the description without its code until the next one is made. */
	if (process != NULL && result == -EAGAIN)
		process_describe_again(process, reader->now_ns);
	return process;
}

/* Returns the interpreter's frames and marks that the kernel found, innermost first. */
static ChainStack
kernel_chain(Reader *reader, const Record *record)
{
	const struct pfs_chain *chain = record->chain;
	uint32_t kept = pfs_chain_kept(chain->found);

	for (uint32_t i = 0; i < kept; i++)
		reader->chain_words[i] =
			record
				->chain_words[i < PFS_CHAIN_LEAF_WORDS ? i
													   : pfs_chain_place(chain->found - kept + i)];
	return (ChainStack){ .words = reader->chain_words,
						 .count = kept,
						 .cut_at = PFS_CHAIN_LEAF_WORDS,
						 .cut = chain->found - kept,
						 .mark_count = chain->mark_count,
						 .whole = chain->status == PFS_CHAIN_WHOLE,
						 .is_half_made = chain->status == PFS_CHAIN_BAD && chain->found == 0,
						 .marks = (enum pfs_runtime_marks) chain->marks };
}

static bool
is_generated_of(const void *process, uint64_t address)
{
	return process_is_generated(process, address);
}

/* Inserts the interpreter's frames into the walk. The caller must hold the lock. */
static void
merge_chain(Reader *reader, const Record *record, const Process *process, UserWalk *walk)
{
	ExecImage image = process_identity(process);
	MachineStack machine = { .frames = reader->user_frames,
							 .ends = reader->frame_ends,
							 .count = walk->count,
							 .cut_at = walk->cut_at,
							 .cut = walk->cut,
							 .late_from = walk->late_from,
							 .whole = walk->status == PFS_WALK_END_OF_STACK ||
									  walk->status == PFS_WALK_END_OF_FRAMES,
							 .is_generated = is_generated_of,
							 .context = process };
	const MergedStack *merged = &reader->merged;
	ChainStack chain;

	if (reader->options.runtimes == NULL || record->chain == NULL)
		return;
	machine.first_sp = record->chain->first_sp;
	chain = kernel_chain(reader, record);
	if (!runtimes_merge(reader->options.runtimes, &image, &machine, &chain, &reader->merged))
		return;
	memcpy(reader->user_frames, merged->words, merged->count * sizeof(*merged->words));
	walk->count = merged->count;
	walk->cut = merged->cut;
	walk->cut_at = merged->cut_at;
	walk->late_from = merged->late_from;
}

/*
 * Removes a runtime's own native frames between frames of the code that it executes, if the options
 * ask for it.
 */
static void
fold_native(Reader *reader, const Process *process, UserWalk *walk)
{
	ExecImage image = process_identity(process);
	FoldedStack stack = { reader->user_frames, walk->count, walk->cut_at, walk->late_from };

	if (reader->options.runtimes == NULL || !reader->options.fold_native)
		return;
	runtimes_fold(reader->options.runtimes, &image, &stack);
	walk->count = stack.count;
	walk->cut_at = stack.cut_at;
	walk->late_from = stack.late_from;
}

/* Returns the walk's frames whose code has no file. */
static CodeWalk
code_of_walk(const Reader *reader, const Process *process, const UserWalk *walk, uint64_t time_ns)
{
	CodeWalk code = { .time_ns = time_ns, .words = reader->user_frames, .count = walk->count };
	uint32_t next = 0;
	UserFrame user;

	while (user_frame_next(reader->user_frames, walk->count, &next, &user))
	{
		code.is_interpreted |= user.more_count > 0;
		code.is_generated |= user.more_count == 0 && process_is_generated(process, user.code);
	}
	return code;
}

/*
 * Lets the namer read the data that it needs for the frames of this stack. The caller must hold the
 * lock, which is released meanwhile. Returns the process; NULL if it was dropped.
 */
static Process *
prepare_names(Reader *reader, const Record *record, Process *process, const UserWalk *walk)
{
	const CodeNamer *namer = &reader->options.namer;
	ExecImage image = process_identity(process);
	CodeWalk code;

	if (namer->prepare == NULL)
		return process;
	code = code_of_walk(reader, process, walk, record->sample->time_ns);
	if (!code.is_generated && !code.is_interpreted)
		return process;
	/* The namer reads memory and files of the process, which may take long. */
	reader_unlock(reader);
	namer->prepare(namer->context, &image, &code);
	reader_lock(reader);
	return process_table_get(reader->processes, record->sample, reader->now_ns);
}

/*
 * Reads thread labels that the BPF program could not read, so that it can read them at the next
 * samples. The caller must hold the lock, which is released meanwhile. Returns the process; NULL if
 * it was dropped.
 */
static Process *
read_labels(Reader *reader, const Record *record, Process *process)
{
	ExecImage image;
	uint64_t owner;

	if (process == NULL || reader->unwind == NULL || record->labels == NULL ||
		record->labels->missing == 0)
		return process;
	image = process_identity(process);
	owner = process_owner(process);
	reader_unlock(reader);
	unwind_tables_read_labels(reader->unwind, &image, owner, record->labels->missing,
							  (uint64_t) clock_ns(CLOCK_MONOTONIC));
	reader_lock(reader);
	return process_table_get(reader->processes, record->sample, reader->now_ns);
}

/*
 * Searches for the interpreter's thread states, if their place is not known, so that the next
 * samples have its frames. The caller must hold the lock, which is released meanwhile. Returns the
 * process; NULL if it was dropped.
 */
static Process *
seek_runtime(Reader *reader, const Record *record, Process *process)
{
	const struct pfs_sample *sample = record->sample;
	uint64_t thread_pointer = 0;
	ExecImage image;

	if (process == NULL || reader->options.runtimes == NULL)
		return process;
	if (record->chain != NULL)
		thread_pointer = record->chain->thread_pointer;
	else if (record->late != NULL)
		thread_pointer = record->late->thread_pointer;
	image = process_identity(process);
	if (!runtimes_seeks(reader->options.runtimes, &image, thread_pointer,
						(uint64_t) clock_ns(CLOCK_MONOTONIC)))
		return process;
	reader_unlock(reader);
	runtimes_seek(reader->options.runtimes, &image, thread_pointer,
				  record->chain != NULL ? record->chain->first_sp : 0, sample->tid == sample->pid,
				  (uint64_t) clock_ns(CLOCK_MONOTONIC));
	reader_lock(reader);
	return process_table_get(reader->processes, record->sample, reader->now_ns);
}

/* Adds a record to the interval, or returns the number of the table that has to be loaded first. */
static uint64_t
walker_handle_record(Reader *reader, const Record *record)
{
	UserWalk walk = { 0 };
	uint64_t table = 0;
	Process *process;

	reader_lock(reader);
	if (record->rows != NULL)
	{
		gpu_join_take_rows(reader, record);
		reader_unlock(reader);
		return 0;
	}
	process = describe_process(reader, record);
	process = read_labels(reader, record, process);
	process = seek_runtime(reader, record, process);
	if (process != NULL && record_has_user_side(record->sample) &&
		process_state(process) == PROCESS_LIVE)
	{
		/*
		 * Whether code was replaced between the sample and the reading of the mappings is decided
		 * from the events up to the later of both.
		 */
		past_images_update_to(reader->past, process_read_ns(process) > record->sample->time_ns
												? process_read_ns(process)
												: record->sample->time_ns);
		table = walk_user_stack(reader, record, &process, &walk);
		if (table == 0 && process != NULL)
		{
			merge_chain(reader, record, process, &walk);
			fold_native(reader, process, &walk);
			process = prepare_names(reader, record, process, &walk);
		}
	}
	/* A record that waits for a table is not added: it comes here again with the table. */
	if (table == 0 && record->sample->kind == PFS_RECORD_GPU_KEPT)
		gpu_join_keep(reader, record, process, &walk);
	else if (table == 0)
		sample_build(reader, record, process, &walk);
	reader_unlock(reader);
	return table;
}

void
reader_handle_record(Reader *reader, const void *record, size_t length_bytes)
{
	Record parsed;

	if (!record_parse(record, length_bytes, &parsed))
		losses_add(reader->losses, LOSS_RECORD_MALFORMED, 1);
	else
	{
		while (walker_handle_record(reader, &parsed) != 0)
			(void) unwind_tables_load_wanted(reader->unwind, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	}
}

/*
 * Waits for work, at most until until_ns (CLOCK_MONOTONIC). *record is the next record; NULL if
 * tables must be made or the time has come. Returns false if all work is done and the thread must
 * end.
 */
static bool
wait_for_work(Reader *reader, uint64_t until_ns, QueuedRecord **record)
{
	struct timespec until = { (time_t) (until_ns / NS_PER_S), (long) (until_ns % NS_PER_S) };
	int result = 0;
	bool more;

	reader_lock(reader);
	while (reader->queue == NULL && !reader->queue_complete && !reader->tables_wanted &&
		   result != ETIMEDOUT)
		result = pthread_cond_timedwait(&reader->queued, &reader->mutex, &until);
	*record = reader_take_queued(reader);
	more = *record != NULL || !reader->queue_complete || reader->parked != NULL;
	reader_unlock(reader);
	return more;
}

/* Adds a record to the interval, or parks it until the table that its walk needs is loaded. */
static void
finish_or_park(Reader *reader, QueuedRecord *record)
{
	record->table = walker_handle_record(reader, &record->record);
	if (record->table != 0)
	{
		record->next = reader->parked;
		reader->parked = record;
		reader->tables_wanted = true;
		return;
	}
	/* A parked record keeps its bytes in the account, so that parked records are limited, too. */
	reader_lock(reader);
	reader->queue_bytes -= record->length_bytes;
	reader_unlock(reader);
	free(record);
}

/*
 * Makes the table that the most walks want, and continues the records that wait for it. If no table
 * is wanted, the parked records wait for tables that have been dropped: their walks end where they
 * stopped, and the records are added so.
 */
static void
make_wanted_table(Reader *reader)
{
	uint64_t table =
		unwind_tables_load_wanted(reader->unwind, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	QueuedRecord *parked = reader->parked;

	/* finish_or_park() may park a record again, for another table, so build a new list. */
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
	reader_lock(reader);
	process_table_sweep(reader->processes, now_ns);
	/*
	 * Do this at once: described processes keep their tables in use, so a later sweep could not
	 * drop them.
	 */
	forget_processes(reader, now_ns);
	labeller_sweep(reader->labeller, now_ns);
	gpu_join_sweep(reader);
	reader_unlock(reader);
	unwind_tables_sweep(reader->unwind, now_ns, keep_ns);
	if (reader->options.namer.sweep != NULL)
		reader->options.namer.sweep(reader->options.namer.context, now_ns);
}

/* Adds the windows of programs' GPU libraries whose stacks have come. */
static void
settle_gpu_windows(Reader *reader, bool all)
{
	/* only this thread adds and drops programs, so most agents need no lock for each record */
	if (reader->gpu.programs == NULL)
		return;
	reader_lock(reader);
	gpu_join_settle(reader, all);
	reader_unlock(reader);
}

/* Returns the time until which the thread may sleep. */
static uint64_t
next_turn_ns(Reader *reader, uint64_t swept_ns)
{
	uint64_t turn_ns = swept_ns + SWEEP_NS;

	if (reader->gpu.programs == NULL)
		return turn_ns;
	reader_lock(reader);
	if (reader->now_ns + GPU_TURN_NS < turn_ns)
		turn_ns = reader->now_ns + GPU_TURN_NS;
	reader_unlock(reader);
	return turn_ns;
}

void *
reader_walker_run(void *argument)
{
	Reader *reader = argument;
	uint64_t swept_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	uint32_t handled = 0; /* since the last table */
	QueuedRecord *record;

	/*
	 * The thread's priority matters for tables, too: while a table is missing, each record carries
	 * a copy of its stack and waits here.
	 */
	reader_go_first();
	while (wait_for_work(reader, next_turn_ns(reader, swept_ns), &record))
	{
		uint64_t now_ns;

		heartbeat_work(&reader->walker_heartbeat);
		unwind_tables_rest(reader->unwind, atomic_load(&reader->resting));
		if (record != NULL)
			finish_or_park(reader, record);
		if (reader->tables_wanted && (record == NULL || ++handled >= RECORDS_A_TABLE))
		{
			make_wanted_table(reader);
			handled = 0;
		}
		settle_gpu_windows(reader, false);
		/*
		 * Read the clock after tables were used, because a time of use must not lie in the future.
		 */
		now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
		if (atomic_exchange(&reader->shrinking, false))
			reader_sweep(reader, now_ns, UNWIND_TABLES_KEEP_TIGHT_NS);
		else if (now_ns - swept_ns >= SWEEP_NS)
		{
			reader_sweep(reader, now_ns, UNWIND_TABLES_KEEP_NS);
			swept_ns = now_ns;
		}
		heartbeat_wait(&reader->walker_heartbeat);
	}
	settle_gpu_windows(reader, true);
	return NULL;
}
