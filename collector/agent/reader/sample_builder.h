/*
 * sample_builder.h
 *		Turns a record and its walked stack into a sample of the interval.
 */
#ifndef COLLECTOR_SAMPLE_BUILDER_H
#define COLLECTOR_SAMPLE_BUILDER_H

#include "agent/reader/reader_parts.h"

/* The names of a sampled thread and of its process. Names of full length have no NUL. */
typedef struct SampledThread
{
	uint32_t pid;
	bool is_kernel;
	const char *comm;
	const char *process_comm;
} SampledThread;

/*
 * Adds a sample to the interval. The caller must hold the lock, which may be released meanwhile.
 * The sample is counted as lost if process is NULL (out of memory) or the interval is full.
 */
void sample_build(Reader *reader, const Record *record, Process *process, const UserWalk *walk);

/*
 * Resolves the record's stack into the reader's frames, whose files and code are items of the
 * interval: the kernel frames (without the scheduler's for a wait), then the user side. Returns
 * -ENOMEM if the interval is full; -EAGAIN if the interval was taken meanwhile. The caller must
 * hold the lock.
 */
int sample_stack_resolve(Reader *reader, const Record *record, Process *process,
						 const UserWalk *walk, IntervalStack *stack);

/*
 * Returns the time under which a sample of time_ns (CLOCK_MONOTONIC) is stored: the start of its
 * window or, with keep_times, the moment itself. The caller must hold the lock.
 */
int64_t sample_stored_time(const Reader *reader, uint64_t time_ns);

/*
 * Returns the labels of a process, which belong to the process; NULL if the process must not be
 * sampled. The caller must hold the lock.
 */
LabelSet *sample_labels_of(Reader *reader, const SampledThread *thread, Process *process);

#endif
