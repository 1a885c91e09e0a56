/*
 * writer.c
 *		The writer's thread, its lock, and the notification of submitters.
 *
 * 1. writer_submit() queues a batch under the next number, or refuses it.
 * 2. The thread connects, puts the batches at the head of the queue in flight together, and tries
 * until retry_judge() decides their outcome.
 * 3. A refused flight of several batches is retried in halves, so that a batch at fault goes alone
 * in the end. Batches that cannot be merged go one by one.
 * 4. A refused batch whose submitter has no callback is divided until only the series at fault is
 * left out, because it may contain samples of other senders.
 * 5. Batches with an outcome leave the queue under the lock; their submitters are notified and they
 * are freed without it.
 *
 * The lock guards queue, statistics, failure, requests and unreported losses; it is never held
 * while the database is asked. Target and retry belong to the thread once it runs.
 */
#include "writer/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "batch/losses.h"
#include "writer/divide.h"
#include "writer/flight.h"
#include "writer/queue.h"
#include "writer/target.h"

#define MODULE "writer"

/* Enough for about 65,000 stacks, 50,000 locations and 8,000 functions in each generation. */
#define CACHE_BYTES ((size_t) 20 * 1024 * 1024)

/*
 * Maximum number of divisions of a batch and its pieces. A batch with more series at fault would
 * block all later ones; a piece that is refused after that is dropped as a whole. Larger pieces are
 * divided first, so that the whole batch is in small pieces before many faulty series use this up.
 */
#define DIVISIONS_MAX 256

#define SERIES_TEXT_BYTES 500 /* of a refused batch's first series, in the log */

/* Limit of the losses of dropped batches, by reason. */
#define UNREPORTED_BYTES ((size_t) 64 * 1024)

struct Writer
{
	/* belong to the thread once it runs */
	Target target;
	Retry retry;
	const char *name; /* name of the target, or NULL */
	bool repeated;	  /* the flight, or a part of it, was stored before with a receipt */
	int divisions;	  /* of the batch whose pieces are at the queue's head */

	pthread_t thread;
	bool started;
	int wake_fd; /* eventfd: readable if the thread must stop at once */

	pthread_mutex_t lock;	/* guards everything below */
	pthread_cond_t changed; /* any of it changed; uses the monotonic clock */
	Queue queue;
	uint64_t careful_until; /* batches up to this number were refused together: … */
	uint32_t careful_count; /* … at most this many go together now */
	char *new_conninfo;		/* to be used from now on; NULL if none */
	bool hurry;				/* the next attempt must not wait */
	bool stopping;			/* stop once the queue is empty */
	bool stop_now;
	bool finished;	   /* the thread has ended */
	Batch *unreported; /* losses that no queued batch carries yet; NULL if none */
	WriterStats stats;
	Failure failure; /* its code is EXIT_OK if there is none */
};

/* Batches with a common outcome. */
typedef struct Ended
{
	QueuedBatch *head;
	BatchEnd end;
	const DbError *error; /* NULL if the database is not the cause */
} Ended;

static uint64_t
sample_count(const Batch *batch)
{
	const BatchSample *samples;

	return batch_samples(batch, &samples);
}

/* Updates the time of the newest stored sample. */
static void
writer_note_newest(Writer *writer, const Batch *batch)
{
	const BatchSample *samples;
	size_t count = batch_samples(batch, &samples);

	for (size_t i = 0; i < count; i++)
	{
		if (samples[i].time_us > writer->stats.newest_sample_us)
			writer->stats.newest_sample_us = samples[i].time_us;
	}
}

/* --- losses, with the lock held --- */

/* Reason to report for a batch that was not stored; NULL if it was stored. */
static const char *
loss_reason(BatchEnd end)
{
	static const Loss losses[] = {
		[BATCH_REFUSED] = LOSS_DATABASE_REFUSED,
		[BATCH_PUSHED_OUT] = LOSS_QUEUE_FULL,
		[BATCH_LEFT] = LOSS_WRITER_STOPPED,
	};

	return end != BATCH_STORED ? loss_facts(losses[end])->reason : NULL;
}

