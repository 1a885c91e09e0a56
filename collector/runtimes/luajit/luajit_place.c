/*
 * luajit_place.c
 *		Searches the machine's stack for the running state, and the global state for its fields.
 *
 * The interpreter keeps the running state in its frame on the machine's stack. Each state leads to
 * the global state, which contains a table of addresses in the library, one for each bytecode
 * instruction. Some words before the table are states. The running state is the last of them that
 * is followed by the base of compiled code, a word that is 0 or lies in the state's stack.
 */
#include "runtimes/luajit/luajit_place.h"

#include <stdlib.h>
#include <string.h>

#define LOWEST_ADDRESS	(UINT64_C(1) << 16)
#define HIGHEST_ADDRESS (UINT64_C(1) << 47)

#define PIECE_WORDS		64
#define STACK_WORDS		8192
#define GLOBAL_WORDS	1024 /* of the global state, including the table after it */
#define STATE_WORDS		3	 /* of a state, up to its reference to the global state */
#define DISPATCH_MIN	64	 /* number of consecutive addresses of code that make a table */
#define CANDIDATES_MAX	8	 /* limit, because the process may contain any number of them */
#define SUBROUTINE_SIZE 4096 /* upper limit of the size of the interpreter's last routine */

static bool
is_object(uint64_t address)
{
	return address >= LOWEST_ADDRESS && address < HIGHEST_ADDRESS && (address & 7) == 0;
}

/* Reads words in pieces. Unreadable pieces become zero. */
static void
read_words(RemoteMemory *memory, uint64_t address, uint64_t *words, size_t count)
{
	RemoteRange ranges[STACK_WORDS / PIECE_WORDS];

	memset(words, 0, count * sizeof(*words));
	for (size_t i = 0; i < count / PIECE_WORDS; i++)
		ranges[i] = (RemoteRange){ address + i * PIECE_WORDS * sizeof(*words),
								   PIECE_WORDS * sizeof(*words), false };
	remote_memory_gather(memory, ranges, count / PIECE_WORDS, words);
}

/* Reads STATE_WORDS words of the state that each word leads to; zero if there is none. */
static bool
read_states(RemoteMemory *memory, const uint64_t *words, size_t count, uint64_t *states)
{
	RemoteRange *ranges = calloc(count, sizeof(*ranges));
	size_t wanted = 0;

	if (ranges == NULL)
		return false;
	memset(states, 0, count * STATE_WORDS * sizeof(*states));
	for (size_t i = 0; i < count; i++)
	{
		if (is_object(words[i]))
			ranges[wanted++] = (RemoteRange){ words[i], STATE_WORDS * sizeof(*states), false };
	}
	remote_memory_gather(memory, ranges, wanted, states);
	/* spread them to their positions, the last first */
	for (size_t i = count; i-- > 0;)
	{
		uint64_t *to = states + i * STATE_WORDS;

		if (!is_object(words[i]))
		{
			memset(to, 0, STATE_WORDS * sizeof(*to));
			continue;
		}
		wanted--;
		if (ranges[wanted].had)
			memmove(to, states + wanted * STATE_WORDS, STATE_WORDS * sizeof(*to));
		else
			memset(to, 0, STATE_WORDS * sizeof(*to));
	}
	free(ranges);
	return true;
}

static bool
is_state(const uint64_t state[STATE_WORDS])
{
	return PFS_LUAJIT_TYPE(state[PFS_LUAJIT_STATE_TYPE]) == PFS_LUAJIT_TYPE_STATE &&
		   is_object(state[PFS_LUAJIT_STATE_GLOBAL]);
}

/*
 * Finds the table of instructions. Returns the index of its first word; GLOBAL_WORDS if there is
 * none.
 */
static size_t
find_dispatch(const LuajitThread *thread, const uint64_t words[GLOBAL_WORDS],
			  struct pfs_luajit_layout *layout)
{
	size_t count = 0;

	for (size_t i = 0; i < GLOBAL_WORDS; i++)
	{
		uint64_t code = words[i];

		if (code < thread->code_start || code >= thread->code_end)
		{
			if (count >= DISPATCH_MIN)
				return i - count;
			count = 0;
			continue;
		}
		if (count++ == 0)
			layout->code_start = layout->code_end = code;
		layout->code_start = code < layout->code_start ? code : layout->code_start;
		layout->code_end = code > layout->code_end ? code : layout->code_end;
	}
	return count >= DISPATCH_MIN ? GLOBAL_WORDS - count : GLOBAL_WORDS;
}

/* Returns whether a word is 0, or lies in the stack of a state. */
static bool
is_base_in(RemoteMemory *memory, uint64_t state, uint64_t base)
{
	uint64_t words[PFS_LUAJIT_STATE_WORDS];
	const RemotePieces piece = { .address = state, .piece_bytes = sizeof(words), .count = 1 };

	if (base == 0)
		return true;
	return remote_memory_read(memory, &piece, words) == sizeof(words) &&
		   base > words[PFS_LUAJIT_STATE_STACK] && base <= words[PFS_LUAJIT_STATE_END];
}

/* Reads a global state. Returns false if it lacks such a table or a running state. */
static bool
read_global(RemoteMemory *memory, const LuajitThread *thread, uint64_t global,
			struct pfs_luajit_layout *layout)
{
	uint64_t words[GLOBAL_WORDS];
	uint64_t states[GLOBAL_WORDS * STATE_WORDS];
	size_t dispatch;

	read_words(memory, global, words, GLOBAL_WORDS);
	dispatch = find_dispatch(thread, words, layout);
	if (dispatch == GLOBAL_WORDS || dispatch == 0 || !read_states(memory, words, dispatch, states))
		return false;
	layout->code_end += SUBROUTINE_SIZE;
	layout->global = global;
	layout->thread_pointer = thread->thread_pointer;
	layout->dispatch = (uint32_t) (dispatch * sizeof(*words));
	layout->current = 0;
	for (size_t i = dispatch - 1; i-- > 0 && layout->current == 0;)
	{
		const uint64_t *state = states + i * STATE_WORDS;

		if (is_state(state) && state[PFS_LUAJIT_STATE_GLOBAL] == global &&
			is_base_in(memory, words[i], words[i + 1]))
			layout->current = (uint32_t) (i * sizeof(*words));
	}
	return layout->current != 0;
}

bool
luajit_place_find(RemoteMemory *memory, const LuajitThread *thread, struct pfs_runtime *entry)
{
	uint64_t *words = calloc(STACK_WORDS, sizeof(*words));
	uint64_t *states = calloc(STACK_WORDS, STATE_WORDS * sizeof(*states));
	uint64_t last = 0;
	int candidates = 0;
	bool found = false;

	if (words != NULL && states != NULL && is_object(thread->stack_pointer))
	{
		read_words(memory, thread->stack_pointer, words, STACK_WORDS);
		found = read_states(memory, words, STACK_WORDS, states);
	}
	if (found)
	{
		found = false;
		for (size_t i = 0; i < STACK_WORDS && !found && candidates < CANDIDATES_MAX; i++)
		{
			const uint64_t *state = states + i * STATE_WORDS;

			if (!is_state(state) || state[PFS_LUAJIT_STATE_GLOBAL] == last)
				continue;
			last = state[PFS_LUAJIT_STATE_GLOBAL];
			candidates++;
			found = read_global(memory, thread, last, &entry->luajit);
		}
	}
	free(words);
	free(states);
	entry->is_placed = found;
	return found;
}
