/*
 * health.h
 *		The status file that the agent writes, and the sub-command "health", which decides by this
 *		file whether the agent works.
 *
 * A file is used because a container's probe runs beside the agent, without a network and without a
 * shell. The agent replaces the file every few seconds, with the state of its threads and the age
 * of its newest stored sample. An agent counts as stuck if its status is old, or a thread has been
 * busy with one task for too long, or samples are held for too long.
 */
#ifndef COLLECTOR_HEALTH_H
#define COLLECTOR_HEALTH_H

#include <stddef.h>
#include <stdint.h>

#include "program/common_flags.h"
#include "program/exit_code.h"

#define HEALTH_WRITE_NS INT64_C(5000000000)

typedef struct Health
{
	int64_t time_ns; /* CLOCK_MONOTONIC when the status was taken */
	/* How long each thread has been busy with its current task; 0: the thread waits. */
	int64_t ring_busy_ms;
	int64_t walker_busy_ms;
	int64_t flusher_busy_ms;
	int64_t tender_busy_ms;
	int64_t held_ms;	 /* how long the flusher has held its current interval; 0: it has none */
	int64_t interval_ms; /* length of the intervals after which samples are stored */
	/* age of the newest stored sample; if no sample is stored yet, time since the start */
	int64_t newest_stored_ms;
	/* how long the oldest batch has waited for the database; 0: no batch waits */
	int64_t unstored_ms;
	uint64_t rows_stored;
	/* rows that were dropped because the database was not available for too long or refused them */
	uint64_t rows_dropped;
	uint64_t queued_bytes;
	uint64_t spooled_bytes; /* size of the batches on disk that wait for the database */
} Health;

/* Replaces the status file as a whole; its lines are key=value. Returns 0 or -errno. */
int health_write(const char *path, const Health *health);

/* Reads a status file. Returns 0 or -errno; -EINVAL if it is incomplete. */
int health_read(const char *path, Health *health);

typedef struct HealthOptions
{
	const char *status_file; /* NULL: no file was given */
	int64_t max_silence_ms;
	int64_t max_unstored_ms; /* 0: samples may wait for any time */
	LogOptions log;
} HealthOptions;

#define HEALTH_FLAGS_MAX 8

size_t health_flags(HealthOptions *options, Flag flags[HEALTH_FLAGS_MAX]);

/*
 * Returns EXIT_OK; EXIT_INTERNAL if the agent is stuck; EXIT_DATABASE if samples have waited for
 * too long, or the database has received no new ones for too long.
 */
ExitCode health_judge(const Health *health, const HealthOptions *options, int64_t now_ns,
					  Failure *failure);

/*
 * Runs the sub-command "health" and logs the reason of a failure. Returns EXIT_IO if there is no
 * status file.
 */
ExitCode health_run(const HealthOptions *options);

#endif
