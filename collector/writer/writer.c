/*
 * writer.c
 *		The writer's thread, its lock, and the notification of submitters.
 *
 * 1. writer_submit() queues a batch under the next number, or refuses it.
 * 2. The thread connects, puts the batches at the head of the queue in flight together, and tries
 *    until retry_judge() decides their outcome.
 * 3. A refused flight of several batches is retried in halves, so that a batch at fault goes alone
 *    in the end. Batches that cannot be merged go one by one.
 * 4. A refused batch whose submitter has no callback is divided until only the series at fault is
 *    left out, because it may contain samples of other senders.
 * 5. Batches with an outcome leave the queue under the lock; their submitters are notified and they
 *    are freed without it.
 *
 * The lock guards queue, statistics, failure, requests and unreported losses. It is never held
 * during a query. Target and retry belong to the thread once it runs.
 */
#include "writer/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/param.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread_start.h"
#include "writer/divide.h"
#include "writer/endings.h"
#include "writer/flight.h"
#include "writer/spooler.h"

#define MODULE "writer"

/* Room for about 65,000 stacks, 50,000 locations and 8,000 functions in each generation. */
#define CACHE_BYTES ((size_t) 20 * 1024 * 1024)

/*
 * Limit of the divisions of a batch and its pieces. A batch with many faulty series would block all
 * later batches; beyond the limit, a piece that is refused is dropped as a whole. Larger pieces are
 * divided first, so that the whole batch is in small pieces before many faulty series reach the
 * limit.
 */
#define DIVISIONS_MAX 256

/* Time in which the disk must write the batches that are left at the end. */
#define SPOOL_FINISH_MS 20000

#define READ_WAIT_MS 1000 /* pause if a batch of the spool cannot be read at present */

/* limit of the text about a refused batch's first series, in the log */
#define SERIES_TEXT_BYTES 500

/* Updates the time of the newest stored sample. The caller must hold the lock. */
static void
note_newest(Writer *writer, const Batch *batch)
{
	const BatchSample *samples;
	size_t count = batch_samples(batch, &samples);

	for (size_t i = 0; i < count; i++)
		/* batches of an import are not in the order of time */
		if (samples[i].time_us > writer->stats.newest_sample_us)
			writer->stats.newest_sample_us = samples[i].time_us;
}

static struct timespec
deadline_after_ms(int ms)
{
	return clock_timespec(clock_ns(CLOCK_MONOTONIC) + ms * NS_PER_MS);
}

/* --- one flight, on the thread --- */

/*
 * Returns true if the thread may end: it must stop at once, or it must stop and the queue is empty.
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
	/*
	 * ends early for a reload or a stop; other changes, such as new batches, do not shorten the
	 * wait
	 */
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
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
}

/* Starts using the connection string that writer_reload() has set. */
static void
adopt_conninfo(Writer *writer)
{
	DbError error = { "" };
	char *conninfo;

	pthread_mutex_lock(&writer->lock);
	conninfo = writer->new_conninfo;
	writer->new_conninfo = NULL;
	pthread_mutex_unlock(&writer->lock);
	/* a reload that left the string as it was must not reconnect */
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
 * Returns true if the flight is one batch that may be divided. It must not have a callback, because
 * its submitter expects one outcome.
 */
static bool
is_divisible(Writer *writer, const Flight *flight)
{
	const BatchReceipt *receipts;
	bool has_numbers;

	/*
	 * A batch with receipts is a request of one sender, who expects it to be stored as a whole or
	 * not at all.
	 */
	if (flight->merged != NULL || flight->item->callback.function != NULL ||
		batch_receipts(flight->batch, &receipts) > 0 || !batch_is_divisible(flight->batch))
		return false;
	/* a new batch has not been divided yet */
	if (!flight->item->is_piece)
		writer->divisions = 0;
	pthread_mutex_lock(&writer->lock);
	has_numbers = queue_may_divide_head(&writer->queue);
	pthread_mutex_unlock(&writer->lock);
	return has_numbers && writer->divisions < DIVISIONS_MAX;
}

/*
 * Tries until the flight is stored or given up, or the writer must end. If flight is NULL, tries
 * until connected.
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
		/*
		 * a flight is repeated unchanged, so begin_batch() recognizes it if a COMMIT whose answer
		 * was lost took effect
		 */
		outcome = flight ? target_write(&writer->target, flight->batch, &flight->id, error)
						 : target_open(&writer->target, error);
		writer->repeated = outcome == DB_REPEATED;
		/* stored before: for the queue this is success */
		if (writer->repeated)
			outcome = DB_OK;
		at_once = outcome != DB_OK && target_prepare_retry(&writer->target, outcome);
		verdict = retry_judge(&writer->retry, outcome, error, at_once, clock_ns(CLOCK_MONOTONIC));
		publish_state(writer);
		if (writer->repeated && flight->merged != NULL)
			/*
			 * A receipt of one of the merged batches is known, so store them one by one to find
			 * which.
			 */
			return VERDICT_GIVE_UP;
		if (verdict != VERDICT_AGAIN)
			return verdict;
		if (!wait_for_retry(writer))
			return VERDICT_END;
	}
}

