/*
 * sample_builder.h
 *		Turns a record and its walked stack into a sample of the interval.
 */
#ifndef COLLECTOR_SAMPLE_BUILDER_H
#define COLLECTOR_SAMPLE_BUILDER_H

#include "agent/reader/reader_parts.h"

/* The names of a sampled thread and of its process, not always with a NUL. */
typedef struct SampledThread
{
	uint32_t pid;
	bool is_kernel;
	const char *comm;
	const char *process_comm;
} SampledThread;

/*
 * Adds a sample to the interval. With the lock, which may be released meanwhile. The sample is
 * counted as lost if process is NULL (out of memory) or the interval is full.
 */
void sample_build(Reader *reader, const Record *record, Process *process, const UserWalk *walk);

/*
 * Returns the stored time of a moment of CLOCK_MONOTONIC: the start of its window, or the moment
 * itself. With the lock.
 */
int64_t sample_stored_time(const Reader *reader, uint64_t time_ns);

/*
 * Returns the labels of a process, or NULL if the process must not be sampled. They belong to the
 * process. With the lock.
 */
LabelSet *sample_labels_of(Reader *reader, const SampledThread *thread, Process *process);

#endif
