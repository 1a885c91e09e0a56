/*
 * health.c
 *		Writes the status file, and judges the agent by it.
 */
#include "program/health.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define SILENCE_MS_DEFAULT 180000
#define TIME_MS_MAX		   INT64_C(86400000)
#define STATUS_BYTES	   1024

/* X(key, member of Health) */
#define HEALTH_MEMBERS(X)                   \
	X("time_ns", time_ns)                   \
	X("ring_busy_ms", ring_busy_ms)         \
	X("walker_busy_ms", walker_busy_ms)     \
	X("flusher_busy_ms", flusher_busy_ms)   \
	X("tender_busy_ms", tender_busy_ms)     \
	X("held_ms", held_ms)                   \
	X("interval_ms", interval_ms)           \
	X("newest_stored_ms", newest_stored_ms) \
	X("unstored_ms", unstored_ms)           \
	X("rows_stored", rows_stored)           \
	X("rows_dropped", rows_dropped)         \
	X("queued_bytes", queued_bytes)         \
	X("spooled_bytes", spooled_bytes)

int
health_write(const char *path, const Health *health)
{
	char temporary[4096];
	FILE *file;
	int error = 0;

	if (snprintf(temporary, sizeof(temporary), "%s.new", path) >= (int) sizeof(temporary))
		return -ENAMETOOLONG;
	/*
	 * other users may be able to write into the directory, so an existing file (a symbolic link,
	 * for example) is removed, never opened
	 */
	(void) unlink(temporary);
	file = fopen(temporary, "wxe");
	if (file == NULL)
		return -errno;
	/* the agent's unit has a umask of 077, but monitoring programs run as other users */
	if (fchmod(fileno(file), 0644) != 0)
		error = errno;
#define WRITE_MEMBER(key, member) fprintf(file, key "=%" PRIu64 "\n", (uint64_t) health->member);
	HEALTH_MEMBERS(WRITE_MEMBER)
#undef WRITE_MEMBER
	if (ferror(file) != 0 && error == 0)
		error = EIO;
	if (fclose(file) != 0 && error == 0)
		error = errno;
	if (error == 0 && rename(temporary, path) != 0)
		error = errno;
	if (error != 0)
		unlink(temporary);
	return -error;
}

/* Finds the number after a key at the start of a line; returns false if there is none. */
static bool
find_number(const char *text, const char *key, uint64_t *number)
{
	size_t length = strlen(key);

	for (const char *line = text; line != NULL && *line != '\0';)
	{
		const char *end = strchr(line, '\n');

		if (strncmp(line, key, length) == 0 && line[length] == '=')
		{
			char *rest;

			errno = 0;
			*number = strtoull(line + length + 1, &rest, 10);
			return errno == 0 && rest != line + length + 1 && *rest == '\n';
		}
		line = end != NULL ? end + 1 : NULL;
	}
	return false;
}

int
health_read(const char *path, Health *health)
{
	char text[STATUS_BYTES];
	FILE *file = fopen(path, "re");
	uint64_t number;
	size_t length;

	if (file == NULL)
		return -errno;
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
#define READ_MEMBER(key, member)          \
	if (!find_number(text, key, &number)) \
		return -EINVAL;                   \
	health->member = (__typeof__(health->member)) number;
	HEALTH_MEMBERS(READ_MEMBER)
#undef READ_MEMBER
	return 0;
}

size_t
health_flags(HealthOptions *options, Flag flags[HEALTH_FLAGS_MAX])
{
	const Flag own[] = {
		{ "status", FLAG_TEXT, &options->status_file, "FILE",
		  "status file, which the agent writes with the same flag" },
		{ "max-silence", FLAG_DURATION, &options->max_silence_ms, "TIME",
		  "longest time without a sign of life of the agent or one of its threads; default 3m", 1,
		  TIME_MS_MAX },
		{ "max-unstored", FLAG_DURATION, &options->max_unstored_ms, "TIME",
		  "longest time that samples may wait for the database, or be overdue there; default: any",
		  1, TIME_MS_MAX },
	};
	size_t count;

	*options = (HealthOptions){ .max_silence_ms = SILENCE_MS_DEFAULT };
	count = flags_append(flags, 0, own, sizeof(own) / sizeof(own[0]));
	return count + log_flags(&options->log, &flags[count]);
}

