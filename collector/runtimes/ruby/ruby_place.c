/*
 * ruby_place.c
 *		Searches memory beside the thread pointer for the word that leads to the execution context.
 *
 * From 3.0 on a thread-local variable has the context. The thread's stack may lie below the
 * variables and contain copies of the word, even old ones: so the word nearest to the thread
 * pointer is used. Before 3.0 the value of a thread's key leads to the thread, and only this value
 * remains while the thread waits without the interpreter's lock.
 */
#include "runtimes/ruby/ruby_place.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/common/beside_thread.h"
#include "unwind/remote_address.h"

#define WORDS_MAX (BESIDE_VARIABLES_BYTES / 8)

#define CONTEXT_WORDS 16
#define THREAD_WORDS  20
#define NATIVE_WORDS  8 /* words of the record of a native thread, to which a thread leads */

#define CONTEXT_THREAD 3 /* index of the first word of a context that may be the thread */
#define THREAD_CONTEXT 2 /* index of the first word of a thread that may be the context */

#define STACK_WORDS_MIN 64
#define CANDIDATES_MAX	8 /* limit, because the process may contain any number of them */

/*
 * Returns whether the words begin like an execution context: with a stack that contains the frame.
 */
static bool
is_context(const uint64_t words[CONTEXT_WORDS])
{
	uint64_t stack = words[0];
	uint64_t size = words[1];
	uint64_t frame = words[2];

	return remote_is_object(stack) && remote_is_object(frame) && size >= STACK_WORDS_MIN &&
		   size <= PFS_RUBY_STACK_WORDS_MAX && frame >= stack && frame <= stack + 8 * size;
}

/* Returns whether the words contain the thread's own number. */
static bool
has_self(const uint64_t *words, size_t count, uint64_t thread_pointer)
{
	for (size_t i = 0; i < count; i++)
	{
		if (thread_pointer - words[i] < BESIDE_SELF_DISTANCE)
			return true;
	}
	return false;
}

/* Reads some words at each address. Unreadable ones become zero. */
static void
read_targets(RemoteMemory *memory, const uint64_t *words, size_t count, uint64_t *targets,
			 size_t target_words)
{
	RemoteRange ranges[WORDS_MAX];

	memset(targets, 0, count * target_words * sizeof(*targets));
	for (size_t i = 0; i < count; i++)
		ranges[i] = (RemoteRange){ remote_is_object(words[i]) ? words[i] : 0,
								   target_words * sizeof(*targets), false };
	remote_memory_gather(memory, ranges, count, targets);
}

/* Returns whether a thread contains the thread pointer, itself or in its native thread's record. */
static bool
leads_to_self(RemoteMemory *memory, const uint64_t thread[THREAD_WORDS], uint64_t thread_pointer)
{
	uint64_t natives[THREAD_WORDS * NATIVE_WORDS];

	if (has_self(thread, THREAD_WORDS, thread_pointer))
		return true;
	read_targets(memory, thread, THREAD_WORDS, natives, NATIVE_WORDS);
	return has_self(natives, THREAD_WORDS * NATIVE_WORDS, thread_pointer);
}

/*
 * Returns the index of a thread's word that is its context, if the two lead to each other;
 * otherwise 0.
 */
static size_t
context_of_thread(RemoteMemory *memory, uint64_t address, const uint64_t thread[THREAD_WORDS])
{
	uint64_t contexts[THREAD_WORDS * CONTEXT_WORDS];

	read_targets(memory, thread, THREAD_WORDS, contexts, CONTEXT_WORDS);
	for (size_t i = THREAD_CONTEXT; i < THREAD_WORDS; i++)
	{
		const uint64_t *context = contexts + i * CONTEXT_WORDS;

		for (size_t j = CONTEXT_THREAD; j < CONTEXT_WORDS && is_context(context); j++)
		{
			if (context[j] == address)
				return i;
		}
	}
	return 0;
}

