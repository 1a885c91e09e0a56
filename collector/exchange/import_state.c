/*
 * import_state.c
 *		Distribution of the files, and their outcome.
 */
#include "exchange/import_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define MODULE "import"

/* How long a lane that must stop waits for its batches that are being stored. */
#define STOP_NS (INT64_C(5) * 1000000000)

#define WAIT_NS (INT64_C(200) * 1000000)

ExitCode
import_init(Import *import, const ExchangeOptions *options, Failure *failure)
{
	int error;

	*import = (Import){ .options = options };
	pthread_mutex_init(&import->lock, NULL);
	clock_condition_init(&import->changed);
	error = gate_open(&import->gate);
	if (error == 0)
		return EXIT_OK;
	failure_set(failure, EXIT_INTERNAL, "could not create an eventfd");
	failure_detail(failure, "%s.", strerror(-error));
	return EXIT_INTERNAL;
}

void
import_fini(Import *import)
{
	given_labels_free(&import->labels);
	file_list_free(&import->files);
	gate_close(&import->gate);
	pthread_cond_destroy(&import->changed);
	pthread_mutex_destroy(&import->lock);
}

const char *
import_format_name(ProfileFormat format)
{
	static const char *const names[] = { "pprof", "folded", "perf-script" };

	return names[format];
}

/*
 * Gives the lane the second half of the longest range that another lane has left. The caller must
 * hold the lock.
 */
static void
import_share_files(Import *import, FileRange *own)
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
import_goes_on(Import *import)
{
	bool goes_on;

	pthread_mutex_lock(&import->lock);
	goes_on = !import->stop;
	pthread_mutex_unlock(&import->lock);
	return goes_on;
}

bool
import_take(Import *import, size_t lane, size_t *file)
{
	FileRange *own = &import->left[lane];
	bool taken;

	pthread_mutex_lock(&import->lock);
	if (own->next == own->end)
		import_share_files(import, own);
	taken = !import->stop && own->next < own->end;
	if (taken)
		*file = own->next++;
	pthread_mutex_unlock(&import->lock);
	return taken;
}

void
import_divide(Import *import)
{
	size_t lanes = (size_t) import->options->jobs;

	for (size_t i = 0; i < lanes; i++)
		import->left[i] =
			(FileRange){ import->files.count * i / lanes, import->files.count * (i + 1) / lanes };
}

/* Ends the import. The caller must hold the lock. */
static void
import_stop_locked(Import *import)
{
	import->stop = true;
	if (import->give_up_ns == 0)
		import->give_up_ns = clock_ns(CLOCK_MONOTONIC) + STOP_NS;
	pthread_cond_broadcast(&import->changed);
}

void
import_stop(Import *import)
{
	pthread_mutex_lock(&import->lock);
	import_stop_locked(import);
	pthread_mutex_unlock(&import->lock);
}

void
import_failed(Import *import, size_t file, const Failure *why)
{
	failure_log(why, MODULE);
	pthread_mutex_lock(&import->lock);
	import->failed++;
	if (import->options->stop_on_error)
		import_stop_locked(import);
	pthread_mutex_unlock(&import->lock);
}

void
import_end(Import *import, const Failure *why)
{
	pthread_mutex_lock(&import->lock);
	if (import->failure.code == EXIT_OK)
		import->failure = *why;
	import_stop_locked(import);
	pthread_mutex_unlock(&import->lock);
}

/* Prints and flushes the line at once, because the process may be killed. */
static ExitCode
print_stored(const char *path, ProfileFormat format, int64_t samples, Failure *failure)
{
	if (printf("%s: %s, %" PRId64 " samples\n", path, import_format_name(format), samples) >= 0 &&
		fflush(stdout) == 0)
		return EXIT_OK;
	failure_set(failure, EXIT_IO, "could not write file");
	failure_detail(failure, "standard output: %s. %s is stored.", strerror(errno), path);
	failure_hint(failure, "Other files may be stored without a line as well; --skip does "
						  "not skip them.");
	return failure->code;
}

void
import_stored(Import *import, size_t file, ProfileFormat format, int64_t samples)
{
	Failure failure;
	ExitCode code;

	pthread_mutex_lock(&import->lock);
	import->stored++;
	import->samples += samples;
	code = print_stored(import->files.paths[file], format, samples, &failure);
	pthread_mutex_unlock(&import->lock);
	if (code != EXIT_OK)
		import_end(import, &failure);
}

void
import_wait(Import *import)
{
	struct timespec until = clock_timespec(clock_ns(CLOCK_MONOTONIC) + WAIT_NS);

	pthread_cond_timedwait(&import->changed, &import->lock, &until);
}
