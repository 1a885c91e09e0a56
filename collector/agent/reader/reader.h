/*
 * reader.h
 *		The reader turns records of the ring buffer into samples of the current interval.
 *
 * Its ring thread takes records out of the ring and never waits. Its walker thread finishes the
 * stacks that the kernel could not walk, resolves addresses to files, and sums equal stacks.
 * Symbols and the database belong to the flusher and the writer.
 */
#ifndef COLLECTOR_READER_H
#define COLLECTOR_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/reader/interval.h"
#include "agent/reader/reader_options.h"
#include "kernel/sampler.h"
#include "labels/labeller.h"
#include "process/process.h"
#include "unwind/unwinder.h"

/*
 * For this long after the start the ring is polled and samples are flushed more often, so that
 * users see soon that sampling works.
 */
#define READER_BEGIN_NS UINT64_C(1000000000)

/* All pointers in options must outlive the reader. Returns 0 or -errno. */
int reader_create(const ReaderOptions *options, MappedFileTable *files, Losses *losses,
				  Reader **reader);
void reader_free(Reader *reader); /* accepts NULL; the threads must have been stopped */

/*
 * A RecordHandler whose context is the reader: reads the record's process under /proc at once,
 * while it exists, and queues the record. Ring thread.
 */
void reader_queue_record(void *reader, const void *record, size_t length_bytes);

/*
 * Like reader_queue_record(), but for ongoing waits, which arrive in large numbers: blocks for up
 * to a second while waits fill the queue. Any thread except the reader's two.
 */
void reader_queue_wait(void *reader, const void *record, size_t length_bytes);

/*
 * Adds one record to the interval. Takes long if unwind tables must be made first. Walker thread.
 */
void reader_handle_record(Reader *reader, const void *record, size_t length_bytes);

/* Main thread. While refuse is true, records are dropped and counted, and not queued. */
void reader_refuse(Reader *reader, bool refuse);

/* Main thread. Asks the walker thread to drop unwind tables that are not in use. */
void reader_shrink(Reader *reader);

/*
 * Main thread. While rest is true, because the agent uses more CPU time than --max-cpu allows,
 * fewer unwind tables are made.
 */
void reader_rest(Reader *reader, bool rest);

/* Starts the threads, which poll the sampler. Returns 0 or -errno. */
int reader_start(Reader *reader, Sampler *sampler);

/*
 * Makes walks use these tables, which must outlive the reader. reader_start() calls this function;
 * without a sampler, call it alone. Returns 0 or -ENOMEM.
 */
int reader_use_tables(Reader *reader, KernelTables *tables);

/*
 * Walker thread. Forgets processes that ended and unwind tables that no process has used for
 * keep_ns; the reader's threads call it every 20 s. now_ns is CLOCK_MONOTONIC.
 */
void reader_sweep(Reader *reader, uint64_t now_ns, uint64_t keep_ns);

/*
 * Flusher thread. Returns the samples since the last call, which the caller frees; NULL if out of
 * memory.
 */
Interval *reader_take(Reader *reader);

/*
 * Main thread. Adds the records that are left in ring and queue to the interval, then ends the
 * threads. Call after sampler_stop().
 */
void reader_stop(Reader *reader);

/* Sets the length of the windows over which samples are summed. Any thread. */
void reader_set_window(Reader *reader, int64_t window_us);

/* Main thread. Returns how long each thread has worked on its current task; 0 if it waits. */
void reader_busy_ms(const Reader *reader, int64_t *ring_ms, int64_t *walker_ms);

/*
 * Any thread. reader_learned_labels(): computes labels of processes again because the data that
 * their rules use has changed. reader_use_rule(): replaces the rule (NULL: none); the old rule is
 * not used after the return. After either call, processes that the rule had dropped are tested
 * again.
 */
size_t reader_kernel_bytes(Reader *reader);

/*
 * Any thread. reader_learned_labels(): computes labels of processes again because the data of their
 * rule changed. reader_use_rule(): replaces the rule (NULL: none); the old rule is not called after
 * the return. Both look at dropped processes again.
 */
void reader_learned_labels(Reader *reader);
void reader_use_rule(Reader *reader, LabelRule rule, void *context);

/*
 * Any thread. Sets the names of environment variables whose values the rule of labels gets. Returns
 * 0 or -ENOMEM.
 */
int reader_want_environment(Reader *reader, const char *const *names, size_t count);

/*
 * Main thread, after reader_stop(). reader_dropped() returns the number of records of processes
 * that must not be sampled.
 */
uint64_t reader_dropped(const Reader *reader);
void reader_process_stats(const Reader *reader, ProcessTableStats *stats);
void reader_gpu_stats(const Reader *reader, ReaderGpuStats *stats);
void reader_unwind_stats(const Reader *reader, UnwinderStats *stats);

/*
 * Any thread. Returns a count that increases when kernel code is loaded or unloaded, after which
 * its names may differ.
 */
uint64_t reader_kernel_changes(Reader *reader);

#endif
