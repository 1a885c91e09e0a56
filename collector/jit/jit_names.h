/*
 * jit_names.h
 *		Names of generated code, out of the perf maps and jitdumps of the processes that run it.
 *
 * A CodeNamer. Files are read as samples ask for them, by the walker thread, between the sample and
 * its naming: what a map says then is held against what it said before (code_map.h), what a dump
 * says against its own times. All is the
 * walker thread's, but for the statistics.
 */
#ifndef COLLECTOR_JIT_NAMES_H
#define COLLECTOR_JIT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "code/code_namer.h"

/* Processes whose files are known; the one that was not asked about for longest goes. */
#define JIT_PROCESSES_MAX 256

typedef struct JitNames JitNames;

/* Of perf maps, or of jitdumps. */
typedef struct JitFileStats
{
	uint64_t files;	   /* that were found */
	uint64_t pieces;   /* lines, or records, that were read … */
	uint64_t bad;	   /* … those that tell of no code, and those without room */
	uint64_t refused;  /* files that do not count: not the process's own, or not understood */
	uint64_t timeouts; /* times that a file system did not answer */
} JitFileStats;

typedef struct JitNamesStats
{
	JitFileStats maps;
	JitFileStats dumps;
	uint64_t unnamed; /* frames of generated code that no file tells of */
} JitNamesStats;

/* Names and regions take limit_bytes each at most. 0 or -ENOMEM. */
int jit_names_create(size_t limit_bytes, JitNames **names);
void jit_names_free(JitNames *names); /* accepts NULL; no object may be held any more */

/* Valid as long as the names are. */
CodeNamer jit_names_namer(JitNames *names);

/* Any thread. */
void jit_names_stats(const JitNames *names, JitNamesStats *stats);

#endif
