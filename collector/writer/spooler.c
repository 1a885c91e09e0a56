/*
 * spooler.c
 *		The spooler's thread, and the functions that the writer's thread calls.
 *
 * A batch is written without the lock while it stays in the queue: is_spooling keeps it from being
 * freed. If the batch ends meanwhile, its file is removed immediately.
 */
#include "writer/spooler.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread_start.h"
#include "writer/endings.h"

#define MODULE "writer"

/* Time after a failed write in which the batch is not tried again. */
#define SPOOL_REST_NS (INT64_C(10) * 1000 * NS_PER_MS)

/* Time after a failed write in which no batch is tried. */
#define SPOOL_PAUSE_NS (INT64_C(1000) * NS_PER_MS)

/* Limit of the number of files; each takes some 300 bytes of memory. */
#define SPOOL_FILES_MAX 100000

/* Interval of checks for files that are too old. */
#define SPOOL_LOOK_MS 60000

typedef struct Writer Writer;

/* --- choosing the next task, with the lock held --- */

static bool
may_be_spooled(const QueuedBatch *item)
{
	/*
	 * A submitter that does not accept the spool as an outcome, such as a client of receive without
	 * --acknowledge spool, must learn whether its batch was stored.
	 */
	return !item->is_on_disk && !item->is_spooling && item->batch != NULL &&
		   (item->callback.function == NULL || item->callback.takes_spooled);
}

bool
spooler_has_all(const Writer *writer)
{
	return writer->queue.in_memory == 0;
}

static bool
is_urgent(const Writer *writer)
{
	/* waiting is pointless if the database is known to be unavailable */
	return writer->stop_now || writer->spooler_must_end || writer->stats.state == RETRY_AWAY ||
		   writer->stats.state == RETRY_DENIED || writer->stats.state == RETRY_ENDED;
}

/*
 * Returns the first batch that must be written now. If there is none, returns NULL, and sets
 * *next_ns to the time at which this may change without an event.
 */
static QueuedBatch *
find_due(const Writer *writer, int64_t now_ns, int64_t *next_ns)
{
	*next_ns = now_ns + SPOOL_LOOK_MS * NS_PER_MS;
	for (QueuedBatch *item = writer->queue.first_in_memory; item != NULL; item = item->next)
	{
		int64_t due_ns = is_urgent(writer) ? now_ns : item->queued_ns + SPOOL_AFTER_MS * NS_PER_MS;

		/* batches on disk may stand between those in memory */
		if (!may_be_spooled(item))
			continue;
		/* also if urgent: a full disk would be written to without a pause */
		due_ns = MAX(due_ns, MAX(item->spool_retry_ns, writer->spool_pause_ns));
		if (due_ns <= now_ns)
			return item;
		*next_ns = MIN(*next_ns, due_ns);
	}
	return NULL;
}

/* --- one batch, on the spooler's thread --- */

static void
log_failure(const Writer *writer, int err)
{
	log_event(
		LOG_ERROR, MODULE, "could not write a batch to the spool directory",
		log_text("target", writer->name), log_text("reason", strerror(-err)),
		log_text("detail",
				 "Batches wait in memory in the meantime; the next attempt follows in 10 s."));
}

/* Counts a failed write. The batch is tried again later, unless it is too large for a file. */
static void
note_failure(Writer *writer, QueuedBatch *item, int err)
{
	/*
	 * one line for each time that writing begins to fail, and for each batch that can never be
	 * written
	 */
	if (!writer->spool_is_failing || err == -EFBIG)
		log_failure(writer, err);
	writer->spool_is_failing = err != -EFBIG;
	writer->stats.spool_failures++;
	if (err == -EFBIG)
	{
		item->spool_retry_ns = INT64_MAX;
		return;
	}
	item->spool_retry_ns = clock_ns(CLOCK_MONOTONIC) + SPOOL_REST_NS;
	/*
	 * Each attempt compresses a batch, and thousands may wait while the disk is full. At the end
	 * there is no time to pause.
	 */
	if (!writer->spooler_must_end)
		writer->spool_pause_ns = clock_ns(CLOCK_MONOTONIC) + SPOOL_PAUSE_NS;
}

