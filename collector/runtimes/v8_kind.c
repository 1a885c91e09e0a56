/*
 * v8_kind.c
 *		V8 as a RuntimeKind.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "runtimes/runtime_kind.h"
#include "runtimes/v8/v8_functions.h"

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

static void
v8_gather_process(void *context, RemoteRange *ranges, size_t count, void *bytes)
{
	remote_memory_gather(context, ranges, count, bytes);
}

static V8Memory
v8_memory_of(RemoteMemory *memory, const RuntimeTarget *target)
{
	return (V8Memory){ .layout = &target->file.v8.layout,
					   .gather = v8_gather_process,
					   .context = memory };
}

/* Returns the process's data, which the first call makes; NULL if out of memory. */
static V8State *
v8_state_of(RuntimeTarget *target)
{
	V8State *state = target->own != NULL ? target->own : calloc(1, sizeof(*state));

	target->own = state;
	if (state != NULL)
		state->scripts.now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	return state;
}

/* Returns the address in machine code that a frame executed; 0 for code of V8's own. */
static uint64_t
executed_by(const uint64_t *more)
{
	return PFS_FRAME_ADDRESS(PFS_FRAME_PAYLOAD(more[2]));
}

/* Like user_frame_next(), for frames in generated machine code. Sets *address in that code. */
static bool
v8_next_executed(const CodeWalk *walk, uint32_t *next, uint64_t *address)
{
	UserFrame frame;

	while (user_frame_next(walk->words, walk->count, next, &frame))
	{
		if (frame.more_count != 3 || frame.interpreter != PFS_RUNTIME_V8)
			continue;
		*address = executed_by(frame.more);
		if (*address != 0)
			return true;
	}
	return false;
}

static bool
v8_needs_refresh(RuntimeTarget *target, const CodeWalk *walk)
{
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	V8State *state = target->own;
	bool needs = false;
	uint32_t next = 0;
	uint64_t address;

	while (v8_next_executed(walk, &next, &address))
		needs |= state == NULL || !v8_codes_use(&state->codes, address, walk->time_ns, now_ns);
	return needs;
}

static void
v8_refresh(RemoteMemory *memory, RuntimeTarget *target, const CodeWalk *walk)
{
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	V8State *state = v8_state_of(target);
	V8Memory heap = v8_memory_of(memory, target);
	uint32_t next = 0;
	uint64_t address;

	if (state == NULL)
		return;
	/* Walks that follow mostly need other pieces of those, and then find them verified. */
	v8_codes_verify_used(&state->codes, &heap, now_ns);
	while (v8_next_executed(walk, &next, &address))
		v8_codes_verify(&state->codes, &heap, address, walk->time_ns, now_ns);
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
v8_frame_of(const CodeWanted *wanted)
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
	const V8File *v8 = &target->file.v8;
	V8Sizes sizes = { 0 };
	V8State *state = v8_state_of(target);
	V8Memory heap = v8_memory_of(memory, target);

	if (!code_wanted_begin(wanted, count) || state == NULL)
		return;
	if (v8->bytecode_sizes != 0)
		sizes = (V8Sizes){ v8->bytecode_sizes + target->bias, v8->bytecode_count };
	for (size_t i = 0; i < count; i++)
	{
		const V8Frame frame = v8_frame_of(&wanted[i]);

		v8_functions_read(state, &heap, &sizes, &frame, &wanted[i].code);
	}
}

static void
v8_release(RuntimeTarget *target)
{
	V8State *state = target->own;

	if (state == NULL)
		return;
	v8_scripts_fini(&state->scripts);
	v8_codes_fini(&state->codes);
	free(state);
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
	.needs_refresh = v8_needs_refresh,
	.refresh = v8_refresh,
	.read_codes = v8_read_codes,
	.release = v8_release,
	.own_bytes = v8_own_bytes,
};
