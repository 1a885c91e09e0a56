/*
 * stack_merge.c
 *		Merges two stacks into one list of words.
 *
 * 1. The chain is divided into runs. The frames of a run are those that one frame of the loop
 *    executes.
 * 2. The machine's frame of each run is searched for, from the innermost frame on.
 * 3. A run without such a frame is left out if the machine's stack is whole. Otherwise the
 *    remaining runs are appended at its end, because they called the frames that were found.
 * 4. A stack that is too deep loses its middle.
 */
#include "runtimes/stack_merge.h"

#include <string.h>

#include "code/user_frame.h"

/* Frames that one frame of the loop executes: words [first, end), without the mark. */
typedef struct Run
{
	uint32_t first;
	uint32_t end;
	uint64_t mark; /* 0: unknown, because the chain broke off or was cut */
	bool is_torn;  /* the end of the run is missing */
} Run;

typedef struct Merging
{
	const MachineStack *machine;
	const ChainStack *chain;
	MergedStack *out;
	bool is_cut;		/* out has a position at which frames are missing */
	bool has_chain_cut; /* frames that the chain lost are among the missing ones */
} Merging;

/* Notes that frames are missing here. If some were missing before, both gaps become one. */
static void
note_cut(Merging *merging, uint32_t missing)
{
	MergedStack *out = merging->out;

	if (merging->is_cut)
	{
		out->cut += out->count - out->cut_at;
		out->count = out->cut_at;
	}
	merging->is_cut = true;
	out->cut_at = out->count;
	out->cut += missing;
}

static void
put_words(MergedStack *out, const uint64_t *words, uint32_t count)
{
	uint32_t room = MERGED_WORDS_MAX - out->count;

	if (count > room)
		count = room;
	memcpy(out->words + out->count, words, count * sizeof(*words));
	out->count += count;
}

/*
 * Notes the chain's cut if it lies before the machine's frame i, whether the frame is put or left
 * out.
 */
static void
pass_machine(Merging *merging, uint32_t i)
{
	const MachineStack *machine = merging->machine;

	if (machine->cut > 0 && i == machine->cut_at)
		note_cut(merging, machine->cut);
	if (i == machine->late_from)
		merging->out->late_from = merging->out->count;
}

/* Appends the machine's frames [from, to). */
static void
put_machine(Merging *merging, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
	{
		pass_machine(merging, i);
		put_words(merging->out, &merging->machine->frames[i], 1);
	}
}

static bool
is_generated_code(const MachineStack *machine, uint64_t code)
{
	return machine->is_generated != NULL && machine->is_generated(machine->context, code);
}

/* Returns whether the frame is a trampoline, which calls the loop before it. */
static bool
is_trampoline(const MachineStack *machine, uint32_t i)
{
	return i < machine->count && is_generated_code(machine, user_frame_code(machine->frames[i]));
}

static uint32_t
frames_in(const ChainStack *chain, uint32_t first, uint32_t end)
{
	uint32_t frames = 0;
	uint32_t at = first;
	UserFrame frame;

	while (user_frame_next(chain->words, end, &at, &frame))
		frames += frame.more_count > 0;
	return frames;
}

static void
put_run(Merging *merging, const Run *run)
{
	const ChainStack *chain = merging->chain;
	bool has_gap = chain->cut > 0 && !merging->has_chain_cut && run->first <= chain->cut_at &&
				   (chain->cut_at < run->end || run->is_torn);
	uint32_t middle = has_gap ? chain->cut_at : run->end;

	put_words(merging->out, chain->words + run->first, middle - run->first);
	if (has_gap)
		note_cut(merging, chain->cut / 2);
	merging->has_chain_cut |= has_gap;
	put_words(merging->out, chain->words + middle, run->end - middle);
	merging->out->merged += frames_in(chain, run->first, run->end);
}

/* Takes the next run from words[*at] on. Returns false at the end. */
static bool
next_run(const ChainStack *chain, uint32_t *at, Run *run)
{
	*run = (Run){ *at, *at, 0, false };
	while (*at < chain->count)
	{
		uint64_t word = chain->words[(*at)++];

		if (PFS_FRAME_MORE(word) == 0)
		{
			run->mark = word;
			return true;
		}
		run->end = *at;
	}
	return run->end > run->first;
}

