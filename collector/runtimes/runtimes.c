/*
 * runtimes.c
 *		Keeps the processes that have an interpreter, and their code.
 */
#include "runtimes/runtimes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/allowance.h"
#include "base/clock.h"
#include "base/log.h"
#include "runtimes/code_cache.h"
#include "runtimes/runtime_job.h"

#define SEEK_FIRST_NS  (50 * NS_PER_MS)
#define SEEK_MOST_NS   (60000 * NS_PER_MS)
#define CODE_COST_NS   (NS_PER_MS / 8)
#define CODE_BURST_NS  (1000 * NS_PER_MS) /* 8,000 objects at a time, and as many per second */
#define OWNERS		   32
#define UNPLACED_TRIES 6 /* about three seconds */
#define STRANGE_TRIES  3 /* at least 150 ms */

typedef struct RuntimeProcess
{
	uint32_t pid; /* key of the hash table */
	ExecImage image;
	RuntimeTarget target;
	uint64_t owner;
	uint64_t seek_ns; /* no search before this time */
	uint64_t pause_ns;
	uint32_t tries;	  /* attempts to find the place of threads' states */
	uint32_t strange; /* attempts in a row that found an unknown version */
	Stall stall;	  /* set if its memory did not answer */
	ProcessCodes *codes;
	UT_hash_handle hh;
} RuntimeProcess;

struct Runtimes
{
	CodeCache *code_cache;
	KernelTables *tables;
	Patience patience;
	CodeNamer other;
	RuntimeProcess *processes;
	KeyedAllowance owners[OWNERS];
	uint32_t unknown_logged; /* bits of enum pfs_runtime_kind */
	_Atomic uint64_t attached;
	_Atomic uint64_t placed;
	_Atomic uint64_t unknown;
	_Atomic uint64_t unplaced;
	_Atomic uint64_t merged;
	_Atomic uint64_t unmatched;
	_Atomic uint64_t codes;
	_Atomic uint64_t stale;
	_Atomic uint64_t put_off;
	_Atomic uint64_t timeouts;
	_Atomic uint64_t count;
};

int
runtimes_create(size_t limit_bytes, Runtimes **result)
{
	Runtimes *runtimes = calloc(1, sizeof(*runtimes));

	if (runtimes == NULL || code_cache_create(limit_bytes, &runtimes->code_cache) != 0)
	{
		free(runtimes);
		return -ENOMEM;
	}
	if (patience_init(&runtimes->patience) != 0)
	{
		code_cache_free(runtimes->code_cache);
		free(runtimes);
		return -ENOMEM;
	}
	*result = runtimes;
	return 0;
}

/* Frees the interpreter's data of a process, except code. */
static void
release_own(void *context)
{
	RuntimeProcess *process = context;

	if (process->target.file.kind->release != NULL)
		process->target.file.kind->release(&process->target);
}

/* Charges target->own to the process's owner. */
static void
charge_own(Runtimes *runtimes, RuntimeProcess *process)
{
	const RuntimeKind *kind = process->target.file.kind;

	if (kind->own_bytes != NULL)
		code_cache_charge(runtimes->code_cache, process->codes, kind->own_bytes(&process->target));
}

static void
free_process(Runtimes *runtimes, RuntimeProcess *process)
{
	HASH_DEL(runtimes->processes, process);
	code_cache_close(runtimes->code_cache, process->codes);
	release_own(process);
	atomic_fetch_sub(&runtimes->count, 1);
	free(process);
}

void
runtimes_free(Runtimes *runtimes)
{
	RuntimeProcess *process;
	RuntimeProcess *next;

	if (runtimes == NULL)
		return;
	HASH_ITER(hh, runtimes->processes, process, next)
		free_process(runtimes, process);
	code_cache_free(runtimes->code_cache);
	patience_fini(&runtimes->patience);
	free(runtimes);
}

