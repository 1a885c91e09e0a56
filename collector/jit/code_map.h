/*
 * code_map.h
 *		What generated code lay where and when, as a runtime has told it.
 *
 * A runtime tells what it made, not what it gave up: memory is used again, and then the later line
 * is right. Lines have no time, but are seen at moments. So of each piece of code two moments are
 * known, between which it came, and a third by which it had gone: what is of one look may have come
 * and gone at any time since the look before. A question about a moment gets an answer where all
 * that may have been there then has one name, else none. Where the runtime tells times all three
 * are exact.
 *
 * Belongs to one thread.
 */
#ifndef COLLECTOR_CODE_MAP_H
#define COLLECTOR_CODE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "code/code_object.h"

/* Of one process: what says more is not believed. 40 bytes each. */
#define CODE_MAP_REGIONS_MAX 262144

/* That are gone: each answer about a moment before the last look goes over those since. */
#define CODE_MAP_GONE_MAX 16384

/* Code that has gone is remembered for as long as samples may come late. */
#define CODE_MAP_KEEP_NS UINT64_C(60000000000)

typedef struct CodeRegion
{
	uint64_t start;
	uint64_t end;
	CodeObject *code;
	uint64_t unseen_ns; /* it was not there yet, or not looked for; 0: never looked before … */
	uint64_t seen_ns;	/* … and here it was */
} CodeRegion;

typedef struct GoneRegion
{
	CodeRegion region;
	uint64_t gone_ns; /* when that was seen */
} GoneRegion;

/*
 * Regions do not overlap. The young ones are few, so that one more costs little; they become part
 * of the others by and by.
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
	GoneRegion *gone; /* in the order of gone_ns */
	size_t gone_count;
	size_t gone_capacity;
	uint64_t looked_ns; /* the last two looks */
	uint64_t looked_before_ns;
	uint64_t told_ns;	/* what the last look saw was there by then */
	uint64_t reused_ns; /* the last look that found memory used again; 0: none did */
	uint64_t forgot_ns; /* what was gone by then is not all remembered: no answers for before */
} CodeMap;

/* Memory is charged to the budget, which outlives the map. */
void code_map_init(CodeMap *map, Budget *budget);
void code_map_fini(CodeMap *map);

/* A look begins: what is added belongs to it. now_ns is CLOCK_MONOTONIC, and never goes back. */
void code_map_look(CodeMap *map, uint64_t now_ns);

/*
 * What this look goes on to add had been told by that moment already. One that is not between the
 * last look and this one, such as 0, says nothing.
 */
void code_map_told_by(CodeMap *map, uint64_t time_ns);

/*
 * What is added from now on came at that very moment, as the runtime has told. Moments do not go
 * back: an earlier one counts as the last.
 */
void code_map_at(CodeMap *map, uint64_t time_ns);

/*
 * Code lies in [start, end); what it overlaps is gone. Takes code over. -ENOMEM, and code is given
 * back, where there is no room.
 */
int code_map_add(CodeMap *map, uint64_t start, uint64_t end, CodeObject *code);

/* What lies at an address now has been moved there; as code_map_add, and -ENOENT. */
int code_map_move(CodeMap *map, uint64_t address, uint64_t start, uint64_t end);

/* All that was told is void: what is still there will be told again. */
void code_map_void(CodeMap *map);

/* What lay at an address at a moment, held for the caller; NULL: not known. */
CodeObject *code_map_find(const CodeMap *map, uint64_t address, uint64_t time_ns);

#endif