/* Returns how many marks were cut out. A run across the gap may then be the ends of two runs. */
static uint32_t
lost_marks(const ChainStack *chain)
{
	uint32_t marks = 0;

	if (chain->cut == 0)
		return 0;
	for (uint32_t i = 0; i < chain->count; i++)
		marks += PFS_FRAME_MORE(chain->words[i]) == 0;
	return marks < chain->mark_count ? chain->mark_count - marks : 0;
}

/*
 * Returns the index of the first machine frame from `from` on that contains the mark, or the number
 * of frames.
 */
static uint32_t
find_mark(const MachineStack *machine, uint32_t from, uint64_t mark)
{
	for (uint32_t i = from; i < machine->count; i++)
	{
		uint64_t low = i == 0 ? machine->first_sp : machine->ends[i - 1];

		if (machine->cut > 0 && i == machine->cut_at)
			continue; /* the start of the frame is unknown */
		if (low != 0 && machine->ends[i] != 0 && mark >= low && mark < machine->ends[i])
			return i;
	}
	return machine->count;
}

/* Returns whether the run may contain frames of two loops. */
static bool
is_torn(const ChainStack *chain, const Run *run, bool marks_lost)
{
	return marks_lost && chain->cut > 0 && run->first <= chain->cut_at && chain->cut_at < run->end;
}

static void
merge_by_marks(Merging *merging)
{
	const MachineStack *machine = merging->machine;
	const ChainStack *chain = merging->chain;
	bool marks_lost = lost_marks(chain) > 0;
	uint32_t place = 0; /* index of the machine's frame after the frames that were taken */
	uint32_t at = 0;
	Run run;

	while (next_run(chain, &at, &run))
	{
		uint32_t found = machine->count;

		if (run.mark != 0 && !is_torn(chain, &run, marks_lost))
			found = find_mark(machine, place, run.mark);
		if (found < machine->count)
		{
			put_machine(merging, place, found);
			pass_machine(merging, found);
			put_run(merging, &run);
			place = found + 1;
			if (is_trampoline(machine, place))
				pass_machine(merging, place++);
		}
		else if (!machine->whole && !marks_lost)
		{
			put_machine(merging, place, machine->count);
			place = machine->count;
			put_run(merging, &run);
		}
		else
			merging->out->unmatched += frames_in(chain, run.first, run.end);
	}
	put_machine(merging, place, machine->count);
}

/* Returns the loop that a frame of the machine executes; NULL if none. */
static const LoopCode *
loop_of(uint64_t frame, const LoopCode *loops, size_t loop_count)
{
	uint64_t code = user_frame_code(frame);

	for (size_t i = 0; i < loop_count; i++)
	{
		if (code >= loops[i].start && code < loops[i].end)
			return &loops[i];
	}
	return NULL;
}

#define RESUMING_FRAMES 3 /* limit of frames between two loops */

/* Returns whether a loop further in continues the code of the frame's loop. */
static bool
is_resumed(const MachineStack *machine, uint32_t at, const LoopCode *loops, size_t loop_count)
{
	for (uint32_t i = 1; i <= RESUMING_FRAMES + 1 && i <= at; i++)
	{
		const LoopCode *loop = loop_of(machine->frames[at - i], loops, loop_count);

		if (loop == NULL)
			return false;
		if (!loop->is_resumer)
			return i > 1;
	}
	return false;
}

/*
 * Finds the machine's next frames of the loop, [*first, *end): one, or two if a function that calls
 * the loop belongs to it. Both are the number of frames if there is none.
 */
static bool
next_loop(const MachineStack *machine, const LoopCode *loops, size_t loop_count, uint32_t from,
		  uint32_t *first, uint32_t *end)
{
	const LoopCode *loop = NULL;
	const LoopCode *caller;

	for (*first = from; *first < machine->count; (*first)++)
	{
		loop = loop_of(machine->frames[*first], loops, loop_count);
		if (loop != NULL && !loop->is_resumer && !is_resumed(machine, *first, loops, loop_count))
			break;
	}
	*end = *first;
	if (*first == machine->count)
		return false;
	(*end)++;
	if (loop->is_caller || *end == machine->count)
		return true;
	caller = loop_of(machine->frames[*end], loops, loop_count);
	if (caller != NULL && caller->is_caller)
		(*end)++;
	return true;
}

/*
 * Iteration over the runs of a chain: frames between two marks, which one loop of the interpreter
 * executes. A chain that was cut lacks marks; their number is known if the chain counts its loops.
 */