void
runtimes_use_tables(Runtimes *runtimes, KernelTables *tables)
{
	runtimes->tables = tables;
}

/* Returns the process if its pid still belongs to this image; otherwise NULL. */
static RuntimeProcess *
runtimes_find_process(const Runtimes *runtimes, const ExecImage *image)
{
	RuntimeProcess *process;

	HASH_FIND(hh, runtimes->processes, &image->pid, sizeof(image->pid), process);
	return process != NULL && exec_image_equal(&process->image, image) ? process : NULL;
}

/* Writes the data of the process for the kernel's walk. */
static void
publish(Runtimes *runtimes, const RuntimeProcess *process)
{
	if (runtimes->tables != NULL)
		(void) runtimes->tables->ops->set_runtime(runtimes->tables, process->pid,
												  &process->target.entry);
}

static void
forget_pid(Runtimes *runtimes, uint32_t pid)
{
	RuntimeProcess *process;

	HASH_FIND(hh, runtimes->processes, &pid, sizeof(pid), process);
	if (process == NULL)
		return;
	if (runtimes->tables != NULL)
		runtimes->tables->ops->remove_runtime(runtimes->tables, pid);
	free_process(runtimes, process);
}

void
runtimes_forget(Runtimes *runtimes, const ExecImage *image)
{
	if (runtimes_find_process(runtimes, image) != NULL)
		forget_pid(runtimes, image->pid);
}

/* Counts a process, and logs the first one of each interpreter. */
static void
note_unknown(Runtimes *runtimes, const ExecImage *image, const RuntimeKind *kind)
{
	uint32_t bit = UINT32_C(1) << kind->kind;

	atomic_fetch_add(&runtimes->unknown, 1);
	if ((runtimes->unknown_logged & bit) != 0)
		return;
	runtimes->unknown_logged |= bit;
	log_event(LOG_INFO, "runtimes", "functions of an interpreter of unknown version are not named",
			  log_text("interpreter", kind->title), log_number("pid", (int64_t) image->pid),
			  log_text("hint", "The command check lists such processes."));
}

/* Counts an attempt that has not found the place of threads' states. */
static void
note_unplaced(Runtimes *runtimes, RuntimeProcess *process)
{
	process->strange = process->target.is_strange ? process->strange + 1 : 0;
	if (process->strange == STRANGE_TRIES)
	{
		process->target.file.is_known = false;
		note_unknown(runtimes, &process->image, process->target.file.kind);
	}
	else if (!process->target.entry.is_placed && ++process->tries == UNPLACED_TRIES)
		atomic_fetch_add(&runtimes->unplaced, 1);
}

void
runtimes_attach(Runtimes *runtimes, const ExecImage *image, uint64_t owner, const RuntimeFile *file,
				uint64_t bias, uint64_t now_ns)
{
	RuntimeProcess *process = runtimes_find_process(runtimes, image);

	if (process != NULL)
		return;
	forget_pid(runtimes, image->pid);
	process = calloc(1, sizeof(*process));
	if (process == NULL)
		return;
	process->owner = owner;
	process->codes = code_cache_open(runtimes->code_cache, process->owner, release_own, process);
	if (process->codes == NULL)
	{
		free(process);
		return;
	}
	process->pid = image->pid;
	process->image = *image;
	process->target.file = *file;
	process->target.bias = bias;
	code_cache_use(process->codes, now_ns);
	process->pause_ns = SEEK_FIRST_NS;
	process->target.entry.kind = (uint8_t) file->kind->kind;
	process->target.entry.start_time_ns = image->start_time_ns;
	process->target.entry.exec_id = image->exec_id;
	HASH_ADD(hh, runtimes->processes, pid, sizeof(process->pid), process);
	atomic_fetch_add(&runtimes->count, 1);
	atomic_fetch_add(&runtimes->attached, 1);
	if (!file->is_known)
	{
		note_unknown(runtimes, image, file->kind);
		return;
	}
	file->kind->describe(&process->target);
	if (process->target.entry.is_placed)
		atomic_fetch_add(&runtimes->placed, 1);
	publish(runtimes, process);
}