/* --- the thread --- */

/* Waits for a change of the state, or until a report is due. The caller must hold the lock. */
static void
wait_for_change(Writer *writer)
{
	struct timespec deadline = clock_timespec(writer->reporter.due_ns);

	if (writer->reporter.due_ns == INT64_MAX)
		pthread_cond_wait(&writer->changed, &writer->lock);
	else if (clock_ns(CLOCK_MONOTONIC) < writer->reporter.due_ns)
		(void) pthread_cond_timedwait(&writer->changed, &writer->lock, &deadline);
	else
	{
		pthread_mutex_unlock(&writer->lock);
		reporter_send(&writer->reporter, &writer->target, false);
		pthread_mutex_lock(&writer->lock);
	}
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
		/* Losses go with the next flight. If no batch comes, they become a batch of their own. */
		if (writer->queue.head == NULL && writer->unreported != NULL)
		{
			endings_queue_report(writer, writer->unreported);
			writer->unreported = NULL;
		}
		if (writer->queue.head != NULL)
			return true;
		if (writer->stopping)
			return false;
		/*
		 * without waiting for a batch, so that an operator sees the outcome of a reload in the log
		 */
		if (writer->new_conninfo != NULL)
		{
			pthread_mutex_unlock(&writer->lock);
			adopt_conninfo(writer);
			pthread_mutex_lock(&writer->lock);
		}
		else
			wait_for_change(writer);
	}
	return false;
}

/*
 * Returns true if a file could not be read for a temporary reason, which is not the file's fault.
 */
static bool
is_passing(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE || err == -EINTR || err == -EAGAIN ||
		   err == -EACCES || err == -ESTALE;
}

/* Waits a second before the head of the queue is read again. The caller must hold the lock. */
static void
wait_to_read_again(Writer *writer, int err)
{
	struct timespec later = deadline_after_ms(READ_WAIT_MS);

	log_event(LOG_WARNING, MODULE, "could not read a batch from the spool directory; will retry",
			  log_text("target", writer->name), log_text("reason", strerror(-err)));
	while (!writer->stop_now &&
		   pthread_cond_timedwait(&writer->changed, &writer->lock, &later) == 0)
		;
}

/* Drops the batch at the head, whose file cannot be read. The lock is released meanwhile. */
static void
drop_damaged(Writer *writer, int err)
{
	Endings endings = { .tail = &endings.head, .end = BATCH_SPOOL_DAMAGED };
	QueuedBatch *item = queue_pop(&writer->queue);

	endings_add(writer, &endings, item);
	pthread_mutex_unlock(&writer->lock);
	log_event(LOG_ERROR, MODULE, "could not read a batch from the spool directory and dropped it",
			  log_text("target", writer->name),
			  log_text("reason", err == -EBADMSG ? "file is damaged" : strerror(-err)),
			  log_number("batch", (int64_t) item->id.number),
			  log_number("samples", (int64_t) item->samples));
	endings_notify(writer, &endings);
	pthread_mutex_lock(&writer->lock);
}

/*
 * Puts batches at the head of the queue in flight, with their content in memory, and returns their
 * number. Returns 0 if the head cannot be read; it is then dropped, or read again later. The caller
 * must hold the lock, which is released meanwhile.
 */
