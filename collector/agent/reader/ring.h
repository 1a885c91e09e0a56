/*
 * ring.h
 *		The ring thread.
 */
#ifndef COLLECTOR_RING_H
#define COLLECTOR_RING_H

#include "agent/reader/reader_parts.h"

/* Runs the ring thread; the argument is the reader. */
void *reader_ring_run(void *reader);

/*
 * Reads a process's mappings again if they may have changed. The caller must hold the lock, which
 * may be released meanwhile. A file's code that was mapped since the last reading causes a new
 * reading as soon as it is sampled. Generated code does not, because a compiler that alternates
 * between writing and executing may have made it non-executable at this moment; it causes a new
 * reading only if a walk could not continue in it, since it may have been mapped, or have replaced
 * other code, in the meantime.
 */
void reader_follow_mappings(Reader *reader, const Record *record, Process *process);

#endif
