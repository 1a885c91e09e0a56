/*
 * import.c
 *		The command "import FILE…": runs the lanes and reports their result.
 *
 * The main thread draws the progress and receives signals; all other threads block them.
 */
#include "exchange/import_state.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "database/session.h"
#include "exchange/import_lane.h"
#include "exchange/path_labels.h"
#include "program/progress.h"

#define MODULE "import"

#define WAIT_NS (INT64_C(200) * 1000000)

static void
draw_progress(Import *import)
{
	char text[96];

	snprintf(text, sizeof(text), "%zu of %zu files, %" PRId64 " samples", import->stored,
			 import->files.count, import->samples);
	progress_draw((int64_t) import->stored, (int64_t) import->files.count, text);
}

/* Waits until all lanes have ended. Returns true if a signal ended them. */
static bool
watch_lanes(Import *import, const sigset_t *signals)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	bool interrupted = false;
	bool is_done = false;

	while (!is_done)
	{
		/* the signals are unblocked below, so that a second one ends the process */
		if (sigtimedwait(signals, NULL, &wait) > 0)
		{
			interrupted = true;
			import_stop(import);
			pthread_sigmask(SIG_UNBLOCK, signals, NULL);
		}
		pthread_mutex_lock(&import->lock);
		draw_progress(import);
		is_done = import->lanes == 0;
		pthread_mutex_unlock(&import->lock);
	}
	return interrupted;
}

/* Runs the lanes with SIGINT and SIGTERM blocked. */
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
	import_divide(import);
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
	*interrupted = watch_lanes(import, &signals);
	for (int64_t i = 0; i < count; i++)
		import_lane_join(lanes[i]);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	draw_progress(import);
	progress_end();
	*failure = import->failure;
	return failure->code;
}

static ExitCode
sum_up(const Import *import, bool interrupted, Failure *failure)
{
	size_t left = import->files.count - import->stored - import->failed;

	if (left == 0 && import->failed == 0)
		return EXIT_OK;
	failure_set(failure, EXIT_IO,
				interrupted ? "import was interrupted" : "could not import all files");
	failure_detail(failure, "%zu of %zu files are stored, %zu failed, %zu are left.",
				   import->stored, import->files.count, import->failed, left);
	if (left > 0)
		failure_hint(failure, "Stored files were listed on standard output; pass that list to "
							  "--skip to resume.");
	return failure->code;
}

/* Checks that the database accepts samples, and reads facts that depend on flags. */
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
		failure->code = EXIT_CONFIG; /* --at is malformed */
	return failure->code;
}

/* Lists the files to import, without those that were stored before. */
static ExitCode
list_files(Import *import, char **operands, size_t count, Failure *failure)
{
	const ExchangeOptions *options = import->options;
	size_t skipped = 0;
	ExitCode code = EXIT_OK;

	for (size_t i = 0; code == EXIT_OK && i < count; i++)
		code = file_list_add(&import->files, operands[i], options->path_labels, failure);
	if (import->files.left_out > 0)
		log_event(LOG_WARNING, MODULE, "skipped files that do not match --path-labels",
				  log_number("files", (int64_t) import->files.left_out));
	if (code == EXIT_OK && import->files.count == 0)
	{
		code = failure_set(failure, EXIT_IO, "found no file");
		failure_hint(failure, "Files whose names begin with a dot, and files that do not match "
							  "--path-labels, are skipped.");
	}
	if (code == EXIT_OK && options->skip != NULL)
		code = file_list_skip(&import->files, options->skip, &skipped, failure);
	if (skipped > 0)
		log_event(LOG_INFO, MODULE, "skipped files that are stored already",
				  log_number("files", (int64_t) skipped));
	return code;
}

static ExitCode
import_read_options(Import *import, size_t operand_count, Failure *failure)
{
	const char *pattern = import->options->path_labels;
	ExitCode code = pattern == NULL ? EXIT_OK : path_pattern_check(pattern, failure);

	if (code == EXIT_OK)
		code = given_labels_parse(&import->labels, import->options->labels, failure);
	if (code == EXIT_OK && operand_count == 0)
	{
		code = failure_set(failure, EXIT_USAGE, "no file given");
		failure_hint(failure, "Name files or directories after the flags; - is standard input.");
	}
	return code;
}

ExitCode
import_run(const ExchangeOptions *options, char **operands, size_t count)
{
	Import import;
	Failure failure;
	bool interrupted = false;
	ExitCode code;

	code = import_init(&import, options, &failure);
	if (code == EXIT_OK)
		code = import_read_options(&import, count, &failure);
	if (code == EXIT_OK)
		code = list_files(&import, operands, count, &failure);
	if (code == EXIT_OK)
		code = ask_database(&import, &failure);
	if (code == EXIT_OK && import.files.count > 0)
		code = run_lanes(&import, &interrupted, &failure);
	if (code == EXIT_OK)
		code = sum_up(&import, interrupted, &failure);
	if (code != EXIT_OK)
		failure_log(&failure, MODULE);
	import_fini(&import);
	return code;
}