static uint32_t
put_in_flight(Writer *writer)
{
	const QueuedBatch *head = writer->queue.head;
	uint32_t loaded;
	int err;

	/*
	 * Up to careful_until batches were refused together, and go in smaller flights. A flight must
	 * not extend beyond that batch.
	 */
	writer->queue.in_flight =
		head->order > writer->careful_until
			? flight_count(&writer->queue, FLIGHT_COUNT_MAX, UINT64_MAX)
			: flight_count(&writer->queue, writer->careful_count, writer->careful_until);
	/* without a spool all batches are in memory */
	if (writer->spool == NULL)
		return writer->queue.in_flight;
	pthread_mutex_unlock(&writer->lock);
	/* Reading may take long. Batches in flight stay in the queue meanwhile, whoever trims it. */
	loaded = spooler_load_flight(writer, &err);
	pthread_mutex_lock(&writer->lock);
	writer->queue.in_flight = loaded;
	if (loaded == 0 && is_passing(err))
		wait_to_read_again(writer, err);
	else if (loaded == 0)
		drop_damaged(writer, err);
	return loaded;
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
	uint64_t last;
	uint32_t count;

	pthread_mutex_lock(&writer->lock);
	/* A reload during the last flight must not shorten the waits of the next one. */
	writer->hurry = false;
	do
	{
		if (!wait_for_batch(writer))
		{
			pthread_mutex_unlock(&writer->lock);
			return false;
		}
		count = put_in_flight(writer);
	} while (count == 0);
	head = writer->queue.head;
	/*
	 * Not with a flight that may be refused: the report is not at fault, and would be sent again
	 * with each attempt.
	 */
	if (head->order > writer->careful_until && !head->is_piece)
	{
		report = writer->unreported;
		writer->unreported = NULL;
	}
	last = queue_order_at(&writer->queue, count);
	pthread_mutex_unlock(&writer->lock);
	if (flight_load(flight, head, count, report))
		return true;

	/* the batches do not fit into one batch, so store them one by one */
	pthread_mutex_lock(&writer->lock);
	writer->careful_until = last;
	writer->careful_count = 1;
	writer->queue.in_flight = 1;
	if (report != NULL)
		endings_queue_report(writer, report);
	pthread_mutex_unlock(&writer->lock);
	return flight_load(flight, head, 1, NULL);
}

/* Ends all batches in flight with one outcome. The caller must hold the lock. */
static void
end_flight(Writer *writer, Endings *endings, BatchEnd end)
{
	endings->end = end;
	/* queue_pop() counts in_flight down */
	while (writer->queue.in_flight > 0)
		endings_add(writer, endings, queue_pop(&writer->queue));
}

/* Replaces the batch at the queue's head by two pieces, in the spool as well if it is there. */
static void
replace_head(Writer *writer, QueuedBatch *pieces[2])
{
	QueuedBatch *whole;

	pthread_mutex_lock(&writer->lock);
	/*
	 * The spooler reads the batch, and its file does not exist yet: whether the pieces need files
	 * is known afterwards.
	 */
	while (writer->queue.head->is_spooling)
		pthread_cond_wait(&writer->changed, &writer->lock);
	/*
	 * marks the pieces as being written by spooler_divide(), so that the spooler leaves them alone
	 */
	pieces[0]->is_spooling = pieces[1]->is_spooling = writer->queue.head->is_on_disk;
	whole = queue_divide_head(&writer->queue, pieces[0], pieces[1]);
	writer->stats.spooled_batches -= whole->is_on_disk;
	writer->divisions++;
	pthread_mutex_unlock(&writer->lock);
	if (whole->is_on_disk)
		spooler_divide(writer, &whole->on_disk, pieces);
	queued_batch_free(whole);
}

/* Replaces the refused batch at the queue's head by two pieces. Returns false on out of memory. */
static bool
divide_flight(Writer *writer, const Flight *flight)
{
	QueuedBatch *pieces[2] = { NULL, NULL };
	Batch *batches[2];

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
			pieces[i]->is_report = pieces[i]->samples == 0;
			/* the age of a piece is that of its batch */
			pieces[i]->queued_ns = flight->item->queued_ns;
		}
	}
	if (pieces[0] != NULL && pieces[1] != NULL)
	{
		replace_head(writer, pieces);
		return true;
	}
	for (int i = 0; i < 2; i++)
		queued_batch_free(pieces[i]);
	return false;
}

/*
 * Applies a verdict to the queue. A refused flight of several batches is split, and its report
 * becomes a batch of its own. The caller must hold the lock.
 */
