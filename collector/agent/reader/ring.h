/*
 * ring.h
 *		The ring thread.
 */
#ifndef COLLECTOR_RING_H
#define COLLECTOR_RING_H

#include "agent/reader/reader_parts.h"

/* The thread's body; the argument is the reader. */
void *reader_ring_run(void *reader);

/*
 * Reads a process again if its mappings may have changed. With the lock, which may be released
 * meanwhile. Code of files that was mapped since the process was read causes a new reading as soon
 * as it is sampled. Generated code does not, because compilers that write and execute in turn may
 * have made it non-executable at this moment. It causes a new reading only if a walk could not
 * continue, since it may have been mapped, or have replaced other code, meanwhile.
 */
void reader_follow_mappings(Reader *reader, const Record *record, Process *process);

#endif
