/*
 * code_sink.h
 *		Where readers of maps and dumps put what they find.
 */
#ifndef COLLECTOR_CODE_SINK_H
#define COLLECTOR_CODE_SINK_H

#include <stdatomic.h>
#include <stdint.h>

#include "jit/code_map.h"

/* Of all files of a kind. Written by the walker thread, read by any. */
typedef struct CodeTally
{
	_Atomic uint64_t files;	 /* that were found */
	_Atomic uint64_t pieces; /* lines or records that were read … */
	_Atomic uint64_t bad;	 /* … those that tell of no code, and those without room */
	_Atomic uint64_t
		refused; /* files that do not count: not the process's own, or not understood */
	_Atomic uint64_t timeouts; /* times that a file system did not answer */
} CodeTally;

/* All of it belongs to others. */
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
