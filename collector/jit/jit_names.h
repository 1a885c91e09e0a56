/*
 * jit_names.h
 *		Names generated code by the perf maps and jitdumps of running processes.
 *
 * Implements CodeNamer. The walker thread reads files when samples need them: after the sample was
 * taken, before it is named. Content of a map is compared with earlier content (code_map.h); a dump
 * has times of its own. All data belongs to the walker thread, except the statistics.
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
	uint64_t pieces;   /* lines or records that were read */
	uint64_t bad;	   /* lines or records that describe no code, or for which there was no room */
	uint64_t refused;  /* files that are not trusted or have another format */
	uint64_t timeouts; /* reads that a file system did not answer in time */
} JitFileStats;

typedef struct JitNamesStats
{
	JitFileStats maps;
	JitFileStats dumps;
	uint64_t unnamed; /* frames of generated code that no file describes */
} JitNamesStats;

/* Makes a namer. Names are limited to limit_bytes, and so are regions. Returns 0 or -ENOMEM. */
int jit_names_create(size_t limit_bytes, JitNames **names);
/* Frees the object; NULL is accepted. All code objects must have been released before. */
void jit_names_free(JitNames *names);

/* Returns the interface for the walker, valid until jit_names_free(). */
CodeNamer jit_names_namer(JitNames *names);

/* Copies the statistics. Any thread. */
void jit_names_stats(const JitNames *names, JitNamesStats *stats);

#endif
