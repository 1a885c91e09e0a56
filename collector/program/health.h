/*
 * health.h
 *		Is the agent alive, and does it store? A status file that the agent writes, and the sub-
 *		command "health" that judges it.
 *
 * A file, since a probe of a container runs beside the agent, without a network and without a
 * shell. The agent replaces it every few seconds with what it knows about its own threads and its
 * newest stored sample. A status that is old, a thread that has been at one piece of work for long,
 * or samples that are held for long are an agent that is stuck.
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
	int64_t time_ns; /* CLOCK_MONOTONIC, when it was written */
	/* how long each thread has been at the piece of work at hand; 0: it waits */
	int64_t ring_busy_ms;
	int64_t walker_busy_ms;
	int64_t flusher_busy_ms;
	int64_t tender_busy_ms;
	int64_t held_ms;	 /* how long the flusher has had the interval at hand; 0: it has none */
	int64_t interval_ms; /* after which samples are stored */
	int64_t newest_stored_ms; /* age of the newest sample that is stored, or of the run */
	int64_t unstored_ms; /* how long the oldest batch has waited for the database; 0: none waits */
	uint64_t rows_stored;
	uint64_t rows_dropped; /* since the database was away for too long, or refused them */
	uint64_t queued_bytes;
	uint64_t spooled_bytes; /* on disk, waiting for the database */
} Health;

/* key=value lines; the file is replaced as a whole. 0 or -errno. */
int health_write(const char *path, const Health *health);

/* Reads a status file. Returns 0 or -errno; -EINVAL if it is incomplete. */
int health_read(const char *path, Health *health);

typedef struct HealthOptions
{
	const char *status_file; /* NULL: not given */
	int64_t max_silence_ms;
	int64_t max_unstored_ms; /* 0: any time */
	LogOptions log;
} HealthOptions;

#define HEALTH_FLAGS_MAX 8

size_t health_flags(HealthOptions *options, Flag flags[HEALTH_FLAGS_MAX]);

/*
 * EXIT_OK; EXIT_INTERNAL if the agent is stuck; EXIT_DATABASE if samples wait for too long, or new
 * ones are overdue in the database.
 */
ExitCode health_judge(const Health *health, const HealthOptions *options, int64_t now_ns,
					  Failure *failure);

/*
 * Runs the sub-command; logs the reason of a failure. Returns EXIT_IO if there is no status file.
 */
ExitCode health_run(const HealthOptions *options);

#endif