typedef struct CountedRuns
{
	const ChainStack *chain;
	uint32_t at;
	uint32_t lost;	 /* marks that are missing before the next run whose end is known */
	uint32_t hidden; /* runs that are missing as a whole before the next run */
} CountedRuns;

static CountedRuns
counted_runs(const ChainStack *chain)
{
	return (CountedRuns){ .chain = chain,
						  .lost = chain->marks == PFS_MARKS_COUNTED ? lost_marks(chain) : 0 };
}

/*
 * Takes the next run. Returns false at the end. A run with a mark but without frames executes no
 * function.
 */
static bool
next_counted_run(CountedRuns *runs, Run *run)
{
	const ChainStack *chain = runs->chain;
	UserFrame frame;

	if (chain->marks != PFS_MARKS_COUNTED)
	{
		if (!user_frame_next(chain->words, chain->count, &runs->at, &frame))
			return false;
		*run = (Run){ frame.place, runs->at, 0, false };
		return true;
	}
	*run = (Run){ runs->at, runs->at, 0, false };
	if (runs->hidden > 0)
	{
		runs->hidden--;
		return true;
	}
	if (runs->at >= chain->count)
		return false;
	(void) next_run(chain, &runs->at, run);
	if (runs->lost > 0 && run->first <= chain->cut_at && chain->cut_at <= run->end)
	{
		/* the cut joined two runs, the second of which begins at the gap */
		run->end = chain->cut_at;
		run->is_torn = true;
		runs->at = chain->cut_at;
		runs->hidden = runs->lost - 1;
		runs->lost = 0;
	}
	return true;
}

static uint32_t
count_runs(const ChainStack *chain)
{
	CountedRuns runs = counted_runs(chain);
	uint32_t count = 0;
	Run run;

	while (next_counted_run(&runs, &run))
		count++;
	return count;
}

/*
 * Appends the interpreter's frames to the machine's stack, which broke off before the interpreter's
 * loop.
 */
static void
append_chain(Merging *merging)
{
	CountedRuns runs = counted_runs(merging->chain);
	Run run;

	put_machine(merging, 0, merging->machine->count);
	while (next_counted_run(&runs, &run))
		put_run(merging, &run);
}

static uint32_t
count_loops(const MachineStack *machine, const LoopCode *loops, size_t loop_count)
{
	uint32_t count = 0;
	uint32_t first = 0;
	uint32_t end = 0;

	while (next_loop(machine, loops, loop_count, end, &first, &end))
		count++;
	return count;
}

/* The pairing of loops and runs, counted from the innermost ones. */
typedef struct Pairing
{
	bool is_possible;
	uint32_t idle_loops; /* innermost loops that execute no run */
	uint32_t early_runs; /* innermost runs that no loop executes */
} Pairing;

/*
 * Pairs found loops with runs. A loop that was just called, or is about to return, may have none:
 * that is the innermost. If the chain has marks, the innermost run may have no loop yet. Other
 * differences mean that loops were missed, unless one of the stacks broke off: then the innermost
 * ones are paired. A machine's stack that breaks off may be that of a fiber, which ends where the
 * chain ends, unless the chain leaves fibers.
 */
static Pairing
pair_loops(const MachineStack *machine, const ChainStack *chain, uint32_t found, uint32_t runs)
{
	bool is_counted = chain->marks == PFS_MARKS_COUNTED;

	if (machine->cut > 0 || (!is_counted && (chain->cut > 0 || !machine->whole || !chain->whole)))
		return (Pairing){ false };
	if (chain->whole && (found == runs || found == runs + 1))
		return (Pairing){ true, found - runs, 0 };
	if (chain->whole && is_counted && found + 1 == runs &&
		(machine->whole || !chain->leaves_fibers))
		return (Pairing){ true, 0, 1 };
	return (Pairing){ (!machine->whole && found < runs) || (!chain->whole && found > runs) };
}

