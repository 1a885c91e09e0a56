/*
 * reader.h
 *		The reader thread: ring buffer records become samples of the current interval.
 *
 * It is the only thread that reads the ring and the process table. It waits for nobody: not for
 * symbols, not for the database; the only lock that it shares is held by others for as long as it
 * takes to swap two pointers.
 */
#ifndef COLLECTOR_READER_H
#define COLLECTOR_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/image.h"
#include "agent/interval.h"
#include "agent/losses.h"
#include "agent/process.h"
#include "agent/sampler.h"

typedef struct Reader Reader;

typedef struct ReaderOptions
{
	const char *node;	   /* label */
	bool label_pid;		   /* adds the label pid */
	bool label_thread;	   /* adds the label thread_name */
	int64_t window_us;	   /* samples are summed per window; windows are aligned to the epoch … */
	int64_t start_us;	   /* … but the first begins here, when sampling does */
	size_t interval_bytes; /* budget of the samples between two flushes */
	size_t process_limit;
} ReaderOptions;

/* Pointers must outlive the reader. */
int reader_create(const ReaderOptions *options, ImageTable *images, Losses *losses,
				  Reader **reader);
void reader_free(Reader *reader); /* accepts NULL; the thread must have been stopped */

/*
 * One record of the ring: SamplerHandlers whose context is the reader. Reader thread. Handling a
 * record may take long, where unwind tables are made for it; processes that are sampled meanwhile
 * must not be gone after it. So a record is queued first, and its process looked up under /proc at
 * once.
 */
void reader_queue_record(void *reader, const void *record, size_t length_bytes);
void reader_handle_record(void *reader, const void *record, size_t length_bytes);

/* Starts the thread, which polls the sampler. */
int reader_start(Reader *reader, Sampler *sampler);

/*
 * Flusher thread. What was sampled since the last call; NULL without memory. The caller frees it.
 */
Interval *reader_take(Reader *reader);

/* Main thread. Call after sampler_stop: empties the ring, then ends the thread. */
void reader_stop(Reader *reader);

/* Main thread. */
void reader_process_stats(Reader *reader, ProcessTableStats *stats);

#endif
