/*
 * code_map.h
 *		The generated code of a process over time, as its runtime reports it.
 *
 * A runtime reports code that it makes, not code that it frees; it reuses memory, and then the
 * later line is right. Lines carry no time, but are read at known moments. So for each piece of
 * code we know two moments between which it appeared, and one by which it had gone. A lookup for a
 * moment returns a name only if all code that may have been there at that moment has one name. If
 * the runtime reports times (jitdump), all three moments are exact.
 *
 * Belongs to one thread.
 */
#ifndef COLLECTOR_CODE_MAP_H
#define COLLECTOR_CODE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "code/code_object.h"

/* Limit for one process, of 40 bytes each; further regions are refused. */
#define CODE_MAP_REGIONS_MAX 262144

/*
 * Limit of replaced regions. A lookup for a moment before the last read scans those replaced since.
 */
#define CODE_MAP_GONE_MAX 16384

/* Replaced code is kept as long as samples may arrive late. */
#define CODE_MAP_KEEP_NS UINT64_C(60000000000)

typedef struct CodeRegion
{
	uint64_t start;
	uint64_t end;
	CodeObject *code;
	/* last moment at which it was known or assumed to be absent; 0: never read before … */
	uint64_t unseen_ns;
	uint64_t seen_ns; /* … and first moment at which it was there */
} CodeRegion;

typedef struct GoneRegion
{
	CodeRegion region;
	uint64_t gone_ns; /* moment of the read that found it replaced */
} GoneRegion;

/*
 * Regions do not overlap. The young array is small, so that inserting into it is cheap; it is
 * merged into the old one from time to time.
 */
typedef struct CodeMap
{
	Budget *budget;
	CodeRegion *old;
	size_t old_count;
	size_t old_capacity;
	CodeRegion *young;
	size_t young_count;
	size_t young_capacity;
	GoneRegion *gone; /* ordered by gone_ns */
	size_t gone_count;
	size_t gone_capacity;
	uint64_t looked_ns; /* moments of the last two reads */
	uint64_t looked_before_ns;
	uint64_t told_ns;	/* everything that the last read found existed by this moment */
	uint64_t reused_ns; /* moment of the last read that found memory reused; 0 if none did */
	/* replaced code from before this moment is not complete, so lookups before it fail */
	uint64_t forgot_ns;
} CodeMap;

/* Memory is charged to the budget, which must outlive the map. */
void code_map_init(CodeMap *map, Budget *budget);
void code_map_fini(CodeMap *map);

/*
 * Begins a read; code added from here on belongs to it. now_ns is CLOCK_MONOTONIC and must not go
 * back.
 */
void code_map_look(CodeMap *map, uint64_t now_ns);

/*
 * States that the code which this read adds existed at time_ns already. Ignored unless time_ns lies
 * between the last read and this one.
 */
void code_map_told_by(CodeMap *map, uint64_t time_ns);

/*
 * States that code added from here on appeared exactly at time_ns, as the runtime reports. A moment
 * before the last one counts as the last one.
 */
void code_map_at(CodeMap *map, uint64_t time_ns);

/*
 * Adds code in [start, end), replacing the code that it overlaps. Takes over the reference to code.
 * -ENOMEM, with the reference released, if there is no room.
 */
int code_map_add(CodeMap *map, uint64_t start, uint64_t end, CodeObject *code);

/*
 * Moves the code at an address to [start, end). Returns like code_map_add(); -ENOENT if there is
 * none.
 */
int code_map_move(CodeMap *map, uint64_t address, uint64_t start, uint64_t end);

/* Drops all regions, because the runtime is going to report again those that still exist. */
void code_map_void(CodeMap *map);

/* Returns a reference to the code at an address at a moment; NULL if not known. */
CodeObject *code_map_find(const CodeMap *map, uint64_t address, uint64_t time_ns);

#endif
