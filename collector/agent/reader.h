/*
 * reader.h
 *		The reader: ring buffer records become samples of the current interval.
 *
 * Its ring thread takes records out of the ring, and waits for nobody. Its walker thread finishes
 * the stacks that the kernel could not walk, resolves addresses to files, and sums equal stacks;
 * symbols and database are others' business.
 */
#ifndef COLLECTOR_READER_H
#define COLLECTOR_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/interval.h"
#include "agent/reader_options.h"
#include "kernel/sampler.h"
#include "labels/labeller.h"
#include "process/process.h"
#include "unwind/unwinder.h"

/* After the start the ring is polled, and samples are flushed, more often for this long at most. */
#define READER_BEGIN_NS UINT64_C(1000000000)

/* Pointers must outlive the reader. */
int reader_create(const ReaderOptions *options, MappedFileTable *files, Losses *losses,
				  Reader **reader);
void reader_free(Reader *reader); /* accepts NULL; the thread must have been stopped */

/*
 * A RecordHandler whose context is the reader: looks the record's process up under /proc at
 * once, while it lives, and queues the record. Ring thread.
 */
void reader_queue_record(void *reader, const void *record, size_t length_bytes);

/*
 * Like reader_queue_record(), for waits that go on, which come many at a time: first waits until
 * some of the queue has been handled, for a second at most. Any thread but the reader's own.
 */
void reader_queue_wait(void *reader, const void *record, size_t length_bytes);

/*
 * Adds one record to the interval. May take long, where unwind tables are made for it. Walker
 * thread.
 */
void reader_handle_record(Reader *reader, const void *record, size_t length_bytes);

/* Main thread. While refuse is true records are dropped, and counted, instead of queued. */
void reader_refuse(Reader *reader, bool refuse);

/* Main thread. Asks the walker thread to drop what it can do without: unwind tables not in use. */
void reader_shrink(Reader *reader);

/* Main thread. While rest is true the agent takes more CPU time than it may. */
void reader_rest(Reader *reader, bool rest);

/* Starts the threads, which poll the sampler. */
int reader_start(Reader *reader, Sampler *sampler);

/*
 * The parts of it that need no sampler: walks by these tables, which outlive the reader. 0 or
 * -ENOMEM.
 */
int reader_use_tables(Reader *reader, KernelTables *tables);

/*
 * Walker thread. Forgets processes that ended, and unwind tables that no process has used for
 * keep_ns; the reader's threads do so every 20 s. now_ns is CLOCK_MONOTONIC.
 */
void reader_sweep(Reader *reader, uint64_t now_ns, uint64_t keep_ns);

/*
 * Flusher thread. What was sampled since the last call; NULL without memory. The caller frees it.
 */
Interval *reader_take(Reader *reader);

/* Main thread. Call after sampler_stop: empties ring and queue, then ends the threads. */
void reader_stop(Reader *reader);

/* Samples are summed per window of this length from now on. Any thread. */
void reader_set_window(Reader *reader, int64_t window_us);

/* Main thread. How long each thread has been at its piece of work, 0: it waits. */
void reader_busy_ms(const Reader *reader, int64_t *ring_ms, int64_t *walker_ms);

/* Any thread. Of the kernel's memory, for the side-band's buffers. */
size_t reader_kernel_bytes(Reader *reader);

/*
 * Any thread. Labels are to be issued anew: their rule knows more, or there is another one (NULL:
 * none). Processes that were dropped are looked at again. The old rule is not called any more.
 */
void reader_learned_labels(Reader *reader);
void reader_use_rule(Reader *reader, LabelRule rule, void *context);

/* Any thread. Variables of processes that their labels' rule is told of. 0 or -ENOMEM. */
int reader_want_environment(Reader *reader, const char *const *names, size_t count);

/* Main thread. After reader_stop. dropped: records of processes that are not to be sampled. */
uint64_t reader_dropped(const Reader *reader);
void reader_process_stats(const Reader *reader, ProcessTableStats *stats);
void reader_unwind_stats(const Reader *reader, UnwinderStats *stats);

/* Any thread. Counts when code of the kernel came or went, so that its names may be others. */
uint64_t reader_kernel_changes(Reader *reader);

#endif
