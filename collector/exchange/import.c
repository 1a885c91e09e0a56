/*
 * import.c
 *		"import FILE…": from the command's flags to lanes, and what they report.
 *
 * The main thread draws the progress and takes signals; all others have them blocked.
 */
#include "exchange/import.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "database/session.h"
#include "exchange/import_lane.h"
#include "exchange/path_labels.h"

#define MODULE "import"

/* How long a lane that was told to stop waits for what is under way. */
#define STOP_NS (INT64_C(5) * 1000000000)

#define WAIT_NS (INT64_C(200) * 1000000)

const char *
import_format_name(ProfileFormat format)
{
	static const char *const names[] = { "pprof", "folded", "perf-script" };

	return names[format];
}

/* --- what lanes call --- */

/* Gives a lane the second half of the longest range. Lock held. */
static void
share(Import *import, FileRange *own)
{
	FileRange *longest = own;
	size_t half;

	for (int64_t i = 0; i < import->options->jobs; i++)
	{
		FileRange *range = &import->left[i];

		if (range->end - range->next > longest->end - longest->next)
			longest = range;
	}
	half = (longest->end - longest->next) / 2;
	*own = (FileRange){ longest->end - half, longest->end };
	longest->end -= half;
}

bool
import_take(Import *import, size_t lane, size_t *file)
{
	FileRange *own = &import->left[lane];
	bool taken;

	pthread_mutex_lock(&import->lock);
	if (own->next == own->end)
		share(import, own);
	taken = !import->stop && own->next < own->end;
	if (taken)
		*file = own->next++;
	pthread_mutex_unlock(&import->lock);
	return taken;
}

/* To each lane its part. */
static void
divide(Import *import)
{
	size_t lanes = (size_t) import->options->jobs;

	for (size_t i = 0; i < lanes; i++)
		import->left[i] =
			(FileRange){ import->files.count * i / lanes, import->files.count * (i + 1) / lanes };
}

void
import_stored(Import *import, size_t file, ProfileFormat format, int64_t samples)
{
	pthread_mutex_lock(&import->lock);
	import->stored++;
	import->samples += samples;
	printf("%s: %s, %" PRId64 " samples\n", import->files.paths[file], import_format_name(format),
		   samples);
	pthread_mutex_unlock(&import->lock);
}

/* No file is taken any more; what is under way has a while. Lock held. */
static void
stop(Import *import)
{
	import->stop = true;
	if (import->give_up_ns == 0)
		import->give_up_ns = clock_ns(CLOCK_MONOTONIC) + STOP_NS;
	pthread_cond_broadcast(&import->changed);
}

void
import_failed(Import *import, size_t file, const Failure *why)
{
	failure_log(why, MODULE);
	pthread_mutex_lock(&import->lock);
	import->failed++;
	if (import->options->stop_on_error)
		stop(import);
	pthread_mutex_unlock(&import->lock);
}

void
import_end(Import *import, const Failure *why)
{
	pthread_mutex_lock(&import->lock);
	if (import->failure.code == EXIT_OK)
		import->failure = *why;
	stop(import);
	pthread_mutex_unlock(&import->lock);
}

void
import_wait(Import *import)
{
	struct timespec until;
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + WAIT_NS;

	until.tv_sec = until_ns / 1000000000;
	until.tv_nsec = until_ns % 1000000000;
	pthread_cond_timedwait(&import->changed, &import->lock, &until);
}

/* --- the main thread --- */

static void
draw(Import *import)
{
	char text[96];

	snprintf(text, sizeof(text), "%zu of %zu files, %" PRId64 " samples", import->stored,
			 import->files.count, import->samples);
	progress_draw((int64_t) import->stored, (int64_t) import->files.count, text);
}

/* Waits until all lanes have ended; true where a signal told them to. */
static bool
watch(Import *import, const sigset_t *signals)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	bool interrupted = false;
	bool is_done = false;

	while (!is_done)
	{
		/* a second one ends the process */
		if (sigtimedwait(signals, NULL, &wait) > 0)
		{
			interrupted = true;
			pthread_sigmask(SIG_UNBLOCK, signals, NULL);
		}
		pthread_mutex_lock(&import->lock);
		if (interrupted)
			stop(import);
		draw(import);
		is_done = import->lanes == 0;
		pthread_mutex_unlock(&import->lock);
	}
	return interrupted;
}

