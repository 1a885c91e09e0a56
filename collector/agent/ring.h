/*
 * ring.h
 *		The ring thread.
 */
#ifndef COLLECTOR_RING_H
#define COLLECTOR_RING_H

#include "agent/reader_parts.h"

/* The thread's body; the argument is the reader. */
void *reader_ring_run(void *reader);

/*
 * With the lock, which may be given back meanwhile. Reads a process again if its mappings may have
 * changed. Code of files that was mapped since the process was read is looked at as soon as it is
 * sampled. Generated code is not: that of compilers that write and execute in turn may not be
 * executable at this moment. Only if a walk could not go on, it may have been mapped since, or have
 * taken other code's place, and then the process is read again.
 */
void reader_follow_mappings(Reader *reader, const Record *record, Process *process);

#endif