static void
apply_verdict(Writer *writer, RetryVerdict verdict, Flight *flight, Endings *endings)
{
	const BatchSample *samples;
	Batch *report = flight->report;

	if (verdict == VERDICT_DONE)
	{
		if (writer->repeated)
			writer->stats.batches_repeated++;
		else
		{
			writer->stats.transactions++;
			writer->stats.samples_written += batch_samples(flight->batch, &samples);
			note_newest(writer, flight->batch);
		}
		/*
		 * Numbers ascend: if this batch was not known to the database, no later batch of the same
		 * writer is known.
		 */
		if (flight->item->is_doubtful && writer->target.store.was_new)
			queue_clear_doubt(&writer->queue, flight->id.writer);
		/* after a success flights grow again, by doubling */
		writer->careful_count = MIN(writer->careful_count * 2, FLIGHT_COUNT_MAX);
		end_flight(writer, endings, BATCH_STORED);
		return;
	}
	if (verdict == VERDICT_GIVE_UP && flight->merged == NULL)
	{
		end_flight(writer, endings, BATCH_REFUSED);
		return;
	}
	/* The flight was not stored: its batches stay in the queue, and its report returns there. */
	flight->report = NULL;
	if (writer->spool != NULL)
		spooler_unload(writer, writer->queue.in_flight);
	/* halves: a batch at fault among 64 is alone after six of them */
	if (verdict == VERDICT_GIVE_UP)
	{
		writer->careful_until = MAX(writer->careful_until, flight->order);
		writer->careful_count = MAX(writer->queue.in_flight / 2, 1);
	}
	writer->queue.in_flight = 0;
	if (report != NULL)
		endings_queue_report(writer, report);
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
	/* the series at fault, if the batch was divided down to one series */
	series += samples[0].series;
	length = (size_t) snprintf(text, room, "%s{", series->profile_type);
	for (uint32_t i = 0; i < series->label_count && length < room; i++)
		length += (size_t) snprintf(text + length, room - length, "%s%s=\"%s\"", i > 0 ? ", " : "",
									series->labels[i].name, series->labels[i].value);
	if (length < room)
		(void) snprintf(text + length, room - length, "}");
}

/* Logs the refused batch, which is the only batch of the flight. */
static void
log_refused(const Writer *writer, const QueuedBatch *item, const DbError *error)
{
	char series[SERIES_TEXT_BYTES];

	describe_series(item->batch, series, sizeof(series));
	log_event(LOG_ERROR, MODULE, "could not store a batch and dropped it",
			  log_text("target", writer->name), log_text("reason", error->failure.message),
			  log_text("detail", error->failure.detail), log_text("hint", error->failure.hint),
			  log_text("sqlstate", error->sqlstate), log_number("batch", (int64_t) item->id.number),
			  log_number("samples", (int64_t) item->samples), log_text("first_series", series));
}

/*
 * Removes finished batches from the queue, counts them and notifies their submitters; a refused
 * batch may be divided instead.
 */
static void
finish_flight(Writer *writer, Flight *flight, RetryVerdict verdict, const DbError *error)
{
	Endings endings = { .tail = &endings.head, .error = verdict == VERDICT_DONE ? NULL : error };

	/*
	 * A batch that was given up because of timeouts is not divided: its pieces would run into the
	 * timeout, too.
	 */
	if (verdict == VERDICT_GIVE_UP && retry_was_refused(&writer->retry) &&
		is_divisible(writer, flight) && divide_flight(writer, flight))
	{
		flight_fini(flight);
		return;
	}
	pthread_mutex_lock(&writer->lock);
	apply_verdict(writer, verdict, flight, &endings);
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);

	if (endings.head != NULL && endings.end == BATCH_REFUSED)
		log_refused(writer, endings.head, error);
	endings_notify(writer, &endings);
	flight_fini(flight);
}

/*
 * Logs the connection. If the writer is no target, the level is debug, because the writer may
 * belong to a command that lists stored files on its terminal.
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

/* Returns true if the writer was asked to end, but may finish its current work. */
static bool
is_asked_to_end(Writer *writer)
{
	bool asked;

	pthread_mutex_lock(&writer->lock);
	asked = writer->stopping && !writer->stop_now;
	pthread_mutex_unlock(&writer->lock);
	return asked;
}

