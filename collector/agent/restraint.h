/*
 * restraint.h
 *		Self-restraint: measures the collector's CPU time and memory once a second, and makes its
 *		parts obey the governor. Main thread.
 */
#ifndef COLLECTOR_RESTRAINT_H
#define COLLECTOR_RESTRAINT_H

#include <stdint.h>

#include "agent/flusher/flusher.h"
#include "agent/governor.h"
#include "agent/reader/reader.h"
#include "kernel/sampler.h"
#include "symbols/symbolizer.h"

typedef struct RestraintStats
{
	int64_t frequency_lowest_hz;
	uint64_t frequency_changes;
	uint64_t shrinks; /* how often the caches were shrunk */
} RestraintStats;

typedef struct RestraintParts
{
	Sampler *sampler;
	Reader *reader;
	Flusher *flusher;
	const Symbolizer *symbolizer;
} RestraintParts;

typedef struct Restraint
{
	Governor governor;
	RestraintParts parts;
	RestraintStats stats;
	int64_t next_ns;
} Restraint;

void restraint_init(Restraint *restraint, const GovernorLimits *limits,
					const RestraintParts *parts);

/* Takes a reading and acts on it, if a second has passed since the last one. */
void restraint_tick(Restraint *restraint, int64_t now_ns);

#endif
