/*
 * code_map.h
 *		The generated code of a process over time, as its runtime reports it.
 *
 * A runtime reports the code that it makes, but not the code that it frees; it reuses memory, and
 * then the later report is right. Reports have no time, but are read at known moments. So for each
 * piece of code two moments are known between which it appeared, and one by which it was gone. A
 * lookup for a moment returns a name only if all code that may have been there at that moment has
 * this name. If the runtime reports times (jitdump), all three moments are exact.
 *
 * A map belongs to one thread.
 */
#ifndef COLLECTOR_CODE_MAP_H
#define COLLECTOR_CODE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "code/code_object.h"

/* Limit of the regions of one process; each takes 40 bytes. Further regions are refused. */
#define CODE_MAP_REGIONS_MAX 262144

/*
 * Limit of replaced regions. A lookup for a moment before the last read examines all regions
 * replaced since that moment.
 */
#define CODE_MAP_GONE_MAX 16384

/* Replaced code is kept for as long as samples may arrive late. */
#define CODE_MAP_KEEP_NS UINT64_C(60000000000)

typedef struct CodeRegion
{
	uint64_t start;
	uint64_t end;
	CodeObject *code;
	/*
	 * Last moment at which the code was known or assumed to be absent; 0: nothing had been read
	 * before.
	 */
	uint64_t unseen_ns;
	uint64_t seen_ns; /* first moment at which the code was known to exist */
} CodeRegion;

typedef struct GoneRegion
{
	CodeRegion region;
	uint64_t gone_ns; /* moment of the read that found the region replaced */
} GoneRegion;

/*
 * Regions do not overlap. The young array is small, so inserting into it is cheap; it is merged
 * into the old array from time to time.
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
	GoneRegion *gone; /* replaced regions, sorted by gone_ns */
	size_t gone_count;
	size_t gone_capacity;
	uint64_t looked_ns; /* moment of the last read; the next field is that of the read before it */
	uint64_t looked_before_ns;
	uint64_t told_ns;	/* all code that the last read found existed by this moment */
	uint64_t reused_ns; /* moment of the last read that found reused memory; 0: no read did */
	/* Replaced code is complete from this moment on; lookups for earlier moments fail. */
	uint64_t forgot_ns;
} CodeMap;

/* Makes an empty map. Its memory is charged to the budget, which must outlive the map. */
void code_map_init(CodeMap *map, Budget *budget);
void code_map_fini(CodeMap *map);

/*
 * Begins a read; code added from here on belongs to it. now_ns is CLOCK_MONOTONIC and must not go
 * back.
 */
void code_map_look(CodeMap *map, uint64_t now_ns);

/*
 * States that the code which this read adds existed at time_ns already. Ignored unless time_ns is
 * between the last read and this one.
 */
void code_map_told_by(CodeMap *map, uint64_t time_ns);

/*
 * States that the runtime reports time_ns as the moment at which the code added from here on
 * appeared. A moment before the last one counts as the last one.
 */
void code_map_at(CodeMap *map, uint64_t time_ns);

/*
 * Adds code in [start, end), replacing the code that it overlaps. The map owns the reference to
 * code afterwards. Returns 0; -ENOMEM, with the reference released, if there is no room.
 */
int code_map_add(CodeMap *map, uint64_t start, uint64_t end, CodeObject *code);

/*
 * Moves the code at an address to [start, end). Returns -ENOENT if no code is at the address;
 * otherwise like code_map_add().
 */
int code_map_move(CodeMap *map, uint64_t address, uint64_t start, uint64_t end);

/*
 * Drops all regions. Call this when the runtime is about to report again the code that still
 * exists.
 */
void code_map_void(CodeMap *map);

/* Returns a reference to the code that was at an address at a moment; NULL if not known. */
CodeObject *code_map_find(const CodeMap *map, uint64_t address, uint64_t time_ns);

#endif
