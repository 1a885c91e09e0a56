/*
 * run_store.h
 *		Runs of a benchmark in the database: writes those of this job, reads them and earlier ones.
 */
#ifndef COLLECTOR_RUN_STORE_H
#define COLLECTOR_RUN_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "batch/batch.h"
#include "database/connection.h"
#include "program/failure.h"

typedef struct StoredRun
{
	int64_t time_us; /* since 1970 */
	const char *job;
	bool is_base;
	bool has_failed;  /* its job failed, so it is no baseline */
	bool is_accepted; /* its job is the first of a new baseline */
	double cpu_ns;
	double wall_ns;
	double sampled_ns; /* sum of its samples */
} StoredRun;

/* Runs in the order of their times, and the own CPU time of each function in each run. */
typedef struct RunTable
{
	Budget budget;
	Arena arena; /* texts */
	StoredRun *runs;
	size_t run_count;
	size_t run_capacity;
	Table functions; /* table of const char *: plain names */
	double *selves;	 /* self value of function f in run r at [f * run_count + r] */
} RunTable;

void run_table_init(RunTable *table);
void run_table_fini(RunTable *table);

/* Appends a run. Returns 0 or -ENOMEM. */
int run_table_add(RunTable *table, const StoredRun *run);

/*
 * Checks that history is an interval in PostgreSQL's syntax. Returns EXIT_OK; otherwise
 * EXIT_CONFIG, or the error of the connection, with *failure set.
 */
ExitCode run_history_check(const char *conninfo, const char *history, Failure *failure);

/*
 * Stores the batch, which belongs to the function, and waits until it is stored. Returns EXIT_OK;
 * otherwise the writer's error with *failure set.
 */
ExitCode run_store(const char *conninfo, Batch *batch, Failure *failure);

/* Lists of matchers, such as ci_job="17", that pick series. */
typedef struct RunPick
{
	const char *own;	 /* matchers of the series of which all runs are read */
	const char *earlier; /* matchers of those of which only newer runs are read; NULL: none */
} RunPick;

/*
 * Reads the runs, without their functions: earlier ones that are not older than an interval in
 * PostgreSQL's syntax. Returns EXIT_OK; otherwise an error with *failure set.
 */
ExitCode run_table_read(RunTable *table, Connection *connection, const RunPick *pick,
						const char *history, Failure *failure);

/* Removes the runs before a time from a table without functions. */
void run_table_forget(RunTable *table, int64_t oldest_us);

/*
 * Reads the functions of the runs in the table. The pick must be that of the runs. Returns EXIT_OK;
 * otherwise an error with *failure set.
 */
ExitCode run_table_read_functions(RunTable *table, Connection *connection, const RunPick *pick,
								  Failure *failure);

/*
 * Appends name="value" with escapes, after a comma if the buffer has matchers already. operator is
 * = or !=.
 */
void run_matcher_put(Buffer *matchers, const char *name, const char *operator, const char * value);

#endif