/* Opens the memory of the process unless it is stalled. */
static bool
open_memory(Runtimes *runtimes, const RuntimeProcess *process, uint64_t now_ns,
			RemoteMemory *memory)
{
	*memory = (RemoteMemory){ .patience = &runtimes->patience, .pid = process->pid };
	return now_ns >= process->stall.until_ns;
}

static void
close_memory(Runtimes *runtimes, RuntimeProcess *process, const RemoteMemory *memory,
			 uint64_t now_ns)
{
	if (memory->stuck)
		stall_note(&process->stall, now_ns);
	atomic_store(&runtimes->timeouts, runtimes->patience.timeouts);
}

bool
runtimes_seeks(const Runtimes *runtimes, const ExecImage *image, uint64_t thread_pointer,
			   uint64_t now_ns)
{
	const RuntimeProcess *process = runtimes_find_process(runtimes, image);

	return process != NULL && process->target.file.is_known &&
		   (!process->target.entry.is_placed || process->target.is_partial) &&
		   (thread_pointer != 0 || process->target.file.kind->is_threadless) &&
		   now_ns >= process->seek_ns;
}

void
runtimes_seek(Runtimes *runtimes, const ExecImage *image, uint64_t thread_pointer,
			  uint64_t stack_pointer, bool is_first, uint64_t now_ns)
{
	RuntimeProcess *process = runtimes_find_process(runtimes, image);
	RemoteMemory memory;
	bool was_placed;

	if (process == NULL || !runtimes_seeks(runtimes, image, thread_pointer, now_ns) ||
		!open_memory(runtimes, process, now_ns, &memory))
		return;
	process->seek_ns = now_ns + process->pause_ns;
	process->pause_ns = 2 * process->pause_ns < SEEK_MOST_NS ? 2 * process->pause_ns : SEEK_MOST_NS;
	process->target.stack_pointer = stack_pointer;
	process->target.is_strange = false;
	was_placed = process->target.entry.is_placed;
	if (process->target.file.kind->place(&memory, &process->target, thread_pointer, is_first))
	{
		if (!was_placed)
			atomic_fetch_add(&runtimes->placed, 1);
		publish(runtimes, process);
	}
	else
		note_unplaced(runtimes, process);
	close_memory(runtimes, process, &memory, now_ns);
}

const struct pfs_runtime *
runtimes_machine(const Runtimes *runtimes, const ExecImage *image)
{
	const RuntimeProcess *process = runtimes_find_process(runtimes, image);

	return process != NULL && process->target.entry.is_placed &&
				   (process->target.entry.kind == PFS_RUNTIME_HOTSPOT ||
					process->target.compiled.end != 0)
			   ? &process->target.entry
			   : NULL;
}

uint64_t
runtimes_rule_address(const Runtimes *runtimes, const ExecImage *image, uint64_t address)
{
	const struct pfs_runtime *runtime = runtimes_machine(runtimes, image);
	uint64_t other = 0;

	if (runtime != NULL && runtime->kind == PFS_RUNTIME_PHP)
		other = pfs_php_rule_address(&runtime->php, address);
	return other != 0 ? other : address;
}

