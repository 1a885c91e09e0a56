/*
 * thread_place.c
 *		Searches memory beside the thread pointer for the word that leads to the thread's state.
 *
 * Up to 3.14 the state is the value of a thread's key, and remains there while the thread waits
 * without the interpreter's lock. From 3.13 on a variable has it, too, but is empty during such a
 * wait, so keys are searched first. 3.15 has two variables; the code of an exported function refers
 * to the one that is never empty.
 */
#include "runtimes/cpython/thread_place.h"

#include <stddef.h>
#include <string.h>

#include "runtimes/common/beside_thread.h"
#include "unwind/remote_address.h"

#define VARIABLES_MINOR 15

#define CANDIDATES_MAX 512

/* Words of a piece of memory that may be addresses of states, and their positions. */
typedef struct Candidates
{
	RemoteRange states[CANDIDATES_MAX]; /* the thread's number in each state */
	int32_t offsets[CANDIDATES_MAX];
	size_t count;
} Candidates;

static void
find_candidates(const uint64_t *words, size_t count, int32_t from, uint16_t thread_id,
				Candidates *candidates)
{
	candidates->count = 0;
	for (size_t i = 0; i < count && candidates->count < CANDIDATES_MAX; i++)
	{
		if (!remote_is_object(words[i]))
			continue;
		candidates->states[candidates->count] =
			(RemoteRange){ words[i] + thread_id, sizeof(uint64_t), false };
		candidates->offsets[candidates->count++] = from + (int32_t) (8 * i);
	}
}

/* Reads the offset in x86-64's "mov %fs:OFFSET,%rax", with or without a preceding endbr64. */
static bool
offset_of_x86_code(const uint8_t *code, int32_t *offset)
{
	static const uint8_t begin[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t load[] = { 0x64, 0x48, 0x8b, 0x04, 0x25 };

	if (memcmp(code, begin, sizeof(begin)) == 0)
		code += sizeof(begin);
	if (memcmp(code, load, sizeof(load)) != 0)
		return false;
	memcpy(offset, code + sizeof(load), sizeof(*offset));
	return true;
}

/*
 * Reads the offset in AArch64's "mrs x0, tpidr_el0", "add x0, x0, #OFFSET" and "ldr x0, [x0]", with
 * other instructions in between.
 */
static bool
offset_of_arm_code(const uint8_t *code, size_t bytes, int32_t *offset)
{
	bool has_pointer = false;

	*offset = 0;
	for (size_t i = 0; i + 4 <= bytes; i += 4)
	{
		uint32_t instruction;
		int32_t number;

		memcpy(&instruction, code + i, sizeof(instruction));
		number = (int32_t) (instruction >> 10 & 0xfff);
		if (instruction == 0xd53bd040)
			has_pointer = true;
		else if (has_pointer && (instruction & 0xffc003ff) == 0x91000000)
			*offset += number;
		else if (has_pointer && (instruction & 0xffc003ff) == 0xf9400000)
		{
			*offset += 8 * number;
			return true;
		}
	}
	return false;
}

bool
thread_place_of_code(const PythonFile *file, int32_t *offset)
{
	return file->state_code != 0 &&
		   (offset_of_x86_code(file->state_bytes, offset) ||
			offset_of_arm_code(file->state_bytes, sizeof(file->state_bytes), offset));
}

/*
 * Searches words, the first of which is at a distance. Finds the lowest word that leads to a state
 * of exactly this thread. If wanted is not NULL, checks only the word at that distance.
 */
static bool
search(RemoteMemory *memory, const PythonFile *file, uint64_t thread_pointer, const uint64_t *words,
	   size_t count, int32_t from, const int32_t *wanted, int32_t *offset)
{
	uint64_t ids[CANDIDATES_MAX] = { 0 };
	Candidates candidates;

	find_candidates(words, count, from, file->layout.state_thread_id, &candidates);
	remote_memory_gather(memory, candidates.states, candidates.count, ids);
	for (size_t i = 0; i < candidates.count; i++)
	{
		if (!candidates.states[i].had || thread_pointer - ids[i] >= BESIDE_SELF_DISTANCE ||
			(wanted != NULL && candidates.offsets[i] != *wanted))
			continue;
		*offset = candidates.offsets[i];
		return true;
	}
	return false;
}

/* Searches the values of the thread's keys in each place that they may have. */
static bool
search_keys(RemoteMemory *memory, const PythonFile *file, uint64_t thread_pointer,
			ThreadPlace *place)
{
	for (int is_pointed = 1; is_pointed >= 0; is_pointed--)
	{
		ThreadKeys keys;

		if (!beside_thread_read_keys(memory, thread_pointer, is_pointed, &keys) ||
			!search(memory, file, thread_pointer, keys.words, keys.count, keys.first.offset, NULL,
					&place->offset))
			continue;
		place->pointer = keys.first.pointer;
		return true;
	}
	return false;
}

/* Searches the thread-local variables, or checks the one that the file's code reads. */
static bool
search_variables(RemoteMemory *memory, const PythonFile *file, uint64_t thread_pointer,
				 int32_t *offset)
{
	uint64_t words[BESIDE_VARIABLES_BYTES / 8];
	int32_t wanted;
	bool is_wanted = thread_place_of_code(file, &wanted);

	return beside_thread_read(memory, thread_pointer + (uint64_t) (int64_t) BESIDE_VARIABLES_FROM,
							  BESIDE_VARIABLES_BYTES / 8, words) &&
		   search(memory, file, thread_pointer, words, BESIDE_VARIABLES_BYTES / 8,
				  BESIDE_VARIABLES_FROM, is_wanted ? &wanted : NULL, offset);
}

bool
thread_place_find(RemoteMemory *memory, const PythonFile *file, uint64_t thread_pointer,
				  bool is_first, ThreadPlace *place)
{
	*place = (ThreadPlace){ 0 };
	if (!remote_is_object(thread_pointer))
		return false;
	if (file->layout.minor < VARIABLES_MINOR)
		return search_keys(memory, file, thread_pointer, place);
	/* other threads' stacks lie below their variables, and contain old copies of the word */
	return is_first && search_variables(memory, file, thread_pointer, &place->offset);
}
