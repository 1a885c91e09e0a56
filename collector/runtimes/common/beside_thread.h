/*
 * beside_thread.h
 *		Memory beside the thread pointer, in which a runtime's own variable of a thread is searched
 *		for: values of keys (pthread_setspecific()), and thread-local variables.
 *
 * glibc has the values of keys in its record beside the thread pointer. musl has them in an array,
 * to which a word of its record points.
 */
#ifndef COLLECTOR_BESIDE_THREAD_H
#define COLLECTOR_BESIDE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/remote_memory.h"

#define BESIDE_VARIABLES_BYTES 0x1000
#define BESIDE_POINTED_BYTES   0x400 /* values of 128 keys in musl's array */

#ifdef __aarch64__
#define BESIDE_KEYS_FROM	  (-0x700) /* in the record below the thread pointer */
#define BESIDE_KEYS_BYTES	  0x600
#define BESIDE_POINTER		  (-11) /* distance in words of the pointer to musl's array */
#define BESIDE_VARIABLES_FROM 0
#define BESIDE_SELF_DISTANCE  0x1000 /* the thread's own number is this far below its pointer */
#else
#define BESIDE_KEYS_FROM	  0x310 /* 32 pairs (sequence number, value) */
#define BESIDE_KEYS_BYTES	  0x200
#define BESIDE_POINTER		  16 /* distance in words of the pointer to musl's array */
#define BESIDE_VARIABLES_FROM (-BESIDE_VARIABLES_BYTES)
#define BESIDE_SELF_DISTANCE  1 /* the thread's own number is its pointer */
#endif

#define BESIDE_KEYS_MAX (0x600 / 8) /* words of the larger of the two forms, of any machine */

/*
 * The place of a thread's word: its distance from the thread pointer or, if pointer is not 0, from
 * the address in the word that is `pointer` words from the thread pointer.
 */
typedef struct ThreadPlace
{
	int32_t offset;
	int8_t pointer;
} ThreadPlace;

/* Words among which the values of a thread's keys are. */
typedef struct ThreadKeys
{
	uint64_t words[BESIDE_KEYS_MAX];
	size_t count;
	ThreadPlace first; /* place of the first word */
} ThreadKeys;

/*
 * Reads at most BESIDE_VARIABLES_BYTES of words. Words that are not mapped become 0. Returns false
 * if none is readable.
 */
bool beside_thread_read(RemoteMemory *memory, uint64_t address, size_t count, uint64_t *words);

/*
 * Reads the words of the array that the record may point to, or of the record. Callers look into
 * the array first: beside musl's smaller record, other memory is read, which may contain a copy of
 * a word. Returns false if there is no such memory.
 */
bool beside_thread_read_keys(RemoteMemory *memory, uint64_t thread_pointer, bool is_pointed,
							 ThreadKeys *keys);

/* Reads the word at a place. Returns false if it cannot be read. */
bool beside_thread_read_word(RemoteMemory *memory, uint64_t thread_pointer,
							 const ThreadPlace *place, uint64_t *word);

#endif
