/*
 * interpreter_census.h
 *		Counts the interpreters of running processes, for "check".
 *
 * Thread states are not searched for, because that needs a sample. Files and processes that do not
 * answer in time are left out.
 */
#ifndef COLLECTOR_INTERPRETER_CENSUS_H
#define COLLECTOR_INTERPRETER_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtimes/runtime_kind.h"

#define CENSUS_PROCESSES_MAX 4096
#define CENSUS_KINDS_MAX	 16
#define CENSUS_PIDS			 4 /* limit of the listed pids of processes with an unknown version */

/* The processes that run one interpreter. */
typedef struct InterpreterCount
{
	const RuntimeKind *kind;
	uint32_t known;				/* processes whose version can be read */
	uint32_t unknown;			/* processes of other versions */
	uint32_t pids[CENSUS_PIDS]; /* pids of the first processes counted in unknown */
} InterpreterCount;

typedef struct InterpreterCensus
{
	InterpreterCount counts[CENSUS_KINDS_MAX]; /* in the order of runtime_kinds() */
	size_t count;
	/* the counts are incomplete: there are more processes, or reading them took too long */
	bool is_cut;
} InterpreterCensus;

/* Returns 0; -ENOMEM, or -errno if the processes cannot be listed. */
int interpreter_census_take(InterpreterCensus *census);

#endif