/* Notifies the submitter that its batch is on disk; for the submitter, the batch has ended then. */
static void
notify_spooled(Writer *writer, QueuedBatch *item)
{
	const BatchCallback callback = item->callback;
	const BatchResult result = {
		.number = item->id.number, .end = BATCH_SPOOLED, .batch = item->batch, .sqlstate = ""
	};

	/*
	 * Under the lock, before the call: if the batch is stored meanwhile, endings_notify() must not
	 * notify a second time.
	 */
	item->callback.function = NULL;
	pthread_mutex_unlock(&writer->lock);
	callback.function(callback.context, &result);
	pthread_mutex_lock(&writer->lock);
}

/* Records that a batch is on disk. The caller must hold the lock. */
static void
note_on_disk(Writer *writer, QueuedBatch *item, const SpooledBatch *file)
{
	if (writer->stats.spooled_batches == 0)
		log_event(LOG_INFO, MODULE, "batches wait in the spool directory for the database",
				  log_text("target", writer->name));
	/* the batch may have been stored while it was written; it is not counted as waiting then */
	queue_note_on_disk(&writer->queue, item, file);
	writer->stats.batches_spooled++;
	writer->spool_is_failing = false;
	writer->stats.spooled_batches += !item->has_left;
}

/* Writes a batch. The caller must hold the lock, which is released meanwhile. */
static void
spool_one(Writer *writer, QueuedBatch *item)
{
	SpooledBatch file = { .id = item->id, .samples = item->samples };
	Batch *unloaded = NULL;
	bool has_ended;
	int err;

	item->is_spooling = true;
	pthread_mutex_unlock(&writer->lock);
	/* Without the lock: the batch is not changed, and is_spooling keeps it from being freed. */
	err = spool_put(writer->spool, item->batch, &file);
	pthread_mutex_lock(&writer->lock);
	if (err == 0)
	{
		note_on_disk(writer, item, &file);
		if (item->callback.function != NULL && !item->has_left)
			notify_spooled(writer, item);
	}
	else
		note_failure(writer, item, err);
	item->is_spooling = false;
	has_ended = item->has_ended;
	/* a batch in flight is being read by the writer's thread, which unloads or ends it */
	if (!item->has_left && err == 0 && !queue_is_in_flight(&writer->queue, item))
		unloaded = queue_unload(&writer->queue, item);
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	batch_free(unloaded);
	/* endings_notify() has left the item to this function */
	if (has_ended)
	{
		if (err == 0)
			endings_remove_file(writer, &file);
		queued_batch_free(item);
	}
	pthread_mutex_lock(&writer->lock);
}

/* --- limits --- */

/*
 * Returns true if a limit of the spool is exceeded, or if at most the given number of tenths of it
 * is left. The caller must hold the lock.
 */
static bool
spool_is_full_but(const Writer *writer, uint64_t tenths)
{
	/* divided first, so that a limit near 2^64 cannot overflow */
	uint64_t spare_bytes = writer->spool_limit_bytes / 10 * tenths;

	return spool_bytes(writer->spool) > writer->spool_limit_bytes - spare_bytes ||
		   writer->stats.spooled_batches > SPOOL_FILES_MAX - SPOOL_FILES_MAX / 10 * tenths;
}

bool
spooler_is_nearly_full(const Writer *writer)
{
	return spool_is_full_but(writer, 1);
}

/* Removes the oldest batch from the spool if a limit is exceeded. The caller must hold the lock. */
static QueuedBatch *
pop_over_limit(Writer *writer, int64_t now_ns, BatchEnd *end)
{
	bool is_full = spool_is_full_but(writer, 0);
	const QueuedBatch *oldest = queue_oldest_spooled(&writer->queue);

	if (oldest == NULL || (!is_full && now_ns - oldest->queued_ns <= writer->spool_age_ns))
		return NULL;
	*end = is_full ? BATCH_SPOOL_FULL : BATCH_SPOOL_EXPIRED;
	return queue_pop_spooled(&writer->queue);
}