/* Runs the body of the thread. */
static void *
writer_main(void *arg)
{
	Writer *writer = arg;
	DbError error = { "" };
	/* Connects before the first batch, so that a wrong password is reported at once. */
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
		if (verdict == VERDICT_DONE && clock_ns(CLOCK_MONOTONIC) >= writer->reporter.due_ns)
			reporter_send(&writer->reporter, &writer->target, false);
	}
	if (ends_in_order(writer))
		target_end(&writer->target);
	if (is_asked_to_end(writer) && connection_stands(&writer->target.session.connection))
		reporter_send(&writer->reporter, &writer->target, true);
	pthread_mutex_lock(&writer->lock);
	/* writer_failure() returns this reason */
	if (writer->retry.state == RETRY_ENDED)
		writer->failure = error.failure;
	writer->finished = true;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

/* --- the interface --- */

/*
 * Makes a random UUID by RFC 9562: version 4, variant 1. Returns 0; -errno if no random numbers are
 * available.
 */
static int
draw_uuid(char uuid[WRITER_UUID_BYTES])
{
	if (getrandom(uuid, WRITER_UUID_BYTES, 0) != WRITER_UUID_BYTES)
		return -errno;
	uuid[6] = (char) ((uuid[6] & 0x0F) | 0x40);
	uuid[8] = (char) ((uuid[8] & 0x3F) | 0x80);
	return 0;
}

/* Initializes locks, queue, retry and target. Returns 0 or -errno. */
static int
writer_init(Writer *writer, const WriterOptions *options)
{
	TargetOptions target = { .conninfo = options->conninfo,
							 .node = options->node,
							 .cache_bytes =
								 options->cache_bytes > 0 ? options->cache_bytes : CACHE_BYTES,
							 .gate = options->gate };
	int err;

	pthread_mutex_init(&writer->lock, NULL);
	clock_condition_init(&writer->changed);
	writer->name = options->target;
	writer->queue.limit_bytes = options->queue_bytes;
	reporter_init(&writer->reporter, &options->report);
	retry_init(&writer->retry, options->target,
			   options->denied_ms > 0 ? options->denied_ms : WRITER_DENIED_MS);
	writer->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = writer->wake_fd < 0 ? -errno : draw_uuid(writer->queue.writer);
	target.wake_fd = writer->wake_fd;
	/* also after an error: writer_free() expects an initialized target */
	if (target_init(&writer->target, &target) != 0)
		err = -ENOMEM;
	return err;
}

/* Opens the spool, if a directory is given, and queues its batches. */
static ExitCode
open_spool(Writer *writer, const WriterOptions *options, Failure *failure)
{
	const SpoolOptions *spool = &options->spool;

	if (spool->directory == NULL || spool->directory[0] == '\0')
		return EXIT_OK;
	writer->spool_limit_bytes = spool->size_bytes;
	writer->spool_age_ns = spool->age_ms * INT64_C(1000000);
	if (spool_open(spool->directory, &writer->spool, failure) != EXIT_OK)
		return failure->code;
	return spooler_queue_found(writer) == 0 ? EXIT_OK : failure_out_of_memory(failure);
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
	else if (!conninfo_check(options->conninfo, &error))
	{
		*failure = error.failure;
		failure->code = EXIT_CONFIG;
	}
	else if (open_spool(self, options, failure) == EXIT_OK)
	{
		*writer = self;
		return EXIT_OK;
	}
	writer_free(self);
	return failure->code;
}

int
writer_start(Writer *writer)
{
	/* the spooler first: if its thread cannot be started, no batch has been taken yet */
	int err = spooler_start(writer);

	if (err != 0)
		return err;
	err = thread_start(&writer->thread, writer_main, writer);
	writer->started = err == 0;
	if (err != 0 && writer->spool != NULL)
		spooler_finish(writer, SPOOL_FINISH_MS);
	return err;
}

int
writer_submit(Writer *writer, Batch *batch, const BatchCallback *callback)
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
		queue_push(&writer->queue, item);
		pthread_cond_broadcast(&writer->changed);
	}
	pthread_mutex_unlock(&writer->lock);
	/* the item only: the batch still belongs to the caller */
	if (err != 0)
		free(item);
	return err;
}

/*
 * Drops the oldest batches that are not in flight until the queue is within its limit. The caller
 * must hold the lock.
 */