/*
 * Adds a dropped batch to the next report of losses. What does not fit (64 kB of reasons, or out of
 * memory) appears in the statistics only.
 */
static void
writer_note_loss(Writer *writer, const Batch *batch, const char *reason)
{
	const BatchLoss *losses;
	const BatchUnwound *unwound;
	size_t loss_count = batch_losses(batch, &losses);
	size_t unwound_count = batch_unwound(batch, &unwound);

	if (writer->unreported == NULL && batch_create(UNREPORTED_BYTES, &writer->unreported) != 0)
		return;
	for (size_t i = 0; i < loss_count; i++)
		batch_add_loss(writer->unreported, losses[i].reason, losses[i].count);
	for (size_t i = 0; i < unwound_count; i++)
		batch_add_unwound(writer->unreported, &unwound[i]);
	if (sample_count(batch) > 0)
		batch_add_loss(writer->unreported, reason, sample_count(batch));
}

/*
 * Counts a batch that left the queue and appends it to a list. Losses are not reported for batches
 * with a callback, whose submitter reports them, nor for a refused report, which would be repeated
 * forever.
 */
static void
end_batch(Writer *writer, QueuedBatch *item, BatchEnd end, QueuedBatch ***tail)
{
	uint64_t samples = sample_count(item->batch);

	if (end == BATCH_STORED)
		writer->stats.batches_written += !item->is_report;
	else if (end == BATCH_REFUSED)
	{
		writer->stats.batches_refused++;
		writer->stats.samples_refused += samples;
	}
	else
	{
		writer->stats.batches_dropped++;
		writer->stats.samples_dropped += samples;
	}
	if (end != BATCH_STORED && item->callback.function == NULL &&
		!(item->is_report && end == BATCH_REFUSED))
		writer_note_loss(writer, item->batch, loss_reason(end));
	**tail = item;
	*tail = &item->next;
}

/* --- without the lock --- */

/* Calls the callbacks of a list of batches and frees them. */
static void
ended_notify_and_free(const Ended *ended)
{
	for (QueuedBatch *item = ended->head, *next; item != NULL; item = next)
	{
		const BatchResult result = {
			.number = item->number,
			.end = ended->end,
			.batch = item->batch,
			.reason = loss_reason(ended->end),
			.why = ended->error ? &ended->error->failure : NULL,
			.sqlstate = ended->error ? ended->error->sqlstate : "",
		};

		next = item->next;
		if (item->callback.function != NULL)
			item->callback.function(item->callback.context, &result);
		queued_batch_free(item);
	}
}

static struct timespec
deadline_after_ms(int ms)
{
	struct timespec deadline;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += ms / 1000;
	deadline.tv_nsec += (long) (ms % 1000) * 1000000;
	if (deadline.tv_nsec >= 1000000000)
	{
		deadline.tv_sec++;
		deadline.tv_nsec -= 1000000000;
	}
	return deadline;
}

/* --- one flight, on the thread --- */

/*
 * Returns whether the thread may end: it must stop at once, or it must stop and the queue is
 * empty.
 */
static bool
may_end(const Writer *writer)
{
	return writer->stop_now || (writer->stopping && writer->queue.head == NULL);
}

/* Counts a retry and waits. Returns false if the writer must stop. */
static bool
wait_for_retry(Writer *writer)
{
	struct timespec deadline = deadline_after_ms(writer->retry.wait_ms);
	bool go_on;

	pthread_mutex_lock(&writer->lock);
	writer->stats.retries++;
	while (!may_end(writer) && !writer->hurry &&
		   pthread_cond_timedwait(&writer->changed, &writer->lock, &deadline) == 0)
		;
	if (writer->hurry)
		retry_hurry(&writer->retry);
	writer->hurry = false;
	go_on = !may_end(writer);
	pthread_mutex_unlock(&writer->lock);
	return go_on;
}