static void
merge_by_count(Merging *merging, const LoopCode *loops, size_t loop_count)
{
	const MachineStack *machine = merging->machine;
	const ChainStack *chain = merging->chain;
	uint32_t found = count_loops(machine, loops, loop_count);
	Pairing pairing = pair_loops(machine, chain, found, count_runs(chain));
	CountedRuns runs = counted_runs(chain);
	uint32_t first;
	uint32_t end = 0;
	Run run;

	if (!machine->whole && found == 0)
	{
		append_chain(merging);
		return;
	}
	if (!pairing.is_possible)
	{
		merging->out->unmatched = frames_in(chain, 0, chain->count);
		put_machine(merging, 0, machine->count);
		return;
	}
	if (pairing.early_runs > 0 && next_counted_run(&runs, &run))
		merging->out->unmatched = frames_in(chain, run.first, run.end);
	for (uint32_t from = 0; from < machine->count; from = end)
	{
		bool has_loop = next_loop(machine, loops, loop_count, from, &first, &end);

		put_machine(merging, from, first);
		if (!has_loop)
			break;
		if (pairing.idle_loops > 0)
			pairing.idle_loops--;
		else if (next_counted_run(&runs, &run) && (run.first < run.end || run.is_torn))
		{
			for (uint32_t i = first; i < end; i++)
				pass_machine(merging, i);
			put_run(merging, &run);
			continue;
		}
		put_machine(merging, first, end);
	}
	while (!machine->whole && next_counted_run(&runs, &run))
		put_run(merging, &run);
}

#define DESCRIPTION_WORDS 2 /* words after the first one of a frame's description */

/*
 * Returns the index of the machine's frame by its number in the kernel's walk; the number of frames
 * if it is unknown.
 */
static uint32_t
index_of_number(const MachineStack *machine, uint32_t number)
{
	if (number < PFS_LEAF_FRAMES)
		return number < machine->count ? number : machine->count;
	/* the outermost frames have moved if a later walk has found more */
	if (machine->late_from < machine->count || number < PFS_LEAF_FRAMES + machine->cut ||
		number - machine->cut >= machine->count)
		return machine->count;
	return number - machine->cut;
}

/*
 * Returns the index of the machine's frame, from a given one on, whose frame pointer has this place
 * on the stack; the number of frames if there is none. A step by frame pointer ends the frame
 * after the return address.
 */
static uint32_t
index_of_place(const MachineStack *machine, uint32_t from, uint32_t place)
{
	uint64_t end = machine->first_sp + 8 * (uint64_t) place + 16;

	for (uint32_t i = from; i + 1 < machine->count; i++)
	{
		if (machine->ends[i] == end && (machine->frames[i + 1] & PFS_FRAME_BY_FRAME_POINTER) != 0)
			return i;
	}
	return machine->count;
}

/* Returns the index of the machine's frame that is described by a frame of the chain. */
static uint32_t
index_of_described(const Merging *merging, uint32_t from, const UserFrame *frame)
{
	const MachineStack *machine = merging->machine;
	uint32_t number;

	if (frame->more_count != DESCRIPTION_WORDS && frame->more_count != DESCRIPTION_WORDS + 1)
		return machine->count;
	number = PFS_V8_NUMBER(PFS_FRAME_PAYLOAD(frame->more[1]));
	return merging->chain->marks == PFS_MARKS_PLACES ? index_of_place(machine, from, number)
													 : index_of_number(machine, number);
}

/* Appends a frame of the chain, and after its words the address that the machine executed. */
static void
put_described(Merging *merging, const UserFrame *frame, uint64_t executed)
{
	const uint64_t *words = merging->chain->words + frame->place;
	const uint64_t first = PFS_FRAME_PAYLOAD(words[0]) | (uint64_t) (DESCRIPTION_WORDS + 1) << 60;
	const uint64_t last = UINT64_C(15) << 60 | executed;

	put_words(merging->out, &first, 1);
	put_words(merging->out, words + 1, DESCRIPTION_WORDS);
	put_words(merging->out, &last, 1);
	merging->out->merged++;
}

/*
 * Returns the address in generated code that a described frame of the machine executes; 0 if it
 * executes a function of the runtime. The innermost frame may execute such a function that makes no
 * frame and was called by generated code, to which the last word of the description returns.
 */
static uint64_t
executed_in(const MachineStack *machine, uint32_t index, const UserFrame *frame)
{
	uint64_t code = user_frame_code(machine->frames[index]);

	if (is_generated_code(machine, code))
		return code;
	if (index != 0 || frame->more_count != DESCRIPTION_WORDS + 1)
		return 0;
	code = user_frame_code(PFS_FRAME_PAYLOAD(frame->more[DESCRIPTION_WORDS]) |
						   PFS_FRAME_RETURN_ADDRESS);
	return is_generated_code(machine, code) ? code : 0;
}

/*
 * Takes the chain's next description. If the chain was cut, the words before the gap and those
 * after it are parts of different descriptions.
 */