/*
 * Drops the oldest batches that are not in flight until the spool is within its limits. A batch is
 * read before it is dropped, because it carries losses itself. The caller must hold the lock, which
 * is released meanwhile.
 */
static void
trim_spool(Writer *writer)
{
	uint64_t samples = 0;
	uint64_t batches = 0;
	BatchEnd end = BATCH_SPOOL_FULL;
	QueuedBatch *item;

	while ((item = pop_over_limit(writer, clock_ns(CLOCK_MONOTONIC), &end)) != NULL)
	{
		Endings endings = { .tail = &endings.head, .end = end };

		pthread_mutex_unlock(&writer->lock);
		/*
		 * A failure is ignored: the batch's own losses are then lost, its samples are counted all
		 * the same.
		 */
		if (item->batch == NULL)
			(void) spool_take(writer->spool, &item->on_disk, &item->batch);
		pthread_mutex_lock(&writer->lock);
		samples += item->samples;
		batches++;
		endings_add(writer, &endings, item);
		pthread_mutex_unlock(&writer->lock);
		endings_notify(writer, &endings);
		pthread_mutex_lock(&writer->lock);
	}
	if (batches > 0)
		log_event(LOG_WARNING, MODULE,
				  end == BATCH_SPOOL_FULL ? "spool is full; dropped its oldest batches"
										  : "batches waited too long in the spool; dropped them",
				  log_text("target", writer->name), log_number("batches", (int64_t) batches),
				  log_number("samples", (int64_t) samples));
}

/* --- the thread --- */

/*
 * Runs the body of the spooler's thread: writes batches that are due, and drops those beyond the
 * limits.
 */