static void
publish_state(Writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	writer->stats.state = writer->retry.state;
	writer->stats.away_count = writer->retry.away_count;
	writer->stats.denied_count = writer->retry.denied_count;
	pthread_mutex_unlock(&writer->lock);
}

/* Takes over the connection string of writer_reload(). */
static void
adopt_conninfo(Writer *writer)
{
	DbError error = { "" };
	char *conninfo;

	pthread_mutex_lock(&writer->lock);
	conninfo = writer->new_conninfo;
	writer->new_conninfo = NULL;
	pthread_mutex_unlock(&writer->lock);
	if (conninfo == NULL || strcmp(conninfo, writer->target.conninfo) == 0)
	{
		free(conninfo);
		return;
	}
	if (target_adopt(&writer->target, conninfo, &error))
		log_event(LOG_INFO, MODULE, "now using the new connection string",
				  log_text("target", writer->name));
	else
		log_event(LOG_WARNING, MODULE,
				  "could not connect with the new connection string; keeping the old connection",
				  log_text("target", writer->name), log_text("reason", error.failure.message),
				  log_text("detail", error.failure.detail), log_text("hint", error.failure.hint),
				  log_text("sqlstate", error.sqlstate));
}

/*
 * Returns whether the flight is one batch that may be divided. It must not have a callback, because
 * its submitter expects one outcome.
 */
static bool
is_divisible(Writer *writer, const Flight *flight)
{
	const BatchReceipt *receipts;
	bool may_renumber;

	if (flight->merged != NULL || flight->item->callback.function != NULL ||
		batch_receipts(flight->batch, &receipts) > 0 || !batch_is_divisible(flight->batch))
		return false;
	if (!flight->item->is_piece)
		writer->divisions = 0;
	pthread_mutex_lock(&writer->lock);
	may_renumber = queue_may_renumber(&writer->queue);
	pthread_mutex_unlock(&writer->lock);
	return may_renumber && writer->divisions < DIVISIONS_MAX;
}

/*
 * Tries until the flight is stored, given up, or the writer must end. Without a flight: until
 * connected.
 */
static RetryVerdict
try_until_done(Writer *writer, const Flight *flight, DbError *error)
{
	retry_begin_batch(&writer->retry,
					  flight != NULL && (flight->merged != NULL || is_divisible(writer, flight)),
					  flight != NULL && flight->item->is_piece);
	for (;;)
	{
		DbOutcome outcome;
		RetryVerdict verdict;
		bool at_once;

		adopt_conninfo(writer);
		outcome = flight ? target_write(&writer->target, flight->batch, flight->number, error)
						 : target_open(&writer->target, error);
		writer->repeated = outcome == DB_REPEATED;
		if (writer->repeated)
			outcome = DB_OK;
		at_once = outcome != DB_OK && target_prepare_retry(&writer->target, outcome);
		verdict = retry_judge(&writer->retry, outcome, error, at_once, clock_ns(CLOCK_MONOTONIC));
		publish_state(writer);
		if (writer->repeated && flight->merged != NULL)
			/* of the merged batches: store them one by one to find which ones were repeated */
			return VERDICT_GIVE_UP;
		if (verdict != VERDICT_AGAIN)
			return verdict;
		if (!wait_for_retry(writer))
			return VERDICT_END;
	}
}

/* --- the thread --- */

/* Queues the losses of dropped batches as a batch of their own. */
static void
queue_report(Writer *writer, Batch *report)
{
	QueuedBatch *item = queued_batch_create(report, NULL);

	if (item == NULL)
	{
		batch_free(report);
		return;
	}
	item->is_report = true;
	queue_push(&writer->queue, item);
}

/*
 * Waits until there is a batch to store. Returns false if the thread must end. The caller must hold
 * the lock.
 */
static bool
wait_for_batch(Writer *writer)
{
	while (!writer->stop_now)
	{
		if (writer->queue.head == NULL && writer->unreported != NULL)
		{
			queue_report(writer, writer->unreported);
			writer->unreported = NULL;
		}
		if (writer->queue.head != NULL)
			return true;
		if (writer->stopping)
			return false;
		if (writer->new_conninfo != NULL)
		{
			pthread_mutex_unlock(&writer->lock);
			adopt_conninfo(writer);
			pthread_mutex_lock(&writer->lock);
		}
		else
			pthread_cond_wait(&writer->changed, &writer->lock);
	}
	return false;
}