static bool
next_description(const ChainStack *chain, uint32_t *at, UserFrame *frame)
{
	if (chain->cut > 0 && *at < chain->cut_at)
	{
		if (user_frame_next(chain->words, chain->cut_at, at, frame))
			return true;
		*at = chain->cut_at;
	}
	return user_frame_next(chain->words, chain->count, at, frame);
}

/*
 * Returns the number of frames of generated code that a later walk found. The kernel has described
 * only frames that it found itself: objects that it would read later may have moved.
 */
static uint32_t
count_late_generated(const MachineStack *machine)
{
	uint32_t count = 0;

	for (uint32_t i = machine->late_from; i < machine->count; i++)
		count += is_generated_code(machine, user_frame_code(machine->frames[i]));
	return count;
}

/*
 * Replaces frames of the machine by the frames of the chain that describe them. If the innermost
 * frame is in a file, it is a function of the runtime, which has no frame of its own or that of the
 * function that called it: both stay. Words on the stack that only look like frames are not counted
 * as a loss.
 */
static void
merge_described(Merging *merging)
{
	const MachineStack *machine = merging->machine;
	const ChainStack *chain = merging->chain;
	uint32_t place = 0;
	uint32_t at = 0;
	UserFrame frame;

	while (next_description(chain, &at, &frame))
	{
		uint32_t index = index_of_described(merging, place, &frame);

		if (index < place || index == machine->count)
		{
			merging->out->unmatched += chain->marks != PFS_MARKS_PLACES;
			continue;
		}
		put_machine(merging, place, index);
		place = index + 1;
		if (index == 0 && !is_generated_code(machine, user_frame_code(machine->frames[0])))
			put_machine(merging, 0, 1);
		else
			pass_machine(merging, index);
		put_described(merging, &frame, executed_in(machine, index, &frame));
	}
	put_machine(merging, place, machine->count);
	if (chain->marks == PFS_MARKS_NUMBERS)
		merging->out->unmatched += count_late_generated(machine);
}

/* Removes the words [from, to). */
static void
remove_words(MergedStack *out, uint32_t from, uint32_t to)
{
	uint32_t removed = to - from;

	memmove(out->words + from, out->words + to, (out->count - to) * sizeof(*out->words));
	out->count -= removed;
	if (out->late_from > from)
		out->late_from = out->late_from > to ? out->late_from - removed : from;
}

/* Leaves out the middle of a stack that is too deep. */
static void
limit_depth(Merging *merging)
{
	MergedStack *out = merging->out;
	uint32_t starts[MERGED_WORDS_MAX];
	uint32_t frames = 0;
	uint32_t at = 0;
	UserFrame frame;
	uint32_t leaf_end;
	uint32_t root_start;

	while (user_frame_next(out->words, out->count, &at, &frame))
		starts[frames++] = frame.place;
	if (frames <= MERGED_FRAMES_MAX)
		return;
	leaf_end = starts[PFS_LEAF_FRAMES];
	root_start = starts[frames - PFS_ROOT_FRAMES];
	out->cut += frames - MERGED_FRAMES_MAX;
	/* frames that are missing already must be in the gap, too */
	if (merging->is_cut && leaf_end > out->cut_at)
		leaf_end = out->cut_at;
	if (merging->is_cut && root_start < out->cut_at)
		root_start = out->cut_at;
	remove_words(out, leaf_end, root_start);
	out->cut_at = leaf_end;
}

bool
stack_merge(const MachineStack *machine, const ChainStack *chain, const LoopCode *loops,
			size_t loop_count, MergedStack *merged)
{
	Merging merging = { machine, chain, merged, false, false };

	merged->count = 0;
	merged->cut_at = 0;
	merged->cut = 0;
	merged->late_from = UINT32_MAX;
	merged->merged = 0;
	merged->unmatched = 0;
	if (chain->marks == PFS_MARKS_ENTRY || chain->marks == PFS_MARKS_SHIM)
		merge_by_marks(&merging);
	else if (chain->marks == PFS_MARKS_NUMBERS || chain->marks == PFS_MARKS_PLACES)
		merge_described(&merging);
	else
		merge_by_count(&merging, loops, loop_count);
	if (merged->merged == 0)
		return false;
	if (merged->late_from > merged->count)
		merged->late_from = merged->count;
	limit_depth(&merging);
	return true;
}
