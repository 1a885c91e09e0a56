/*
 * late_walk.c
 *		Implements, for user space, the functions that unwind.bpf.h requires from the file that
 *		includes it.
 */
#include "unwind/late_walk.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "events.h"

/*
 * The walk in progress. As in BPF, the walk's functions have no context argument, so this is a
 * variable of the thread.
 */
static _Thread_local struct
{
	const Unwinder *unwinder;
	LateRead read;
	void *context;
	bool trust_jit;
	struct pfs_walk *walk;
	const struct pfs_runtime *runtime;
	RemoteMemory *memory;
	CodePages *code;
} current;

static int
pfs_read_stack(struct pfs_walk *walk, __u64 address, __u64 *value)
{
	uint64_t word;
	int result = current.read(current.context, address, &word);

	(void) walk; /* nothing to prepare, because memory is read word by word */
	if (result == 0)
		*value = word;
	return result;
}

static int
pfs_trusts_jit(void)
{
	return current.trust_jit;
}

/* these functions are used only by the walk of Java frames, which exists for x86-64 only */
#ifndef PFS_ARM64
static __u32
pfs_walk_slot(const struct pfs_walk *walk)
{
	(void) walk;
	return 0;
}

static struct pfs_walk *
pfs_get_walk(__u32 slot)
{
	(void) slot;
	return current.walk;
}

static const struct pfs_runtime *
pfs_get_runtime(const struct pfs_walk *walk)
{
	(void) walk;
	return current.runtime;
}

static int
pfs_read_code(struct pfs_walk *walk, void *to, __u32 size, __u64 address)
{
	(void) walk;
	return code_pages_read(current.code, current.memory, address, to, size);
}
#endif

static const struct pfs_unwind_mapping *
pfs_get_mapping(__u32 slot)
{
	return unwinder_mapping(current.unwinder, slot);
}

static const union pfs_unwind_entry *
pfs_get_entry(__u32 slot)
{
	return unwinder_entry(current.unwinder, slot);
}

static const struct pfs_unwind_line *
pfs_get_line(__u32 number)
{
	return unwinder_line(current.unwinder, number);
}

static __u64 *
pfs_get_recent(__u32 slot)
{
	return unwinder_recent(current.unwinder, slot);
}

static const struct pfs_unwind_rule *
pfs_get_rule(__u32 number)
{
	return unwinder_rule(current.unwinder, number);
}

/* defined like in libbpf's header; the C library's definition lacks "inline" */
#undef __always_inline
#define __always_inline	  inline __attribute__((always_inline))
#define PFS_VERIFIED_ONCE static
#include "unwind.bpf.h"

/*
 * Copies the word at an address from one piece; bytes begins with the available chunks of the
 * piece. Returns false if the word is not available.
 */
static bool
read_piece(const uint8_t *bytes, size_t length, uint64_t start, uint64_t chunks, uint64_t address,
		   uint64_t *value)
{
	uint64_t offset = address - start;
	uint64_t first = offset / PFS_LATE_CHUNK_BYTES;
	uint64_t last = (offset + sizeof(*value) - 1) / PFS_LATE_CHUNK_BYTES;
	size_t place;

	/*
	 * The word may lie in two chunks, both of which must be available. Below start the offset wraps
	 * around and is not used.
	 */
	if (address < start || first >= 64 || last >= 64 || (chunks >> first & 1) == 0 ||
		(chunks >> last & 1) == 0)
		return false;
	/*
	 * Missing chunks take no space in bytes: a chunk's place is the number of available chunks
	 * before it. With chunks 0 and 2 available, chunk 2 begins at byte PFS_LATE_CHUNK_BYTES.
	 */
	place = (size_t) __builtin_popcountll(chunks & ((UINT64_C(1) << first) - 1)) *
				PFS_LATE_CHUNK_BYTES +
			offset % PFS_LATE_CHUNK_BYTES;
	if (length < sizeof(*value) || place > length - sizeof(*value))
		return false;
	memcpy(value, bytes + place, sizeof(*value));
	return true;
}

int
late_memory_read(void *memory, uint64_t address, uint64_t *value)
{
	const LateMemory *copy = memory;
	size_t before = (size_t) __builtin_popcountll(copy->chunks) * PFS_LATE_CHUNK_BYTES;

	if (read_piece(copy->bytes, copy->length, copy->address, copy->chunks, address, value))
		return 0;
	/* the chunks of the second piece follow all chunks of the first piece */
	if (before < copy->length &&
		read_piece(copy->bytes + before, copy->length - before, copy->other_address,
				   copy->other_chunks, address, value))
		return 0;
	return -1;
}

/*
 * Returns the number of classes that HotSpot had unloaded when the sample was taken. A number that
 * was not read must be 0, because nobody knows whether a larger one was as large then.
 */