/*
 * Puts waiting batches in flight, together with unreported losses. Returns false if the thread must
 * end.
 */
static bool
take_flight(Writer *writer, Flight *flight)
{
	const QueuedBatch *head;
	Batch *report = NULL;
	uint32_t count;

	pthread_mutex_lock(&writer->lock);
	writer->hurry = false;
	if (!wait_for_batch(writer))
	{
		pthread_mutex_unlock(&writer->lock);
		return false;
	}
	head = writer->queue.head;
	count = head->number > writer->careful_until
				? flight_count(&writer->queue, FLIGHT_COUNT_MAX, UINT64_MAX)
				: flight_count(&writer->queue, writer->careful_count, writer->careful_until);
	if (head->number > writer->careful_until && !head->is_piece)
	{
		report = writer->unreported;
		writer->unreported = NULL;
	}
	writer->queue.in_flight = count;
	pthread_mutex_unlock(&writer->lock);
	if (flight_load(flight, head, count, report))
		return true;

	/* they do not fit into one batch: store them one by one */
	pthread_mutex_lock(&writer->lock);
	writer->careful_until = head->number + count - 1;
	writer->careful_count = 1;
	writer->queue.in_flight = 1;
	if (report != NULL)
		queue_report(writer, report);
	pthread_mutex_unlock(&writer->lock);
	return flight_load(flight, head, 1, NULL);
}

/* Ends all batches in flight with one outcome. The caller must hold the lock. */
static void
end_flight(Writer *writer, BatchEnd end, QueuedBatch **list)
{
	while (writer->queue.in_flight > 0)
		end_batch(writer, queue_pop(&writer->queue), end, &list);
}

/*
 * Replaces the refused batch at the queue's head by two pieces. Returns false on out of memory, or
 * if numbers may not change.
 */
static bool
divide_flight(Writer *writer, const Flight *flight)
{
	QueuedBatch *pieces[2] = { NULL, NULL };
	Batch *batches[2];
	bool is_divided;

	if (batch_divide(flight->batch, &batches[0], &batches[1]) != 0)
		return false;
	for (int i = 0; i < 2; i++)
	{
		pieces[i] = queued_batch_create(batches[i], NULL);
		if (pieces[i] == NULL)
			batch_free(batches[i]);
		else
		{
			pieces[i]->is_piece = true;
			pieces[i]->is_report = sample_count(batches[i]) == 0;
			pieces[i]->queued_ns = flight->item->queued_ns;
		}
	}
	pthread_mutex_lock(&writer->lock);
	is_divided = pieces[0] != NULL && pieces[1] != NULL && queue_may_renumber(&writer->queue);
	if (is_divided)
	{
		writer->careful_until += flight->number <= writer->careful_until;
		queued_batch_free(queue_divide_head(&writer->queue, pieces[0], pieces[1]));
		writer->divisions++;
	}
	pthread_mutex_unlock(&writer->lock);
	for (int i = 0; !is_divided && i < 2; i++)
		queued_batch_free(pieces[i]);
	return is_divided;
}

/*
 * Applies a verdict to the queue. A refused flight of several batches is split, and its report
 * becomes a batch of its own. The caller must hold the lock.
 */
