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
#define GLOBAL_WORDS	1024 /* words of the global state, including the table after it */
#define STATE_WORDS		3	 /* words of a state, up to its reference to the global state */
#define DISPATCH_MIN	64	 /* number of consecutive addresses of code that make a table */
#define CANDIDATES_MAX	8	 /* limit, because the process may contain any number of them */
#define SUBROUTINE_SIZE 4096 /* upper limit of the size of the interpreter's last routine */
#define TRACES_MAX		65536
#define TRACES_SEEN		64	/* number of traces, the first of a list, that are checked */
#define STATE_NUMBERS	16	/* limit of the numbers of VM states, which are negative */
#define LOOKS_MAX		64	/* limit of a search's reads of single objects, each with a deadline */
#define MAIN_BYTES		512 /* limit of the main state's size, which lies before the global state */

/* A search of a process, which contains any number of words that look like what is searched for. */
typedef struct LuajitSearch
{
	RemoteMemory *memory;
	int looks;
} LuajitSearch;

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

/* Reads the words of an object. Returns false if they are unreadable or the search is too long. */
static bool
search_read(LuajitSearch *search, uint64_t address, uint64_t *words, size_t count)
{
	const RemotePieces piece = { .address = address,
								 .piece_bytes = count * sizeof(*words),
								 .count = 1 };

	return search->looks++ < LOOKS_MAX &&
		   remote_memory_read(search->memory, &piece, words) == piece.piece_bytes;
}

/* Returns whether a word is 0, or lies in the stack of a state. */
static bool
is_base_in(LuajitSearch *search, uint64_t state, uint64_t base)
{
	uint64_t words[PFS_LUAJIT_STATE_WORDS];

	if (base == 0)
		return true;
	return search_read(search, state, words, PFS_LUAJIT_STATE_WORDS) &&
		   base > words[PFS_LUAJIT_STATE_STACK] && base <= words[PFS_LUAJIT_STATE_END];
}

/* Returns whether there is a list of traces at an address, of which one at least is compiled. */
static bool
is_trace_list(LuajitSearch *search, uint64_t address, uint32_t count)
{
	uint64_t traces[TRACES_SEEN] = { 0 };
	uint64_t words[PFS_LUAJIT_TRACE_WORDS];
	const uint32_t seen = count < TRACES_SEEN ? count : TRACES_SEEN;

	if (!search_read(search, address, traces, seen) || traces[0] != 0)
		return false;
	for (uint32_t i = 1; i < seen; i++)
	{
		if (traces[i] == 0)
			continue;
		return is_object(traces[i]) &&
			   search_read(search, traces[i], words, PFS_LUAJIT_TRACE_WORDS) &&
			   PFS_LUAJIT_TYPE(words[PFS_LUAJIT_TRACE_TYPE]) == PFS_LUAJIT_TYPE_TRACE &&
			   (words[PFS_LUAJIT_TRACE_NUMBER] & 0xffff) == i;
	}
	return false;
}

/* Returns true if a word may be the number of a running trace, or the negative of a VM state. */
static bool
is_running_number(uint64_t word)
{
	const int32_t number = (int32_t) word;

	return number != 0 && number >= -STATE_NUMBERS && number < TRACES_MAX;
}

/*
 * Finds the list of traces, which is followed by the index of its first free place and by its size.
 * number: index of the word that is_running_number() accepts.
 */
static void
find_traces(LuajitSearch *search, const uint64_t words[GLOBAL_WORDS], size_t dispatch,
			size_t number, struct pfs_luajit_layout *layout)
{
	for (size_t i = layout->current / sizeof(*words) + 2; i + 1 < dispatch; i++)
	{
		const uint32_t next_free = (uint32_t) words[i + 1];
		const uint32_t size = (uint32_t) (words[i + 1] >> 32);

		if (!is_object(words[i]) || size < 2 || size > TRACES_MAX || next_free > size ||
			!is_trace_list(search, words[i], size))
			continue;
		layout->number = (uint32_t) (number * sizeof(*words));
		layout->traces = (uint32_t) (i * sizeof(*words));
		return;
	}
}

/* Reads a global state. Returns false if it has no table of instructions or no running state. */
static bool
read_global(LuajitSearch *search, const LuajitThread *thread, uint64_t global,
			struct pfs_luajit_layout *layout)
{
	uint64_t words[GLOBAL_WORDS];
	uint64_t states[GLOBAL_WORDS * STATE_WORDS];
	size_t main = 0; /* the reference to the main state, after the number of the running trace */
	size_t dispatch;

	read_words(search->memory, global, words, GLOBAL_WORDS);
	dispatch = find_dispatch(thread, words, layout);
	if (dispatch == GLOBAL_WORDS || dispatch == 0 ||
		!read_states(search->memory, words, dispatch, states))
		return false;
	layout->code_end += SUBROUTINE_SIZE;
	layout->global = global;
	layout->thread_pointer = thread->thread_pointer;
	layout->dispatch = (uint32_t) (dispatch * sizeof(*words));
	layout->current = 0;
	layout->number = layout->traces = 0;
	for (size_t i = dispatch - 1; i-- > 0;)
	{
		const uint64_t *state = states + i * STATE_WORDS;

		if (!is_state(state) || state[PFS_LUAJIT_STATE_GLOBAL] != global)
			continue;
		if (layout->current == 0 && is_base_in(search, words[i], words[i + 1]))
			layout->current = (uint32_t) (i * sizeof(*words));
		/* lists of the garbage collector lead to states, too */
		if (i > 0 && global - words[i] <= MAIN_BYTES && is_running_number(words[i - 1]))
			main = i;
	}
	if (layout->current != 0 && main > 0)
		find_traces(search, words, dispatch, main - 1, layout);
	return layout->current != 0;
}

bool
luajit_place_find(RemoteMemory *memory, const LuajitThread *thread, struct pfs_runtime *entry)
{
	struct pfs_luajit_layout layout = entry->luajit;
	LuajitSearch search = { .memory = memory };
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
			found = read_global(&search, thread, last, &layout);
		}
	}
	free(words);
	free(states);
	if (found)
	{
		entry->luajit = layout;
		entry->is_placed = 1;
	}
	return found;
}