ExitCode
health_judge(const Health *health, const HealthOptions *options, int64_t now_ns, Failure *failure)
{
	int64_t age_ms = (now_ns - health->time_ns) / NS_PER_MS;
	const struct
	{
		const char *name;
		int64_t busy_ms;
	} threads[] = {
		{ "ring", health->ring_busy_ms },
		{ "walker", health->walker_busy_ms },
		{ "flusher", health->flusher_busy_ms },
	};
	/*
	 * a sample's time is the start of its interval, and the sample is stored after the interval's
	 * end
	 */
	int64_t overdue_ms = health->newest_stored_ms - 2 * health->interval_ms;

	if (age_ms < 0 || age_ms > options->max_silence_ms)
	{
		/* CLOCK_MONOTONIC restarts at boot, so a time in the future was written before a reboot */
		failure_set(failure, EXIT_INTERNAL, "agent has stopped updating its status");
		failure_detail(failure, "Its status is %" PRId64 " s old.", age_ms / 1000);
		return failure->code;
	}
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
	{
		if (threads[i].busy_ms <= options->max_silence_ms)
			continue;
		failure_set(failure, EXIT_INTERNAL, "agent is stuck");
		failure_detail(failure, "Thread \"%s\" has been busy with one task for %" PRId64 " s.",
					   threads[i].name, threads[i].busy_ms / 1000);
		return failure->code;
	}
	if (health->held_ms > options->max_silence_ms)
	{
		failure_set(failure, EXIT_INTERNAL, "agent is stuck");
		failure_detail(failure, "Its flusher has held samples for %" PRId64 " s.",
					   health->held_ms / 1000);
		return failure->code;
	}
	if (options->max_unstored_ms > 0 && health->unstored_ms > options->max_unstored_ms)
	{
		failure_set(failure, EXIT_DATABASE, "samples wait for the database");
		failure_detail(failure,
					   "The oldest have waited for %" PRId64 " s; %" PRIu64
					   " bytes are queued, %" PRIu64 " rows were dropped.",
					   health->unstored_ms / 1000, health->queued_bytes, health->rows_dropped);
		failure_hint(failure, "See the agent's log for the reason.");
		return failure->code;
	}
	if (options->max_unstored_ms > 0 && overdue_ms > options->max_unstored_ms)
	{
		failure_set(failure, EXIT_DATABASE, "no new samples are stored");
		failure_detail(failure, "The newest stored sample is %" PRId64 " s old.",
					   health->newest_stored_ms / 1000);
		failure_hint(failure, "See the agent's log for the reason.");
		return failure->code;
	}
	return EXIT_OK;
}

ExitCode
health_run(const HealthOptions *options)
{
	Failure failure;
	Health health;
	ExitCode code;
	int result;

	if (options->status_file == NULL)
	{
		code = failure_set(&failure, EXIT_USAGE, "no status file given");
		failure_hint(&failure, "Pass the same --status FILE to agent and health.");
		failure_log(&failure, "health");
		return code;
	}
	result = health_read(options->status_file, &health);
	if (result != 0)
	{
		code = failure_set(&failure, EXIT_IO, "could not read the agent's status");
		failure_detail(&failure, "\"%s\": %s.", options->status_file,
					   result == -EINVAL ? "It is not the status of an agent" : strerror(-result));
		if (result == -ENOENT)
			failure_hint(&failure, "An agent with the same --status writes it once it samples, and "
								   "removes it when it ends.");
	}
	else
		code = health_judge(&health, options, clock_ns(CLOCK_MONOTONIC), &failure);
	if (code != EXIT_OK)
		failure_log(&failure, "health");
	return code;
}