static void
apply_verdict(Writer *writer, RetryVerdict verdict, Flight *flight, Ended *ended)
{
	Batch *report = flight->report;

	if (verdict == VERDICT_DONE)
	{
		if (writer->repeated)
			writer->stats.batches_repeated++;
		else
		{
			writer->stats.transactions++;
			writer->stats.samples_written += sample_count(flight->batch);
			writer_note_newest(writer, flight->batch);
		}
		ended->end = BATCH_STORED;
		writer->careful_count = MIN(writer->careful_count * 2, FLIGHT_COUNT_MAX);
		end_flight(writer, BATCH_STORED, &ended->head);
		return;
	}
	if (verdict == VERDICT_GIVE_UP && flight->merged == NULL)
	{
		ended->end = BATCH_REFUSED;
		end_flight(writer, BATCH_REFUSED, &ended->head);
		return;
	}
	flight->report = NULL;
	if (verdict == VERDICT_GIVE_UP)
	{
		writer->careful_until = MAX(writer->careful_until, flight->number);
		writer->careful_count = MAX(writer->queue.in_flight / 2, 1);
	}
	writer->queue.in_flight = 0;
	if (report != NULL)
		queue_report(writer, report);
}

/* Writes the profile type and labels of the first series with samples, cut to the room. */
static void
describe_series(const Batch *batch, char *text, size_t room)
{
	const BatchSample *samples;
	const BatchSeries *series;
	size_t length;

	text[0] = '\0';
	if (batch_samples(batch, &samples) == 0)
		return;
	(void) batch_series(batch, &series);
	series += samples[0].series;
	length = (size_t) snprintf(text, room, "%s{", series->profile_type);
	for (uint32_t i = 0; i < series->label_count && length < room; i++)
		length += (size_t) snprintf(text + length, room - length, "%s%s=\"%s\"", i > 0 ? ", " : "",
									series->labels[i].name, series->labels[i].value);
	if (length < room)
		(void) snprintf(text + length, room - length, "}");
}

/* Logs the refused batch, which is the flight's only one. */
static void
log_refused(const Writer *writer, const QueuedBatch *item, const DbError *error)
{
	char series[SERIES_TEXT_BYTES];

	describe_series(item->batch, series, sizeof(series));
	log_event(LOG_ERROR, MODULE, "could not store a batch and dropped it",
			  log_text("target", writer->name), log_text("reason", error->failure.message),
			  log_text("detail", error->failure.detail), log_text("hint", error->failure.hint),
			  log_text("sqlstate", error->sqlstate), log_number("batch", (int64_t) item->number),
			  log_number("samples", (int64_t) sample_count(item->batch)),
			  log_text("first_series", series));
}

/*
 * Removes finished batches from the queue, counts them and notifies their submitters; or divides a
 * refused one.
 */
static void
finish_flight(Writer *writer, Flight *flight, RetryVerdict verdict, const DbError *error)
{
	Ended ended = { .error = verdict == VERDICT_DONE ? NULL : error };

	if (verdict == VERDICT_GIVE_UP && retry_was_refused(&writer->retry) &&
		is_divisible(writer, flight) && divide_flight(writer, flight))
	{
		flight_fini(flight);
		return;
	}
	pthread_mutex_lock(&writer->lock);
	apply_verdict(writer, verdict, flight, &ended);
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);

	if (ended.head != NULL && ended.end == BATCH_REFUSED)
		log_refused(writer, ended.head, error);
	ended_notify_and_free(&ended);
	flight_fini(flight);
}

/*
 * Logs at debug if the writer is not a target: it may belong to a command whose terminal lists the
 * files that it stores.
 */
static void
log_connected(const Writer *writer)
{
	const PGconn *pg = writer->target.session.connection.pg;
	bool is_target = writer->target.store.node[0] != '\0';

	log_event(is_target ? LOG_INFO : LOG_DEBUG, MODULE, "connected",
			  log_text("target", writer->name), log_text("host", PQhost(pg)),
			  log_text("database", PQdb(pg)), log_text("role", PQuser(pg)));
}

/* Returns true if the writer was asked to end, has stored samples and has nothing left to store. */
static bool
ends_in_order(Writer *writer)
{
	bool in_order;

	pthread_mutex_lock(&writer->lock);
	in_order = writer->stopping && !writer->stop_now && writer->queue.head == NULL &&
			   writer->stats.newest_sample_us != 0;
	pthread_mutex_unlock(&writer->lock);
	return in_order;
}

