/*
 * flusher.c
 *		Flushes on request, opens binaries in between.
 */
#include "agent/flusher.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/batch.h"
#include "base/clock.h"
#include "base/log.h"

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

#define OPEN_BINARIES_NS (100 * NS_PER_MS) /* descriptors of mapped files are kept no longer */
#define SWEEP_NS		 (60 * NS_PER_S)
#define BATCH_BYTES		 ((size_t) 64 * 1024 * 1024)

struct Flusher
{
	FlusherParts parts;
	ResolveStats stats; /* of the thread */
	int64_t sweep_ns;
	pthread_t thread;
	bool started;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t wakeup;
	bool requested;
	bool stopping;
};

int
flusher_create(const FlusherParts *parts, Flusher **result)
{
	Flusher *flusher = calloc(1, sizeof(*flusher));
	pthread_condattr_t attributes;

	if (flusher == NULL)
		return -ENOMEM;
	flusher->parts = *parts;
	pthread_mutex_init(&flusher->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&flusher->wakeup, &attributes);
	pthread_condattr_destroy(&attributes);
	*result = flusher;
	return 0;
}

void
flusher_free(Flusher *flusher)
{
	if (flusher == NULL)
		return;
	pthread_cond_destroy(&flusher->wakeup);
	pthread_mutex_destroy(&flusher->mutex);
	free(flusher);
}

/* Puts what was lost since the last flush into the batch and the log. */
static void
report_losses(Flusher *flusher, Batch *batch)
{
	for (Loss loss = 0; loss < LOSS_COUNT; loss++)
	{
		uint64_t count = losses_take(flusher->parts.losses, loss);

		if (count == 0)
			continue;
		if (loss_kind(loss) == LOSS_LOST)
			log_event(LOG_WARNING, "agent", "samples were lost",
					  log_text("reason", loss_reason(loss)), log_number("count", (int64_t) count));
		else
			log_event(LOG_INFO, "agent", "profiles are incomplete",
					  log_text("reason", loss_reason(loss)), log_number("count", (int64_t) count));
		if (batch_add_loss(batch, loss_reason(loss), count) != 0)
			log_event(LOG_WARNING, "agent", "could not add a loss to its batch",
					  log_text("reason", loss_reason(loss)));
	}
}

/* Interval into batch. NULL, and everything counted, where memory is out. */
static Batch *
make_batch(Flusher *flusher, Interval *interval)
{
	ResolveContext context = {
		.images = flusher->parts.images,
		.symbolizer = flusher->parts.symbolizer,
		.period_ns = flusher->parts.period_ns,
	};
	ResolveStats stats = { 0 };
	Batch *batch = NULL;

	if (batch_create(BATCH_BYTES, &batch) != 0)
		stats.samples_failed = interval_sample_count(interval);
	else if (resolve_interval(&context, interval, batch, &stats) != 0)
		stats.samples_failed = interval_sample_count(interval) - stats.samples;
	losses_add(flusher->parts.losses, LOSS_BATCH_FULL, stats.samples_failed);
	for (int status = PFS_WALK_TOO_DEEP; status < PFS_WALK_STATUS_COUNT; status++)
		losses_add(flusher->parts.losses, (Loss) (LOSS_WALK_TOO_DEEP + status - PFS_WALK_TOO_DEEP),
				   stats.incomplete[status]);
	flusher->stats.samples += stats.samples;
	flusher->stats.samples_failed += stats.samples_failed;
	flusher->stats.user_samples += stats.user_samples;
	flusher->stats.complete += stats.complete;
	return batch;
}

static void
flush(Flusher *flusher)
{
	int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	Interval *interval = reader_take(flusher->parts.reader);
	const BatchSample *samples;
	const BatchLoss *losses;
	Batch *batch;

	if (interval == NULL)
		return; /* there was no memory for it: its samples were counted as they came */
	batch = make_batch(flusher, interval);
	interval_free(interval);
	if (batch == NULL)
	{
		log_event(LOG_ERROR, "agent", "out of memory");
		return;
	}
	report_losses(flusher, batch);
	log_event(LOG_DEBUG, "agent", "flushed an interval",
			  log_number("rows", (int64_t) batch_samples(batch, &samples)),
			  log_number("bytes", (int64_t) batch_bytes(batch)),
			  log_number("took_ms", (clock_ns(CLOCK_MONOTONIC) - began_ns) / NS_PER_MS));
	if (batch_samples(batch, &samples) > 0 || batch_losses(batch, &losses) > 0)
		writer_submit(flusher->parts.writer, batch);
	else
		batch_free(batch);
}

/* Waits for a request, for as long as binaries may stay unopened. */
static void
wait_for_request(Flusher *flusher, bool *requested, bool *stopping)
{
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + OPEN_BINARIES_NS;
	struct timespec until = { until_ns / NS_PER_S, until_ns % NS_PER_S };

	pthread_mutex_lock(&flusher->mutex);
	while (!flusher->requested && !flusher->stopping)
	{
		if (pthread_cond_timedwait(&flusher->wakeup, &flusher->mutex, &until) == ETIMEDOUT)
			break;
	}
	*requested = flusher->requested;
	*stopping = flusher->stopping;
	flusher->requested = false;
	pthread_mutex_unlock(&flusher->mutex);
}

static void *
flusher_run(void *argument)
{
	Flusher *flusher = argument;
	bool requested;
	bool stopping;

	do
	{
		int64_t now_ns;

		wait_for_request(flusher, &requested, &stopping);
		image_table_open_pending(flusher->parts.images, flusher->parts.symbolizer);
		if (requested || stopping)
			flush(flusher);
		now_ns = clock_ns(CLOCK_MONOTONIC);
		if (now_ns >= flusher->sweep_ns)
		{
			image_table_sweep(flusher->parts.images);
			flusher->sweep_ns = now_ns + SWEEP_NS;
		}
	} while (!stopping);
	return NULL;
}

int
flusher_start(Flusher *flusher)
{
	int result;

	flusher->sweep_ns = clock_ns(CLOCK_MONOTONIC) + SWEEP_NS;
	result = pthread_create(&flusher->thread, NULL, flusher_run, flusher);
	flusher->started = result == 0;
	return -result;
}

static void
wake(Flusher *flusher, bool stopping)
{
	pthread_mutex_lock(&flusher->mutex);
	flusher->requested = true;
	flusher->stopping = stopping;
	pthread_cond_signal(&flusher->wakeup);
	pthread_mutex_unlock(&flusher->mutex);
}

void
flusher_request(Flusher *flusher)
{
	wake(flusher, false);
}

void
flusher_stop(Flusher *flusher)
{
	if (!flusher->started)
		return;
	wake(flusher, true);
	pthread_join(flusher->thread, NULL);
	flusher->started = false;
}

void
flusher_stats(const Flusher *flusher, ResolveStats *stats)
{
	*stats = flusher->stats;
}
