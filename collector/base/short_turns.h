/*
 * short_turns.h
 *		Threads that run as soon as they wake up.
 */
#ifndef COLLECTOR_SHORT_TURNS_H
#define COLLECTOR_SHORT_TURNS_H

#include <stdint.h>

#define SHORT_TURN_NS UINT64_C(100000) /* the kernel's least */

/*
 * Gives the calling thread, and the threads that it will start, short turns on the CPU. From Linux
 * 6.6 on, a thread that wakes up waits for the end of the running thread's turn, which may take
 * milliseconds, whatever the priorities are. From 6.12 on it does not wait if its own turns are
 * shorter. Older kernels have turns of one length for all threads. A thread that was given another
 * scheduling policy keeps it, and its turns.
 */
void short_turns_take(void);

/* Returns the length of the calling thread's turns; 0 if the kernel does not report it. */
uint64_t short_turns_length_ns(void);

#endif