/* Body of the thread. */
static void *
writer_main(void *arg)
{
	Writer *writer = arg;
	DbError error = { "" };
	RetryVerdict verdict = try_until_done(writer, NULL, &error);
	Flight flight;

	if (verdict == VERDICT_DONE)
	{
		log_connected(writer);
		target_begin(&writer->target);
	}
	while (verdict != VERDICT_END && take_flight(writer, &flight))
	{
		verdict = try_until_done(writer, &flight, &error);
		finish_flight(writer, &flight, verdict, &error);
	}
	if (ends_in_order(writer))
		target_end(&writer->target);
	pthread_mutex_lock(&writer->lock);
	if (writer->retry.state == RETRY_ENDED)
		writer->failure = error.failure;
	writer->finished = true;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

/* --- the interface --- */

/* Initializes locks, queue, retry and target. Returns 0 or -errno. */
static int
writer_init(Writer *writer, const WriterOptions *options)
{
	TargetOptions target = { .conninfo = options->conninfo,
							 .node = options->node,
							 .uuid = options->uuid,
							 .cache_bytes =
								 options->cache_bytes > 0 ? options->cache_bytes : CACHE_BYTES,
							 .gate = options->gate };
	int err;

	pthread_mutex_init(&writer->lock, NULL);
	clock_condition_init(&writer->changed);
	writer->name = options->target;
	writer->queue.limit_bytes = options->queue_bytes;
	writer->queue.last_number = options->first_number > 0 ? options->first_number - 1 : 0;
	retry_init(&writer->retry, options->target,
			   options->denied_ms > 0 ? options->denied_ms : WRITER_DENIED_MS);
	writer->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = writer->wake_fd < 0 ? -errno : 0;
	target.wake_fd = writer->wake_fd;
	if (target_init(&writer->target, &target) != 0)
		err = -ENOMEM;
	return err;
}

ExitCode
writer_create(const WriterOptions *options, Writer **writer, Failure *failure)
{
	Writer *self = calloc(1, sizeof(Writer));
	DbError error;
	int err = self ? writer_init(self, options) : -ENOMEM;

	if (err != 0)
	{
		failure_set(failure, EXIT_INTERNAL, "could not set up the writer");
		failure_detail(failure, "%s.", strerror(-err));
	}
	else if (conninfo_check(options->conninfo, &error))
	{
		*writer = self;
		return EXIT_OK;
	}
	else
	{
		*failure = error.failure;
		failure->code = EXIT_CONFIG;
	}
	writer_free(self);
	return failure->code;
}

int
writer_start(Writer *writer)
{
	sigset_t all;
	sigset_t before;
	int err;

	/* signals must be handled by the thread that called us */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&writer->thread, NULL, writer_main, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	writer->started = err == 0;
	return -err;
}

int
writer_submit(Writer *writer, Batch *batch, const BatchCallback *callback, uint64_t *number)
{
	QueuedBatch *item = queued_batch_create(batch, callback);
	int err = 0;

	if (item == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&writer->lock);
	if (writer->stopping || writer->finished)
		err = -EPIPE;
	else if (item->bytes > writer->queue.limit_bytes)
		err = -EMSGSIZE;
	else if (!queue_has_room(&writer->queue, item->bytes))
		err = -EAGAIN;
	else
	{
		item->is_awaited = callback != NULL || number != NULL;
		queue_push(&writer->queue, item);
		if (number != NULL)
			*number = item->number;
		pthread_cond_broadcast(&writer->changed);
	}
	pthread_mutex_unlock(&writer->lock);
	if (err != 0)
		free(item);
	return err;
}

/*
 * Drops the oldest batches that are not in flight until the queue is within its limit. The caller
 * must hold the lock.
 */
static uint64_t
trim_queue(Writer *writer, QueuedBatch **list)
{
	uint64_t before = writer->stats.samples_dropped;
	QueuedBatch *item;

	while (writer->queue.bytes > writer->queue.limit_bytes &&
		   (item = queue_pop_waiting(&writer->queue)) != NULL)
		end_batch(writer, item, BATCH_PUSHED_OUT, &list);
	return writer->stats.samples_dropped - before;
}

void
writer_submit_newest(Writer *writer, Batch *batch)
{
	QueuedBatch *item = queued_batch_create(batch, NULL);
	Ended ended = { .end = BATCH_PUSHED_OUT };
	uint64_t dropped;

	pthread_mutex_lock(&writer->lock);
	if (item != NULL)
	{
		queue_push(&writer->queue, item);
		dropped = trim_queue(writer, &ended.head);
	}
	else
	{
		dropped = sample_count(batch);
		writer->stats.batches_dropped++;
		writer->stats.samples_dropped += dropped;
		writer_note_loss(writer, batch, loss_reason(BATCH_PUSHED_OUT));
		batch_free(batch);
	}
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);

	if (dropped > 0)
		log_event(LOG_WARNING, MODULE, "queue is full; dropped its oldest batches",
				  log_text("target", writer->name), log_number("samples", (int64_t) dropped));
	ended_notify_and_free(&ended);
}

