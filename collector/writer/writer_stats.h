/*
 * writer_stats.h
 *		Counters of a writer's work, and of its contents.
 */
#ifndef COLLECTOR_WRITER_STATS_H
#define COLLECTOR_WRITER_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writer/retry.h"

typedef struct WriterStats
{
	uint64_t batches_written; /* batches, or pieces of refused ones */
	uint64_t samples_written; /* rows */
	uint64_t transactions;	  /* transactions that stored batches */
	uint64_t batches_dropped; /* because of the queue's limit, or left at the end */
	uint64_t samples_dropped;
	/* refused by the server: the batch or the database is at fault */
	uint64_t batches_refused;
	uint64_t samples_refused;
	uint64_t batches_repeated; /* of batches_written: stored before with the same receipt */
	uint64_t retries;
	RetryState state;
	uint64_t away_count; /* number of times that the database went away or denied access */
	uint64_t denied_count;
	size_t queued_bytes; /* in memory */
	/* of the spool; 0 without one */
	uint64_t spooled_batches; /* batches in the spool at present */
	uint64_t spooled_bytes;	  /* size of all its files */
	uint64_t spool_limit_bytes;
	uint64_t batches_spooled; /* batches that were put there */
	uint64_t spool_failures;  /* batches that could not be put there */
	bool spool_is_nearly_full;
	int64_t newest_sample_us; /* newest stored sample, microseconds since 1970 UTC; 0 if none */
	/* time of the oldest queued batch, CLOCK_MONOTONIC; 0 if none waits */
	int64_t waiting_since_ns;
} WriterStats;

#endif
