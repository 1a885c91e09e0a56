/*
 * code_sink.h
 *		Destination of the code that readers of maps and dumps find.
 */
#ifndef COLLECTOR_CODE_SINK_H
#define COLLECTOR_CODE_SINK_H

#include <stdatomic.h>
#include <stdint.h>

#include "jit/code_map.h"

/* Counters over all files of a kind. Written by the walker thread, read by any thread. */
typedef struct CodeTally
{
	_Atomic uint64_t files;	 /* files that were found */
	_Atomic uint64_t pieces; /* lines or records that were read … */
	_Atomic uint64_t bad;
	_Atomic uint64_t refused;  /* files not trusted, or of another format */
	_Atomic uint64_t timeouts; /* times that a file system did not answer */
} CodeTally;

/* References; nothing is owned. */
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
