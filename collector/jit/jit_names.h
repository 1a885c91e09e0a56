/*
 * jit_names.h
 *		Names of generated code from the perf maps and jitdumps of running processes.
 *
 * A CodeNamer. The walker thread reads files when samples need them, after the sample and before it
 * is named. Content of a map is compared with earlier content (code_map.h); a dump has its own
 * times. Everything belongs to the walker thread except the statistics.
 */
#ifndef COLLECTOR_JIT_NAMES_H
#define COLLECTOR_JIT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "code/code_namer.h"

/* Maximum number of processes whose files are known; the least recently used is dropped. */
#define JIT_PROCESSES_MAX 256

typedef struct JitNames JitNames;

/* Counters for perf maps or jitdumps. */
typedef struct JitFileStats
{
	uint64_t files;	   /* files that were found */
	uint64_t pieces;   /* lines or records that were read … */
	uint64_t bad;	   /* … those that describe no code, and those for which there was no room */
	uint64_t refused;  /* files not trusted, or of another format */
	uint64_t timeouts; /* times that a file system did not answer */
} JitFileStats;

typedef struct JitNamesStats
{
	JitFileStats maps;
	JitFileStats dumps;
	uint64_t unnamed; /* frames of generated code that no file describes */
} JitNamesStats;

/* Makes a namer. Names and regions are limited to limit_bytes each. 0 or -ENOMEM. */
int jit_names_create(size_t limit_bytes, JitNames **names);
void jit_names_free(JitNames *names); /* accepts NULL; all code objects must have been released */

/* Returns the interface for the walker, valid until jit_names_free(). */
CodeNamer jit_names_namer(JitNames *names);

/* Any thread. */
void jit_names_stats(const JitNames *names, JitNamesStats *stats);

#endif
