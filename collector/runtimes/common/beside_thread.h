/*
 * beside_thread.h
 *		Memory beside the thread pointer, in which a runtime's own variable of a thread is searched
 *		for: values of keys (pthread_setspecific()) in glibc's record, and thread-local variables.
 */
#ifndef COLLECTOR_BESIDE_THREAD_H
#define COLLECTOR_BESIDE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/remote_memory.h"

#define BESIDE_VARIABLES_BYTES 0x1000

#ifdef __aarch64__
#define BESIDE_KEYS_FROM	  (-0x700) /* in the record below the thread pointer */
#define BESIDE_KEYS_BYTES	  0x600
#define BESIDE_VARIABLES_FROM 0
#define BESIDE_SELF_DISTANCE  0x1000 /* the thread's own number is this far below its pointer */
#else
#define BESIDE_KEYS_FROM	  0x310 /* 32 pairs (sequence number, value) */
#define BESIDE_KEYS_BYTES	  0x200
#define BESIDE_VARIABLES_FROM (-BESIDE_VARIABLES_BYTES)
#define BESIDE_SELF_DISTANCE  1 /* the thread's own number is its pointer */
#endif

/*
 * Reads at most BESIDE_VARIABLES_BYTES of words. Words that are not mapped become 0. Returns false
 * if none is readable.
 */
bool beside_thread_read(RemoteMemory *memory, uint64_t address, size_t count, uint64_t *words);

#endif
