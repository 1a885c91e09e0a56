/*
 * v8_kind.c
 *		V8 as a RuntimeKind.
 *
 * Objects lead to each other, so they are read one after the other: all of this runs in a probe,
 * which owns its data until it has answered.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "runtimes/runtime_kind.h"
#include "runtimes/v8/v8_functions.h"

#define WAIT_NS	   UINT64_C(50000000)
#define PIECES_MAX PFS_MAX_USER_FRAMES

/* A job in the memory of a process. */
typedef struct V8Job
{
	Probe probe;
	uint32_t pid;
	V8Layout layout;
	V8Sizes sizes;
	V8State *state; /* the target's, while the job runs */
	uint64_t since_ns;
	uint64_t now_ns;
	size_t count;
	/* either addresses of code, or frames and their functions */
	uint64_t addresses[PIECES_MAX];
	V8Frame frames[RUNTIME_CODES_MAX];
	RuntimeCode codes[RUNTIME_CODES_MAX];
} V8Job;

static bool
v8_read_file(const ElfSource *source, const char *name, RuntimeFile *file)
{
	(void) name; /* recognized by content */
	return v8_file_read(source, &file->v8, &file->is_known);
}

static void
v8_describe(RuntimeTarget *target)
{
	target->entry.v8 = target->file.v8.layout.walk;
	target->entry.marks = PFS_MARKS_NUMBERS;
	target->entry.is_placed = 1; /* frames lie on the machine's stack */
}

static bool
v8_read_process(void *context, uint64_t address, void *bytes, size_t size_bytes)
{
	const V8Job *job = context;
	struct iovec local = { bytes, size_bytes };
	struct iovec remote = { (void *) (uintptr_t) address, size_bytes };

	return process_vm_readv((pid_t) job->pid, &local, 1, &remote, 1, 0) == (ssize_t) size_bytes;
}

static void
free_state(V8State *state)
{
	if (state == NULL)
		return;
	v8_scripts_fini(&state->scripts);
	v8_codes_fini(&state->codes);
	free(state);
}

static void
free_job(Probe *probe)
{
	V8Job *job = (V8Job *) probe;

	free_state(job->state);
	for (size_t i = 0; i < RUNTIME_CODES_MAX; i++)
		runtime_code_fini(&job->codes[i]);
	free(job);
}

static V8Memory
memory_of(V8Job *job)
{
	return (V8Memory){ .layout = &job->layout, .read = v8_read_process, .context = job };
}

static void
run_refresh(Probe *probe)
{
	V8Job *job = (V8Job *) probe;
	V8Memory memory = memory_of(job);

	for (size_t i = 0; i < job->count; i++)
		v8_codes_verify(&job->state->codes, &memory, job->addresses[i], job->since_ns, job->now_ns);
}

static void
run_read(Probe *probe)
{
	V8Job *job = (V8Job *) probe;
	V8Memory memory = memory_of(job);

	for (size_t i = 0; i < job->count; i++)
		v8_functions_read(job->state, &memory, &job->sizes, &job->frames[i], &job->codes[i]);
}

/* Returns NULL if out of memory. */
static V8Job *
make_job(const RemoteMemory *memory, RuntimeTarget *target, void (*run)(Probe *))
{
	const V8File *v8 = &target->file.v8;
	V8Job *job = calloc(1, sizeof(*job));

	if (target->own == NULL)
		target->own = calloc(1, sizeof(V8State));
	if (job == NULL || target->own == NULL)
	{
		free(job);
		return NULL;
	}
	job->probe = (Probe){ .run = run, .discard = free_job, .subject.pid = memory->pid };
	job->pid = memory->pid;
	job->layout = v8->layout;
	if (v8->bytecode_sizes != 0)
		job->sizes = (V8Sizes){ v8->bytecode_sizes + target->bias, v8->bytecode_count };
	job->now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	return job;
}

/* Runs a job. Returns true if the job belongs to the caller again. */
static bool
run_job(RemoteMemory *memory, RuntimeTarget *target, V8Job *job)
{
	job->state = target->own;
	job->state->scripts.now_ns = job->now_ns;
	target->own = NULL;
	memory->stuck = patience_run(memory->patience, &job->probe, WAIT_NS) != 0;
	if (memory->stuck)
		return false;
	target->own = job->state;
	job->state = NULL;
	return true;
}

