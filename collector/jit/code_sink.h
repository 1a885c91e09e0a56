/*
 * code_sink.h
 *		The objects to which readers of perf maps and jitdumps add the code that they find.
 */
#ifndef COLLECTOR_CODE_SINK_H
#define COLLECTOR_CODE_SINK_H

#include <stdatomic.h>
#include <stdint.h>

#include "jit/code_map.h"

/* Counters over all files of one kind. The walker thread writes them, any thread may read them. */
typedef struct CodeTally
{
	_Atomic uint64_t files;	 /* files that were found */
	_Atomic uint64_t pieces; /* lines or records that were read */
	_Atomic uint64_t bad;
	_Atomic uint64_t refused;  /* files that are not trusted or have another format */
	_Atomic uint64_t timeouts; /* reads that a file system did not answer in time */
} CodeTally;

/* The objects that a reader adds to; the reader owns none of them. */
typedef struct CodeSink
{
	CodeTable *table;
	CodeMap *map;
	CodeTally *tally;
} CodeSink;

static inline void
code_tally_one(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