static uint64_t
unloaded_at_sample(const LateWalk *from)
{
	return from->unloaded != PFS_UNLOADED_UNKNOWN ? from->unloaded : 0;
}

/* Compiled methods whose numbers are read together. */
#define CHECKED_MAX 64

typedef struct CheckedCode
{
	CompiledCode codes[CHECKED_MAX];
	size_t places[CHECKED_MAX]; /* positions of their frames */
	RemoteRange ranges[CHECKED_MAX];
	uint32_t ids[CHECKED_MAX]; /* numbers that were read again */
	size_t count;
} CheckedCode;

/* Collects the compiled methods of frames from *at on. Advances *at. */
static void
collect_compiled(const LateWalk *from, const uint64_t *frames, size_t count, size_t *at,
				 CheckedCode *checked)
{
	checked->count = 0;
	for (; *at < count && checked->count < CHECKED_MAX; (*at)++)
	{
		CompiledCode *code = &checked->codes[checked->count];

		if (!compiled_code_of(frames, count, *at, code))
			continue;
		checked->ranges[checked->count] =
			(RemoteRange){ .address = code->address + from->runtime->hotspot.compile_id,
						   .bytes = sizeof(checked->ids[0]) };
		checked->places[checked->count++] = *at;
	}
}

/*
 * Notes the compiled methods that the walk has found. Returns the position of the first one that
 * may not be the sampled one, or count if all are the sampled ones. The methods' numbers are read
 * again after the walk, which may have used older pages: a method that was seen before the sample
 * and still has its number was there all the time.
 */
static size_t
check_compiled(const LateWalk *from, const uint64_t *frames, size_t count)
{
	size_t doubtful = count;
	CheckedCode checked;
	size_t at = 0;

	while (at < count)
	{
		uint64_t now_ns;

		collect_compiled(from, frames, count, &at, &checked);
		memset(checked.ids, 0, sizeof(checked.ids));
		remote_memory_gather(from->memory, checked.ranges, checked.count, checked.ids);
		now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
		for (size_t i = 0; i < checked.count; i++)
		{
			const CompiledCode *code = &checked.codes[i];
			bool is_there = checked.ranges[i].had && checked.ids[i] == code->id;

			if (doubtful == count &&
				!(is_there &&
				  code_sightings_had(from->sightings, from->process, code, from->time_ns)))
				doubtful = checked.places[i];
			if (is_there)
				code_sightings_note(from->sightings, from->process, from->owner, code, now_ns);
		}
	}
	return doubtful;
}

/*
 * Begins a walk among frames of HotSpot: interpreted methods are identified by the number of
 * unloaded classes at the time of the sample.
 */
static void
begin_hotspot(struct pfs_walk *walk, const LateWalk *from)
{
	if (from->runtime == NULL || from->runtime->kind != PFS_RUNTIME_HOTSPOT)
		return;
	walk->code.has_unloaded = 1;
	walk->code.unloaded = unloaded_at_sample(from);
}

size_t
late_walk(const Unwinder *unwinder, const LateWalk *from, uint64_t *frames, size_t capacity,
		  int *status)
{
	size_t certain;
	struct pfs_walk walk;
	__u64 frame = 0;

	memset(&walk, 0, sizeof(walk));
	if (!unwinder_find_process(unwinder, from->process, &walk.process))
	{
		*status = PFS_WALK_NO_PROCESS;
		return 0;
	}
	current.unwinder = unwinder;
	current.read = from->read;
	current.context = from->context;
	current.trust_jit = from->trust_jit;
	current.walk = &walk;
	current.runtime = from->runtime;
	current.memory = from->memory;
	current.code = from->code;

	walk.at = *from->state;
	begin_hotspot(&walk, from);
	while (walk.status == PFS_WALK_RUNNING && walk.count < capacity)
	{
		size_t at = walk.count;

		/* the result is not needed, because a step that ends the walk sets walk.status */
		(void) pfs_walk_step(&walk, &frame);
		/* the step ended the walk at an address outside of code, which is not a frame */
		if (walk.count == at)
			continue;
		frames[at] = frame;
		/* interpreted code: the step leaves further words of its frame in walk.more */
		for (uint8_t i = 0; i < walk.more_count && walk.count < capacity; i++)
			frames[walk.count++] = walk.more[i];
		walk.more_count = 0;
		/* after the step walk.at is the caller's position */
		for (; from->ends != NULL && at < walk.count; at++)
			from->ends[at] = walk.at.sp;
	}
	certain = current.runtime != NULL && current.runtime->kind == PFS_RUNTIME_HOTSPOT
				  ? check_compiled(from, frames, walk.count)
				  : walk.count;
	if (certain < walk.count)
	{
		*status = PFS_WALK_STALE;
		return certain;
	}
	/* a walk that still runs has filled the caller's array */
	*status = walk.status == PFS_WALK_RUNNING ? PFS_WALK_TOO_DEEP : walk.status;
	return walk.count;
}
