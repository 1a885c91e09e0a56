/*
 * writer_stats.h
 *		Counters of a writer's work, and its present contents.
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
	uint64_t batches_dropped; /* dropped because of the queue's limit, or left at the end */
	uint64_t samples_dropped;
	/* Refused by the server, because of the batch or of the database. */
	uint64_t batches_refused;
	uint64_t samples_refused;
	/* written batches that had been stored before with an equal receipt */
	uint64_t batches_repeated;
	uint64_t retries;
	RetryState state;
	uint64_t away_count; /* how often the database went away or denied access */
	uint64_t denied_count;
	size_t queued_bytes; /* size of the queue in memory */
	/* The fields up to spool_failures are about the spool; 0: there is no spool. */
	uint64_t spooled_batches; /* batches in the spool at present */
	uint64_t spooled_bytes;	  /* size of all its files */
	uint64_t spool_limit_bytes;
	uint64_t batches_spooled; /* batches that were written to the spool */
	uint64_t spool_failures;  /* batches that could not be written to the spool, or removed */
	bool spool_is_nearly_full;
	/* time of the newest stored sample, microseconds since 1970 UTC; 0: there is none */
	int64_t newest_sample_us;
	/* CLOCK_MONOTONIC of the oldest queued batch; 0: none waits. */
	int64_t waiting_since_ns;
} WriterStats;

#endif