static void *
spooler_main(void *arg)
{
	Writer *writer = arg;
	bool has_reported = false;

	pthread_mutex_lock(&writer->lock);
	for (;;)
	{
		int64_t next_ns;
		QueuedBatch *item = find_due(writer, clock_ns(CLOCK_MONOTONIC), &next_ns);
		struct timespec deadline;

		if (item != NULL)
			spool_one(writer, item);
		/* each batch that was written may exceed a limit */
		trim_spool(writer);
		if (item != NULL)
			continue;
		if (writer->spooler_must_end && (writer->unreported == NULL || has_reported))
			break;
		if (writer->spooler_must_end)
		{
			/*
			 * No other function reports these losses. If this report displaces an older one from
			 * the spool, the losses of that one are in the log.
			 */
			endings_queue_report(writer, writer->unreported);
			writer->unreported = NULL;
			has_reported = true;
			continue;
		}
		/* next_ns is at most a minute ahead, so that old batches expire without an event */
		deadline = clock_timespec(next_ns);
		pthread_cond_timedwait(&writer->changed, &writer->lock, &deadline);
	}
	pthread_mutex_unlock(&writer->lock);
	/*
	 * removals that are not flushed are harmless; this saves the next process from examining such
	 * files
	 */
	(void) spool_sync(writer->spool);
	pthread_mutex_lock(&writer->lock);
	writer->spooler_ended = true;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

int
spooler_start(Writer *writer)
{
	return writer->spool != NULL ? thread_start(&writer->spooler, spooler_main, writer) : 0;
}

void
spooler_finish(Writer *writer, int deadline_ms)
{
	struct timespec deadline = clock_timespec(clock_ns(CLOCK_MONOTONIC) + deadline_ms * NS_PER_MS);
	bool has_ended;

	pthread_mutex_lock(&writer->lock);
	/* the last attempt does not wait for the pause after a failure */
	for (QueuedBatch *item = writer->queue.first_in_memory; item != NULL; item = item->next)
		if (item->spool_retry_ns != INT64_MAX)
			item->spool_retry_ns = 0;
	writer->spool_pause_ns = 0;
	writer->spooler_must_end = true;
	pthread_cond_broadcast(&writer->changed);
	while (!writer->spooler_ended &&
		   pthread_cond_timedwait(&writer->changed, &writer->lock, &deadline) == 0)
		;
	has_ended = writer->spooler_ended;
	writer->spooler_is_left = !has_ended;
	pthread_mutex_unlock(&writer->lock);
	if (has_ended)
		pthread_join(writer->spooler, NULL);
	else
		log_event(LOG_ERROR, MODULE, "could not write all batches to the spool directory in time",
				  log_text("target", writer->name), log_number("limit_ms", deadline_ms));
}

int
spooler_queue_found(Writer *writer)
{
	const SpooledBatch *found;
	size_t count = spool_found(writer->spool, &found);
	size_t damaged = spool_damaged(writer->spool);

	for (size_t i = 0; i < count; i++)
	{
		QueuedBatch *item = queued_batch_of_file(&found[i]);

		/* the batches stay on disk for the next process */
		if (item == NULL)
			return -ENOMEM;
		queue_push_found(&writer->queue, item);
	}
	writer->stats.spooled_batches = count;
	if (count > 0)
		log_event(LOG_INFO, MODULE, "found batches in the spool directory",
				  log_text("target", writer->name), log_number("batches", (int64_t) count),
				  log_number("bytes", (int64_t) spool_bytes(writer->spool)));
	if (spool_unreadable(writer->spool) > 0)
		log_event(LOG_ERROR, MODULE,
				  "could not read files of the spool directory, which stay there",
				  log_text("target", writer->name),
				  log_number("files", (int64_t) spool_unreadable(writer->spool)));
	if (damaged == 0)
		return 0;
	log_event(LOG_ERROR, MODULE, "removed damaged files of the spool directory",
			  log_text("target", writer->name), log_number("files", (int64_t) damaged));
	writer->stats.batches_dropped += damaged;
	/* the number of samples in these batches is unknown, so count one for each */
	endings_report_loss(writer, NULL, damaged, BATCH_SPOOL_DAMAGED);
	return 0;
}

/* --- for the writer's thread --- */

uint32_t
spooler_load_flight(Writer *writer, int *err)
{
	QueuedBatch *item = writer->queue.head;
	uint32_t loaded = 0;

	/* Batches in flight stay in the queue. Do not read "next" of the last one, which may change. */
	for (*err = 0; loaded < writer->queue.in_flight; loaded++)
	{
		Batch *batch;

		if (loaded > 0)
			item = item->next;
		/* batches in memory, and those of an attempt before */
		if (item->batch != NULL)
			continue;
		*err = spool_take(writer->spool, &item->on_disk, &batch);
		if (*err != 0)
			break;
		/* the spooler reads item->batch under the lock */
		pthread_mutex_lock(&writer->lock);
		queue_load(item, batch);
		pthread_mutex_unlock(&writer->lock);
	}
	return loaded;
}

void
spooler_unload(Writer *writer, uint32_t count)
{
	QueuedBatch *item = writer->queue.head;

	for (uint32_t i = 0; i < count && item != NULL; i++, item = item->next)
		if (item->is_on_disk && !item->is_spooling && item->batch != NULL)
			batch_free(queue_unload(&writer->queue, item));
}

void
spooler_divide(Writer *writer, const SpooledBatch *whole, QueuedBatch *pieces[2])
{
	SpooledBatch files[2];
	int err = 0;
	int written = 0;

	for (int i = 0; err == 0 && i < 2; i++)
	{
		files[i] = (SpooledBatch){ .id = pieces[i]->id,
								   .parent = whole->id.number,
								   .samples = pieces[i]->samples };
		err = spool_put(writer->spool, pieces[i]->batch, &files[i]);
		written += err == 0;
	}
	/*
	 * The whole batch is removed after both pieces were written: in a crash before, it still
	 * exists, and spool_open() removes its pieces.
	 */
	endings_remove_file(writer, whole);
	if (spool_sync(writer->spool) != 0 && err == 0)
		err = -EIO;
	pthread_mutex_lock(&writer->lock);
	if (err != 0)
	{
		log_failure(writer, err);
		writer->stats.spool_failures++;
	}
	for (int i = 0; i < 2; i++)
	{
		/* a piece that is not on disk is in memory, and find_due() tries it again */
		if (i < written)
		{
			queue_note_on_disk(&writer->queue, pieces[i], &files[i]);
			writer->stats.spooled_batches++;
		}
		pieces[i]->is_spooling = false;
	}
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
}
