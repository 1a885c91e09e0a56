/*
 * flame_levels.h
 *		A flame graph in Pyroscope's form: names, and levels of nodes from left to right.
 *
 * A node has four numbers: the distance from the end of its left neighbour, its value, its own
 * value, and the index of its name. A node of a difference has the first three once for each side.
 */
#ifndef COLLECTOR_SERVE_FLAME_LEVELS_H
#define COLLECTOR_SERVE_FLAME_LEVELS_H

#include "base/table.h"
#include "database/result.h"
#include "database/wire.h"
#include "otlp/message.h"

typedef struct FlameLevel FlameLevel;

typedef struct FlameLevels
{
	Budget budget;
	bool is_diff;
	Table names; /* table of FlameName; point into the result */
	FlameLevel *levels;
	size_t level_count;
	size_t level_capacity;
	int64_t total;
	int64_t max_self;
	/* difference: the total of the left side; the next field is that of the right side */
	int64_t left_ticks;
	int64_t right_ticks;
} FlameLevels;

/* Selects stacks that begin with these functions, root first; an empty path selects all stacks. */
typedef struct FlamePath
{
	const Span *names;
	size_t count;
} FlamePath;

/*
 * Reads the rows of query_flamegraph() or query_flamegraph_diff(); the result must outlive the
 * levels. Memory is charged to share. Returns false if out of memory. Call flame_levels_fini() in
 * either case. If there are no rows, or no stacks on the path, there are no levels.
 */
bool flame_levels_read(FlameLevels *levels, const Result *result, bool is_diff,
					   const FlamePath *path, MemoryShare *share);
void flame_levels_fini(FlameLevels *levels);

/* Appends the fields of FlameGraph or FlameGraphDiff. */
void flame_levels_put_message(const FlameLevels *levels, Buffer *out);

/* Appends the JSON of Pyroscope's flamebearer: names, levels, numTicks, maxSelf. */
void flame_levels_put_json(const FlameLevels *levels, Buffer *out);

#endif