static uint64_t
trim_queue(Writer *writer, Endings *endings)
{
	uint64_t before = writer->stats.samples_dropped;
	QueuedBatch *item;

	/* may end above the limit: batches in flight or being written to the spool stay */
	while (writer->queue.bytes > writer->queue.limit_bytes &&
		   (item = queue_pop_waiting(&writer->queue)) != NULL)
		endings_add(writer, endings, item);
	return writer->stats.samples_dropped - before;
}

void
writer_submit_newest(Writer *writer, Batch *batch)
{
	QueuedBatch *item = queued_batch_create(batch, NULL);
	Endings endings = { .tail = &endings.head, .end = BATCH_PUSHED_OUT };
	const BatchSample *samples;
	uint64_t dropped;

	pthread_mutex_lock(&writer->lock);
	/* pushed first, then trimmed, so that the newest batch is the last one to be dropped */
	if (item != NULL)
	{
		queue_push(&writer->queue, item);
		dropped = trim_queue(writer, &endings);
	}
	else
	{
		dropped = batch_samples(batch, &samples);
		writer->stats.batches_dropped++;
		writer->stats.samples_dropped += dropped;
		endings_report_loss(writer, batch, dropped, BATCH_PUSHED_OUT);
		batch_free(batch);
	}
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);

	if (dropped > 0)
		log_event(LOG_WARNING, MODULE, "queue is full; dropped its oldest batches",
				  log_text("target", writer->name), log_number("samples", (int64_t) dropped));
	endings_notify(writer, &endings);
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
		return failure_out_of_memory(failure);
	pthread_mutex_lock(&writer->lock);
	/* an earlier reload that has not been adopted yet */
	free(writer->new_conninfo);
	writer->new_conninfo = copy;
	writer->queue.limit_bytes = queue_bytes;
	writer->hurry = true;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	return EXIT_OK;
}

/*
 * Returns true if a writer that stops need not wait for its database: the database is not
 * available, and all batches are on disk. The caller must hold the lock.
 */
static bool
may_leave_to_spool(const Writer *writer)
{
	return writer->spool != NULL && writer->stats.state != RETRY_STARTING &&
		   writer->stats.state != RETRY_READY && spooler_has_all(writer);
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
	/* 1. Until the queue is empty, or may be left to the spool. */
	while (!writer->finished && !may_leave_to_spool(writer) &&
		   pthread_cond_timedwait(&writer->changed, &writer->lock, &deadline) == 0)
		;
	/* 2. The thread may be in a query: wake_fd ends its wait for the server. */
	writer->stop_now = true;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);

	/* the write of an eventfd fails only if its value would exceed 2^64 - 2 */
	if (write(writer->wake_fd, &one, sizeof(one)) == (ssize_t) sizeof(one))
		pthread_join(writer->thread, NULL);
	writer->started = false;
	if (writer->spool != NULL)
		spooler_finish(writer, SPOOL_FINISH_MS);
}

bool
writer_drain(Writer *writer, int deadline_ms)
{
	Endings endings = { .tail = &endings.head, .end = BATCH_LEFT };
	QueuedBatch *item;

	if (writer->started)
		stop_thread(writer, deadline_ms);
	pthread_mutex_lock(&writer->lock);
	writer->stopping = true;
	writer->queue.in_flight = 0;
	while ((item = queue_pop(&writer->queue)) != NULL)
	{
		/* the file is for the next process; its submitter was notified when it was written */
		if (item->is_on_disk && !item->is_spooling)
			queued_batch_free(item);
		else
			endings_add(writer, &endings, item);
	}
	pthread_mutex_unlock(&writer->lock);
	endings_notify(writer, &endings);
	return endings.head == NULL;
}

void
writer_stats(Writer *writer, WriterStats *stats)
{
	pthread_mutex_lock(&writer->lock);
	*stats = writer->stats;
	stats->queued_bytes = writer->queue.bytes;
	stats->spooled_bytes = writer->spool != NULL ? spool_bytes(writer->spool) : 0;
	stats->spool_limit_bytes = writer->spool_limit_bytes;
	stats->spool_is_nearly_full = writer->spool != NULL && spooler_is_nearly_full(writer);
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
	if (writer->spooler_is_left)
		return; /* return without freeing: the disk hangs, and the spooler still uses all this */
	spool_close(writer->spool);
	target_fini(&writer->target);
	batch_free(writer->unreported);
	free(writer->new_conninfo);
	if (writer->wake_fd >= 0)
		close(writer->wake_fd);
	pthread_cond_destroy(&writer->changed);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}
