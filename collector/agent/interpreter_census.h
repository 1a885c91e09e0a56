/*
 * interpreter_census.h
 *		The interpreters of running processes, for "check".
 *
 * No thread's state is searched for: that needs a sample. Files and processes that do not answer
 * are left out after a moment.
 */
#ifndef COLLECTOR_INTERPRETER_CENSUS_H
#define COLLECTOR_INTERPRETER_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtimes/runtime_kind.h"

#define CENSUS_PROCESSES_MAX 4096
#define CENSUS_KINDS_MAX	 16
#define CENSUS_PIDS			 4 /* processes of unknown versions that are listed by pid */

/* Processes with one interpreter. */
typedef struct InterpreterCount
{
	const RuntimeKind *kind;
	uint32_t known;				/* of a version that can be read */
	uint32_t unknown;			/* of others */
	uint32_t pids[CENSUS_PIDS]; /* the first of unknown */
} InterpreterCount;

typedef struct InterpreterCensus
{
	InterpreterCount counts[CENSUS_KINDS_MAX]; /* in the order of runtime_kinds() */
	size_t count;
	bool is_cut; /* there are more processes, or they took too long */
} InterpreterCensus;

int interpreter_census_take(InterpreterCensus *census); /* 0 or -ENOMEM */

#endif