ExitCode
writer_reload(Writer *writer, const char *conninfo, size_t queue_bytes, Failure *failure)
{
	DbError error;
	char *copy;

	if (!conninfo_check(conninfo, &error))
	{
		*failure = error.failure;
		return failure->code = EXIT_CONFIG;
	}
	copy = strdup(conninfo);
	if (copy == NULL)
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	pthread_mutex_lock(&writer->lock);
	free(writer->new_conninfo);
	writer->new_conninfo = copy;
	writer->queue.limit_bytes = queue_bytes;
	writer->hurry = true;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	return EXIT_OK;
}

/* Asks the thread to end and waits for it; stops it at once after deadline_ms. */
static void
stop_thread(Writer *writer, int deadline_ms)
{
	struct timespec deadline = deadline_after_ms(deadline_ms);
	const uint64_t one = 1;

	pthread_mutex_lock(&writer->lock);
	writer->stopping = true;
	pthread_cond_broadcast(&writer->changed);
	while (!writer->finished &&
		   pthread_cond_timedwait(&writer->changed, &writer->lock, &deadline) == 0)
		;
	writer->stop_now = true;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);

	/* the write of an eventfd fails only if its value would exceed 2^64 - 2 */
	if (write(writer->wake_fd, &one, sizeof(one)) == (ssize_t) sizeof(one))
		pthread_join(writer->thread, NULL);
	writer->started = false;
}

bool
writer_drain(Writer *writer, int deadline_ms)
{
	Ended ended = { .end = BATCH_LEFT };
	QueuedBatch **tail = &ended.head;
	QueuedBatch *item;
	bool all_stored;

	if (writer->started)
		stop_thread(writer, deadline_ms);
	pthread_mutex_lock(&writer->lock);
	writer->stopping = true;
	all_stored = writer->queue.head == NULL;
	while ((item = queue_pop(&writer->queue)) != NULL)
		end_batch(writer, item, BATCH_LEFT, &tail);
	pthread_mutex_unlock(&writer->lock);
	ended_notify_and_free(&ended);
	return all_stored;
}

void
writer_stats(Writer *writer, WriterStats *stats)
{
	pthread_mutex_lock(&writer->lock);
	*stats = writer->stats;
	stats->queued_bytes = writer->queue.bytes;
	stats->waiting_since_ns = writer->queue.head != NULL ? writer->queue.head->queued_ns : 0;
	pthread_mutex_unlock(&writer->lock);
}

ExitCode
writer_failure(Writer *writer, Failure *failure)
{
	ExitCode code;

	pthread_mutex_lock(&writer->lock);
	code = writer->failure.code;
	if (code != EXIT_OK)
		*failure = writer->failure;
	pthread_mutex_unlock(&writer->lock);
	return code;
}

void
writer_free(Writer *writer)
{
	if (writer == NULL)
		return;
	writer_drain(writer, 0);
	target_fini(&writer->target);
	batch_free(writer->unreported);
	free(writer->new_conninfo);
	if (writer->wake_fd >= 0)
		close(writer->wake_fd);
	pthread_cond_destroy(&writer->changed);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}