/* Returns whether an address is a context whose thread leads back to it. */
static bool
is_own_context(RemoteMemory *memory, uint64_t address, const uint64_t context[CONTEXT_WORDS],
			   uint64_t thread_pointer)
{
	uint64_t threads[CONTEXT_WORDS * THREAD_WORDS];

	read_targets(memory, context, CONTEXT_WORDS, threads, THREAD_WORDS);
	for (size_t i = CONTEXT_THREAD; i < CONTEXT_WORDS; i++)
	{
		const uint64_t *thread = threads + i * THREAD_WORDS;
		size_t at = 0;

		for (size_t j = THREAD_CONTEXT; j < THREAD_WORDS && at == 0; j++)
			at = thread[j] == address ? j : 0;
		if (at != 0 && context_of_thread(memory, context[i], thread) == at &&
			leads_to_self(memory, thread, thread_pointer))
			return true;
	}
	return false;
}

/* Finds the variable that contains the context. */
static bool
find_variable(RemoteMemory *memory, uint64_t thread_pointer, int32_t *offset)
{
	uint64_t *contexts = malloc(WORDS_MAX * CONTEXT_WORDS * sizeof(*contexts));
	uint64_t words[WORDS_MAX];
	int candidates = 0;
	bool found = false;

	if (contexts == NULL)
		return false;
	(void) beside_thread_read(memory, thread_pointer + (uint64_t) (int64_t) BESIDE_VARIABLES_FROM,
							  WORDS_MAX, words);
	read_targets(memory, words, WORDS_MAX, contexts, CONTEXT_WORDS);
	for (size_t i = 0; i < WORDS_MAX && !found && candidates < CANDIDATES_MAX; i++)
	{
		size_t at = BESIDE_VARIABLES_FROM < 0 ? WORDS_MAX - 1 - i : i; /* the nearest first */
		const uint64_t *context = contexts + at * CONTEXT_WORDS;

		if (!is_context(context))
			continue;
		candidates++;
		*offset = BESIDE_VARIABLES_FROM + (int32_t) (8 * at);
		found = is_own_context(memory, words[at], context, thread_pointer);
	}
	free(contexts);
	return found;
}

/* Finds the key's value that leads to the thread, and the context's offset in the thread. */
static bool
ruby_place_find_value(RemoteMemory *memory, uint64_t thread_pointer, const ThreadKeys *keys,
					  struct pfs_runtime *entry)
{
	uint64_t threads[BESIDE_KEYS_MAX * THREAD_WORDS];
	int candidates = 0;

	read_targets(memory, keys->words, keys->count, threads, THREAD_WORDS);
	for (size_t i = 0; i < keys->count && candidates < CANDIDATES_MAX; i++)
	{
		const uint64_t *thread = threads + i * THREAD_WORDS;
		size_t at;

		if (!has_self(thread, THREAD_WORDS, thread_pointer))
			continue;
		candidates++;
		at = context_of_thread(memory, keys->words[i], thread);
		if (at == 0)
			continue;
		entry->state_offset = keys->first.offset + (int32_t) (8 * i);
		entry->state_pointer = keys->first.pointer;
		entry->ruby.thread_context = (uint16_t) (8 * at);
		return true;
	}
	return false;
}

/* Searches the values of the thread's keys in each place that they may have. */
static bool
ruby_place_find_key(RemoteMemory *memory, uint64_t thread_pointer, struct pfs_runtime *entry)
{
	for (int is_pointed = 1; is_pointed >= 0; is_pointed--)
	{
		ThreadKeys keys;

		if (beside_thread_read_keys(memory, thread_pointer, is_pointed, &keys) &&
			ruby_place_find_value(memory, thread_pointer, &keys, entry))
			return true;
	}
	return false;
}

bool
ruby_place_find(RemoteMemory *memory, const RubyLayout *layout, uint64_t thread_pointer,
				struct pfs_runtime *entry)
{
	if (!remote_is_object(thread_pointer))
		return false;
	if (layout->has_variable ? !find_variable(memory, thread_pointer, &entry->state_offset)
							 : !ruby_place_find_key(memory, thread_pointer, entry))
		return false;
	entry->is_placed = 1;
	return true;
}
