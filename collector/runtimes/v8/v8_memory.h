/*
 * v8_memory.h
 *		Reads V8's heap in the memory of a process: tagged words, types, strings.
 *
 * The process may change or fake all of this memory. Reads are counted, so that nothing that it
 * links can keep the reader busy.
 */
#ifndef COLLECTOR_V8_MEMORY_H
#define COLLECTOR_V8_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtimes/v8/v8_layout.h"
#include "unwind/remote_memory.h"

typedef struct V8Memory
{
	const V8Layout *layout;
	/* Like remote_memory_gather(). */
	void (*gather)(void *context, RemoteRange *ranges, size_t count, void *bytes);
	void *context;
	uint32_t reads_left;
} V8Memory;

/*
 * Reads ranges together, like remote_memory_gather(). Each counts as a read; if too few reads are
 * left, none is read.
 */
void v8_gather(V8Memory *memory, RemoteRange *ranges, size_t count, void *bytes);

/* Reads bytes. Returns false if they cannot be read, or no read is left. */
bool v8_read(V8Memory *memory, uint64_t address, void *bytes, size_t size_bytes);

/* Returns the address of the object that a tagged word refers to; 0 if it refers to no object. */
uint64_t v8_object_of(uint64_t word);

/* Like v8_object_of(), but the word may be a weak reference. */
uint64_t v8_weak_object_of(uint64_t word);

/* Reads the word at an address. Returns false if it cannot be read. */
bool v8_word(V8Memory *memory, uint64_t address, uint64_t *word);

/*
 * Reads the tagged word at an address and returns the object that it refers to; 0 if there is none.
 */
uint64_t v8_object_at(V8Memory *memory, uint64_t address);

/* Reads the small integer at an address; -1 if there is none. */
int64_t v8_small_at(V8Memory *memory, uint64_t address);

/* Returns the type of an object; UINT16_MAX if it cannot be read. */
uint16_t v8_type_of(V8Memory *memory, uint64_t object);

/* Characters in one piece of memory. */
typedef struct V8Characters
{
	uint64_t address;
	uint32_t length;
	uint8_t width; /* bytes of each: 1 or 2 */
} V8Characters;

/*
 * Finds a string's characters. Returns false if the object is not a string, or is not in one piece.
 */
bool v8_characters_find(V8Memory *memory, uint64_t string, V8Characters *characters);

/*
 * Writes a string as UTF-8, cut to size_bytes - 1. Returns false if the object is not a string, or
 * is unreadable.
 */
bool v8_text(V8Memory *memory, uint64_t string, char *text, size_t size_bytes);

#endif