bool
runtimes_merge(Runtimes *runtimes, const ExecImage *image, const MachineStack *machine,
			   const ChainStack *chain, MergedStack *merged)
{
	const RuntimeProcess *process = runtimes_find_process(runtimes, image);
	const RuntimeTarget *target = process != NULL ? &process->target : NULL;
	ChainStack stack = *chain;
	LoopCode loops[RUNTIME_LOOPS + 1];
	bool done;

	/* counts one frame, because their number is not known */
	if (target != NULL && chain->is_half_made)
		atomic_fetch_add(&runtimes->unmatched, 1);
	if (target == NULL || (chain->count == 0 && chain->marks != PFS_MARKS_NUMBERS))
		return false;
	for (int i = 0; i < RUNTIME_LOOPS; i++)
	{
		loops[i] = target->file.loops[i];
		loops[i].start += target->bias;
		loops[i].end += target->bias;
	}
	loops[RUNTIME_LOOPS] = target->compiled;
	stack.leaves_fibers = target->file.kind->leaves_fibers;
	done = stack_merge(machine, &stack, loops, RUNTIME_LOOPS + 1, merged);
	if (done)
		atomic_fetch_add(&runtimes->merged, 1);
	atomic_fetch_add(&runtimes->unmatched, merged->unmatched);
	return done;
}

void
runtimes_fold(const Runtimes *runtimes, const ExecImage *image, FoldedStack *stack)
{
	const RuntimeProcess *process = runtimes_find_process(runtimes, image);
	const RuntimeTarget *target = process != NULL ? &process->target : NULL;

	if (target != NULL)
		stack_fold(stack, target->file.code.start + target->bias,
				   target->file.code.end + target->bias);
}

/* Returns whether the frame belongs to the process's interpreter and its object could be read. */
static bool
runtimes_find_key(const RuntimeProcess *process, const UserFrame *frame, CodeKey *key)
{
	const RuntimeKind *kind = process->target.file.kind;

	if (frame->more_count == 0 || frame->interpreter != kind->kind || !kind->key_of(frame, key))
		return false;
	if (kind->qualify != NULL)
		kind->qualify(&process->target, frame, key);
	return true;
}

/* Returns whether the key is already in the list. */
static bool
is_wanted(const CodeWanted *wanted, size_t count, const CodeKey *key)
{
	for (size_t i = 0; i < count; i++)
	{
		if (wanted[i].key.address == key->address && wanted[i].key.check == key->check)
			return true;
	}
	return false;
}

static void
read_wanted(Runtimes *runtimes, RuntimeProcess *process, RemoteMemory *memory, const CodeWalk *walk,
			CodeWanted *wanted, size_t count)
{
	if (count == 0)
		return;
	runtime_job_read_codes(memory, &process->target, walk, wanted, count);
	for (size_t i = 0; i < count; i++)
	{
		/* queries that were not possible are repeated later */
		if (memory->stuck)
		{
			runtime_code_fini(&wanted[i].code);
			continue;
		}
		atomic_fetch_add(&runtimes->codes, 1);
		if (wanted[i].code.name == NULL)
			atomic_fetch_add(&runtimes->stale, 1);
		code_cache_add(runtimes->code_cache, process->codes, &wanted[i].key, &wanted[i].code);
	}
}

/* Reads the unknown code of the walk's frames. */
static void
runtimes_read_codes(Runtimes *runtimes, RuntimeProcess *process, const CodeWalk *walk,
					uint64_t now_ns)
{
	CodeWanted wanted[RUNTIME_CODES_MAX];
	const RuntimeKind *kind = process->target.file.kind;
	Allowance *allowance = allowance_of(runtimes->owners, OWNERS, process->owner);
	RemoteMemory memory;
	size_t count = 0;
	uint32_t next = 0;
	UserFrame frame;

	if (!open_memory(runtimes, process, now_ns, &memory))
		return;
	if (kind->needs_refresh != NULL && kind->needs_refresh(&process->target, walk))
		runtime_job_refresh(&memory, &process->target, walk);
	while (!memory.stuck && user_frame_next(walk->words, walk->count, &next, &frame))
	{
		CodeKey key;

		if (!runtimes_find_key(process, &frame, &key) ||
			code_cache_find(runtimes->code_cache, process->codes, &key) != NULL ||
			is_wanted(wanted, count, &key))
			continue;
		if (!allowance_take(allowance, now_ns, CODE_COST_NS, CODE_BURST_NS))
		{
			atomic_fetch_add(&runtimes->put_off, 1);
			continue;
		}
		wanted[count++] =
			(CodeWanted){ .key = key, .more = frame.more, .more_count = frame.more_count };
		if (count == RUNTIME_CODES_MAX)
		{
			read_wanted(runtimes, process, &memory, walk, wanted, count);
			count = 0;
		}
	}
	read_wanted(runtimes, process, &memory, walk, wanted, memory.stuck ? 0 : count);
	charge_own(runtimes, process);
	close_memory(runtimes, process, &memory, now_ns);
}