static ExitCode
run_lanes(Import *import, bool *interrupted, Failure *failure)
{
	ImportLane *lanes[IMPORT_JOBS_MAX];
	int64_t count = 0;
	sigset_t signals;
	sigset_t before;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	divide(import);
	while (count < import->options->jobs)
	{
		lanes[count] = import_lane_start(import, (size_t) count, failure);
		if (lanes[count] == NULL)
		{
			import_end(import, failure);
			break;
		}
		count++;
	}
	*interrupted = watch(import, &signals);
	for (int64_t i = 0; i < count; i++)
		import_lane_join(lanes[i]);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	draw(import);
	progress_end();
	fflush(stdout);
	return import->failure.code;
}

static ExitCode
sum_up(const Import *import, bool interrupted, Failure *failure)
{
	size_t left = import->files.count - import->stored - import->failed;

	if (import->failure.code != EXIT_OK)
	{
		*failure = import->failure;
		return failure->code;
	}
	if (left == 0 && import->failed == 0)
		return EXIT_OK;
	failure_set(failure, EXIT_IO,
				interrupted ? "import was interrupted" : "could not import all files");
	failure_detail(failure, "%zu of %zu files are stored, %zu failed, %zu are left.",
				   import->stored, import->files.count, import->failed, left);
	if (left > 0)
		failure_hint(failure, "Standard output has the files that are stored.");
	return failure->code;
}

/* Whether the database takes samples, and what it says of the flags. */
static ExitCode
ask_database(Import *import, Failure *failure)
{
	Connection connection = { .wake_fd = -1 };
	DbError error;
	DbOutcome outcome;
	ExitCode code = session_check(import->options->database, failure);

	if (code != EXIT_OK)
		return code;
	outcome = connection_open(&connection, import->options->database, &error);
	if (outcome == DB_OK)
		outcome = import_ask(&connection, import->options->at, &import->facts, &error);
	connection_close(&connection);
	if (outcome == DB_OK)
		return EXIT_OK;
	*failure = error.failure;
	if (outcome == DB_REFUSED)
		failure->code = EXIT_CONFIG; /* no time */
	return failure->code;
}

static ExitCode
list_files(Import *import, char **operands, size_t count, Failure *failure)
{
	const char *pattern = import->options->path_labels;
	ExitCode code = pattern == NULL ? EXIT_OK : path_pattern_check(pattern, failure);

	if (code == EXIT_OK)
		code = given_labels_parse(&import->labels, import->options->labels, failure);
	if (code == EXIT_OK && count == 0)
	{
		code = failure_set(failure, EXIT_USAGE, "no file given");
		failure_hint(failure, "Name files or directories after the flags; - is standard input.");
	}
	for (size_t i = 0; code == EXIT_OK && i < count; i++)
		code = file_list_add(&import->files, operands[i], pattern, failure);
	if (import->files.left_out > 0)
		log_event(LOG_WARNING, MODULE, "left out files that do not fit the pattern",
				  log_number("files", (int64_t) import->files.left_out));
	if (code == EXIT_OK && import->files.count == 0)
	{
		code = failure_set(failure, EXIT_IO, "found no file");
		failure_hint(failure, "Files whose names begin with a dot are left out, and those that do "
							  "not fit --path-labels.");
	}
	return code;
}

static void
import_init(Import *import, const ExchangeOptions *options)
{
	pthread_condattr_t attributes;

	*import = (Import){ .options = options };
	pthread_mutex_init(&import->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&import->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void
import_fini(Import *import)
{
	given_labels_free(&import->labels);
	file_list_free(&import->files);
	pthread_cond_destroy(&import->changed);
	pthread_mutex_destroy(&import->lock);
}

ExitCode
import_run(const ExchangeOptions *options, char **operands, size_t count)
{
	Import import;
	Failure failure;
	bool interrupted = false;
	ExitCode code;

	import_init(&import, options);
	code = list_files(&import, operands, count, &failure);
	if (code == EXIT_OK)
		code = ask_database(&import, &failure);
	if (code == EXIT_OK)
		code = run_lanes(&import, &interrupted, &failure);
	if (code == EXIT_OK)
		code = sum_up(&import, interrupted, &failure);
	if (code != EXIT_OK)
		failure_log(&failure, MODULE);
	import_fini(&import);
	return code;
}