/* Returns the address in machine code that a frame executed; 0 for code of V8's own. */
static uint64_t
executed_by(const uint64_t *more)
{
	return PFS_FRAME_ADDRESS(PFS_FRAME_PAYLOAD(more[2]));
}

static void
v8_refresh(RemoteMemory *memory, RuntimeTarget *target, const CodeWalk *walk)
{
	V8Job *job = NULL;
	uint32_t next = 0;
	UserFrame frame;

	while (user_frame_next(walk->words, walk->count, &next, &frame))
	{
		const V8State *state = target->own;
		uint64_t address;

		if (frame.more_count != 3 || frame.interpreter != PFS_RUNTIME_V8)
			continue;
		address = executed_by(frame.more);
		if (address == 0 ||
			(state != NULL && v8_codes_is_verified(&state->codes, address, walk->time_ns,
												   (uint64_t) clock_ns(CLOCK_MONOTONIC))))
			continue;
		if (job == NULL)
			job = make_job(memory, target, run_refresh);
		if (job == NULL)
			return;
		if (job->count < PIECES_MAX)
			job->addresses[job->count++] = address;
	}
	if (job == NULL)
		return;
	job->since_ns = walk->time_ns;
	if (run_job(memory, target, job))
		free_job(&job->probe);
}

static bool
v8_key_of(const UserFrame *frame, CodeKey *key)
{
	uint64_t place;

	if (frame->more_count != 3)
		return false;
	/* code of V8's own has no address here: its frames differ by their bytecode */
	place = executed_by(frame->more);
	if (place == 0)
		place = pfs_hash_step(PFS_V8_OFFSET(PFS_FRAME_PAYLOAD(frame->more[0])),
							  PFS_V8_BYTECODES(PFS_FRAME_PAYLOAD(frame->more[1])));
	*key = (CodeKey){ frame->code,
					  pfs_hash_step(PFS_V8_CHECK(PFS_FRAME_PAYLOAD(frame->more[0])), place) };
	return true;
}

static void
v8_qualify(const RuntimeTarget *target, const UserFrame *frame, CodeKey *key)
{
	const V8State *state = target->own;
	uint64_t address = executed_by(frame->more);
	const V8Code *code =
		address != 0 && state != NULL ? v8_codes_find(&state->codes, address) : NULL;

	if (code != NULL)
		key->check = pfs_hash_step(key->check, code->generation);
}

static V8Frame
frame_of(const CodeWanted *wanted)
{
	uint64_t first = PFS_FRAME_PAYLOAD(wanted->more[0]);

	return (V8Frame){ .shared = wanted->key.address,
					  .check = PFS_V8_CHECK(first),
					  .pc = executed_by(wanted->more),
					  .bytecodes = PFS_V8_BYTECODES(PFS_FRAME_PAYLOAD(wanted->more[1])),
					  .offset = PFS_V8_OFFSET(first) };
}

static void
v8_read_codes(RemoteMemory *memory, RuntimeTarget *target, CodeWanted *wanted, size_t count)
{
	V8Job *job = make_job(memory, target, run_read);

	if (job == NULL)
		return;
	job->count = count < RUNTIME_CODES_MAX ? count : RUNTIME_CODES_MAX;
	for (size_t i = 0; i < job->count; i++)
		job->frames[i] = frame_of(&wanted[i]);
	if (!run_job(memory, target, job))
		return;
	for (size_t i = 0; i < job->count; i++)
	{
		wanted[i].code = job->codes[i];
		job->codes[i] = (RuntimeCode){ 0 };
	}
	free_job(&job->probe);
}

static void
v8_release(RuntimeTarget *target)
{
	free_state(target->own);
	target->own = NULL;
}

static size_t
v8_own_bytes(const RuntimeTarget *target)
{
	const V8State *state = target->own;

	return state != NULL
			   ? sizeof(*state) + v8_scripts_bytes(&state->scripts) + v8_codes_bytes(&state->codes)
			   : 0;
}

const RuntimeKind v8_kind = {
	.kind = PFS_RUNTIME_V8,
	.title = "V8",
	.label = "[javascript]",
	.read_file = v8_read_file,
	.describe = v8_describe,
	.key_of = v8_key_of,
	.qualify = v8_qualify,
	.refresh = v8_refresh,
	.read_codes = v8_read_codes,
	.release = v8_release,
	.own_bytes = v8_own_bytes,
};