static void
prepare(void *context, const ExecImage *image, const CodeWalk *walk)
{
	Runtimes *runtimes = context;
	RuntimeProcess *process = runtimes_find_process(runtimes, image);
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);

	if (process != NULL && walk->is_interpreted)
	{
		code_cache_use(process->codes, now_ns);
		runtimes_read_codes(runtimes, process, walk, now_ns);
	}
	if (walk->is_generated && runtimes->other.prepare != NULL)
		runtimes->other.prepare(runtimes->other.context, image, walk);
}

/* Names the functions that a frame of the process's interpreter represents. */
static size_t
name_functions(Runtimes *runtimes, const RuntimeProcess *process, const UserFrame *frame,
			   CodeObject *objects[CODE_INLINED_MAX])
{
	const RuntimeKind *kind = process->target.file.kind;
	RuntimeCode *known = NULL;
	size_t count = 0;
	CodeKey key;

	if (runtimes_find_key(process, frame, &key))
		known = code_cache_find(runtimes->code_cache, process->codes, &key);
	for (; known != NULL && known->name != NULL && count < CODE_INLINED_MAX; known = known->caller)
	{
		CodeName name = { .runtime = kind->label, .name = known->name, .file = known->file };

		name.start_line = known->first_line > 0 ? known->first_line : 0;
		name.line =
			kind->line_of != NULL ? kind->line_of(&process->target, known, frame) : known->line;
		objects[count] = code_table_add_again(runtimes->other.table, &name, &known->hint);
		if (objects[count] == NULL)
			break;
		count++;
	}
	return count;
}

static size_t
name_frame(void *context, const ExecImage *image, const UserFrame *frame, uint64_t time_ns,
		   CodeObject *objects[CODE_INLINED_MAX])
{
	Runtimes *runtimes = context;
	const RuntimeProcess *process;

	if (frame->more_count == 0)
		return runtimes->other.name(runtimes->other.context, image, frame, time_ns, objects);
	process = runtimes_find_process(runtimes, image);
	return process != NULL ? name_functions(runtimes, process, frame, objects) : 0;
}

static void
sweep(void *context, uint64_t now_ns)
{
	Runtimes *runtimes = context;

	if (runtimes->other.sweep != NULL)
		runtimes->other.sweep(runtimes->other.context, now_ns);
}

CodeNamer
runtimes_namer(Runtimes *runtimes, const CodeNamer *other)
{
	runtimes->other = *other;
	return (CodeNamer){ .name = name_frame,
						.prepare = prepare,
						.sweep = sweep,
						.context = runtimes,
						.table = other->table };
}

void
runtimes_stats(const Runtimes *runtimes, RuntimesStats *stats)
{
	*stats = (RuntimesStats){ .processes = atomic_load(&runtimes->count),
							  .attached = atomic_load(&runtimes->attached),
							  .placed = atomic_load(&runtimes->placed),
							  .unknown = atomic_load(&runtimes->unknown),
							  .unplaced = atomic_load(&runtimes->unplaced),
							  .merged = atomic_load(&runtimes->merged),
							  .unmatched = atomic_load(&runtimes->unmatched),
							  .codes = atomic_load(&runtimes->codes),
							  .stale = atomic_load(&runtimes->stale),
							  .put_off = atomic_load(&runtimes->put_off),
							  .timeouts = atomic_load(&runtimes->timeouts) };
}
