/*
 * writer.c
 *		The writer's thread, its queue, and when to try again.
 *
 * The lock guards queue, statistics, failure and the losses to be reported; it is never held while
 * the database is asked. The batch that is being written stays at the head of the queue, marked in
 * flight: only the thread may touch it. Session, interner and store belong to the thread once it
 * runs.
 */
#include "writer/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "writer/store.h"

#define RETRY_MIN_MS 100
#define RETRY_MAX_MS 30000

/*
 * A batch that the server refuses is tried anew with fresh ids and partitions before it is given
 * up.
 */
#define REFUSALS_MAX 3

/* Losses of dropped batches, by reason. */
#define UNREPORTED_BYTES ((size_t) 64 * 1024)

typedef struct QueuedBatch
{
	struct QueuedBatch *next;
	Batch *batch;
	size_t bytes;
	int64_t queued_ns; /* CLOCK_MONOTONIC */
	bool is_report;	   /* the writer's own: only losses of batches that were not stored */
} QueuedBatch;

struct Writer
{
	/* the thread's, once it runs */
	char *conninfo;
	Session session;
	Interner interner;
	Store store;
	Identity interned_under;
	uint64_t last_number;

	pthread_t thread;
	bool started;
	int wake_fd; /* eventfd: readable when the thread shall stop at once */
	size_t queue_limit_bytes;

	pthread_mutex_t lock;	/* guards what follows */
	pthread_cond_t changed; /* any of it; waits by the monotonic clock */
	QueuedBatch *head;
	QueuedBatch *tail;
	bool in_flight; /* the head is being written */
	bool stopping;	/* stop when the queue is empty */
	bool stop_now;
	bool finished;	   /* the thread has ended */
	Batch *unreported; /* losses that no queued batch carries yet, or NULL */
	WriterStats stats;
	Failure failure; /* of code EXIT_OK while there is none */
};

/* --- the queue; all with the lock held --- */

static void
queue_push(Writer *writer, QueuedBatch *item)
{
	if (writer->tail != NULL)
		writer->tail->next = item;
	else
		writer->head = item;
	writer->tail = item;
	writer->stats.queued_bytes += item->bytes;
}

/* Takes out the item behind previous, or the head where previous is NULL. */
static QueuedBatch *
queue_remove(Writer *writer, QueuedBatch *previous)
{
	QueuedBatch *item = previous ? previous->next : writer->head;

	if (previous != NULL)
		previous->next = item->next;
	else
		writer->head = item->next;
	if (writer->tail == item)
		writer->tail = previous;
	writer->stats.queued_bytes -= item->bytes;
	item->next = NULL;
	return item;
}

static QueuedBatch *
queued_batch_create(Batch *batch, bool is_report)
{
	QueuedBatch *item = calloc(1, sizeof(QueuedBatch));

	if (item == NULL)
		return NULL;
	item->batch = batch;
	item->bytes = sizeof(QueuedBatch) + batch_bytes(batch);
	item->queued_ns = clock_ns(CLOCK_MONOTONIC);
	item->is_report = is_report;
	return item;
}

/*
 * Notes that a batch will not be stored, and why, for the next report. What does not fit there (64
 * kB of reasons, or memory is out) is in the statistics alone.
 */
static void
report_loss(Writer *writer, const Batch *batch, const char *reason)
{
	const BatchSample *samples;
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
	batch_add_loss(writer->unreported, reason, batch_samples(batch, &samples));
}

static void
drop_batch(Writer *writer, Batch *batch)
{
	const BatchSample *samples;

	writer->stats.batches_dropped++;
	writer->stats.samples_dropped += batch_samples(batch, &samples);
	report_loss(writer, batch, "writer_queue_full");
	batch_free(batch);
}

/* Drops the oldest batches that are not in flight until the queue keeps its budget. */
static void
queue_trim(Writer *writer)
{
	QueuedBatch *kept = writer->in_flight ? writer->head : NULL;

	while (writer->stats.queued_bytes > writer->queue_limit_bytes)
	{
		QueuedBatch *item = kept ? kept->next : writer->head;

		if (item == NULL)
			return;
		queue_remove(writer, kept);
		drop_batch(writer, item->batch);
		free(item);
	}
}

/* --- one batch, on the thread --- */

static void
forget_ids(Writer *writer)
{
	interner_clear(&writer->interner);
	store_forget(&writer->store);
}

static bool
identity_equal(const Identity *a, const Identity *b)
{
	return a->epoch == b->epoch && a->database_oid == b->database_oid &&
		   a->extension_oid == b->extension_oid;
}

static DbOutcome
write_once(Writer *writer, const Batch *batch, uint64_t number, DbError *error)
{
	Session *session = &writer->session;
	BatchIds ids = { NULL };
	DbOutcome outcome = session_open(session, writer->conninfo, error);

	if (outcome != DB_OK)
		return outcome;
	if (!identity_equal(&session->identity, &writer->interned_under))
	{
		forget_ids(writer);
		writer->interned_under = session->identity;
	}
	outcome = store_ensure_partitions(&writer->store, &session->connection, batch, error);
	if (outcome == DB_OK)
		outcome = intern_batch(&writer->interner, session, batch, &ids, error);
	if (outcome == DB_OK)
		outcome = store_batch(&writer->store, session, batch, number, &ids, error);
	batch_ids_fini(&ids);
	return outcome;
}

/*
 * After a failure, makes ready for another attempt: what the server refused may have been wrong in
 * our memory. True where the very next attempt may go well, since the epoch is another one now.
 */
static bool
prepare_retry(Writer *writer, DbOutcome outcome)
{
	Identity before = writer->session.identity;
	DbError ignored;

	if (outcome == DB_AWAY)
		return false;
	forget_ids(writer);
	if (outcome != DB_EPOCH || writer->session.connection.pg == NULL)
		return false;
	return session_refresh(&writer->session, &ignored) == DB_OK &&
		   !identity_equal(&before, &writer->session.identity);
}

/* Sleeps for between half and all of delay_ms, so that many writers do not come at once. */
static int
jitter(int delay_ms)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t) sizeof(random))
		random = (uint32_t) getpid() * UINT32_C(2654435761);
	return delay_ms / 2 + (int) (random % (uint32_t) (delay_ms / 2 + 1));
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

/* Counts a retry and waits; false where the writer shall stop. */
static bool
wait_for_retry(Writer *writer, int wait_ms)
{
	struct timespec deadline = deadline_after_ms(wait_ms);
	bool stop;

	pthread_mutex_lock(&writer->lock);
	writer->stats.retries++;
	while (!writer->stop_now &&
		   pthread_cond_timedwait(&writer->changed, &writer->lock, &deadline) == 0)
		;
	stop = writer->stop_now;
	pthread_mutex_unlock(&writer->lock);
	return !stop;
}

/* Tries until the batch is stored, refused for good, or the writer must end. */
static DbOutcome
write_batch(Writer *writer, const Batch *batch, DbError *error)
{
	uint64_t number = ++writer->last_number;
	int delay_ms = RETRY_MIN_MS;
	int refusals = 0;

	for (int attempt = 1;; attempt++)
	{
		DbOutcome outcome = write_once(writer, batch, number, error);
		bool at_once;
		int wait_ms;

		if (outcome == DB_OK && attempt > 1)
			log_event(LOG_INFO, "writer", "stored the batch after trying again",
					  log_number("attempts", attempt));
		if (outcome == DB_OK || outcome == DB_PERMANENT || outcome == DB_STOPPED)
			return outcome;
		at_once = prepare_retry(writer, outcome);
		if (outcome != DB_AWAY && !at_once && ++refusals == REFUSALS_MAX)
			return DB_REFUSED;
		wait_ms = at_once ? 0 : jitter(delay_ms);
		log_event(LOG_WARNING, "writer", "could not store a batch and will try again",
				  log_text("reason", error->failure.message),
				  log_text("detail", error->failure.detail), log_text("hint", error->failure.hint),
				  log_text("sqlstate", error->sqlstate), log_number("attempt", attempt),
				  log_number("retry_ms", wait_ms));
		if (!wait_for_retry(writer, wait_ms))
			return DB_STOPPED;
		if (!at_once)
			delay_ms = delay_ms * 2 < RETRY_MAX_MS ? delay_ms * 2 : RETRY_MAX_MS;
	}
}

/* --- the thread --- */

/* The losses of dropped batches become a batch of their own, before all others. */
static void
queue_report(Writer *writer)
{
	QueuedBatch *item;

	if (writer->unreported == NULL)
		return;
	item = queued_batch_create(writer->unreported, true);
	if (item == NULL)
		return;
	writer->unreported = NULL;
	item->next = writer->head;
	writer->head = item;
	if (writer->tail == NULL)
		writer->tail = item;
	writer->stats.queued_bytes += item->bytes;
}

/* Waits for the next batch and marks it in flight; NULL where the thread shall end. */
static Batch *
take_batch(Writer *writer)
{
	Batch *batch = NULL;

	pthread_mutex_lock(&writer->lock);
	for (;;)
	{
		if (writer->stop_now)
			break;
		queue_report(writer);
		if (writer->head != NULL)
		{
			batch = writer->head->batch;
			writer->in_flight = true;
			break;
		}
		if (writer->stopping)
			break;
		pthread_cond_wait(&writer->changed, &writer->lock);
	}
	pthread_mutex_unlock(&writer->lock);
	return batch;
}

/* Takes the batch in flight out of the queue where it is done with, counts it. */
static void
finish_batch(Writer *writer, DbOutcome outcome, const DbError *error)
{
	const BatchSample *samples;
	QueuedBatch *item;
	uint64_t count;

	pthread_mutex_lock(&writer->lock);
	writer->in_flight = false;
	count = batch_samples(writer->head->batch, &samples);
	if (outcome == DB_PERMANENT)
	{
		writer->failure = error->failure;
	}
	if (outcome == DB_OK || outcome == DB_REFUSED)
	{
		item = queue_remove(writer, NULL);
		if (outcome == DB_OK)
		{
			writer->stats.batches_written += !item->is_report;
			writer->stats.samples_written += count;
		}
		else
		{
			writer->stats.batches_refused++;
			writer->stats.samples_refused += count;
			if (!item->is_report) /* a server that refuses losses is not told of them for ever */
				report_loss(writer, item->batch, "database_refused");
		}
		batch_free(item->batch);
		free(item);
	}
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);

	/* a permanent failure is for whoever asks writer_failure */
	if (outcome == DB_REFUSED)
		log_event(LOG_ERROR, "writer", "could not store a batch and dropped it",
				  log_text("reason", error->failure.message),
				  log_text("detail", error->failure.detail), log_text("hint", error->failure.hint),
				  log_text("sqlstate", error->sqlstate), log_number("samples", (int64_t) count));
}

static void *
writer_main(void *arg)
{
	Writer *writer = arg;
	DbOutcome outcome = DB_OK;
	Batch *batch;

	while (outcome != DB_PERMANENT && (batch = take_batch(writer)) != NULL)
	{
		DbError error = { "" };

		outcome = write_batch(writer, batch, &error);
		finish_batch(writer, outcome, &error);
	}
	pthread_mutex_lock(&writer->lock);
	writer->finished = true;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

/* --- the interface --- */

static int
writer_init(Writer *writer, const WriterOptions *options)
{
	pthread_condattr_t attributes;
	int err;

	pthread_mutex_init(&writer->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&writer->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	interner_init(&writer->interner);
	writer->queue_limit_bytes = options->queue_bytes;
	writer->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	writer->session.connection.wake_fd = writer->wake_fd;
	err = store_init(&writer->store, options->node);
	if (err != 0)
		return err;
	if (writer->wake_fd < 0)
		return -errno;
	writer->conninfo = strdup(options->conninfo);
	return writer->conninfo ? 0 : -ENOMEM;
}

ExitCode
writer_create(const WriterOptions *options, Writer **writer, Failure *failure)
{
	Writer *self = calloc(1, sizeof(Writer));
	ExitCode code = EXIT_OK;
	DbError error = { "" };
	int err = self ? writer_init(self, options) : -ENOMEM;

	if (err != 0)
	{
		code = EXIT_INTERNAL;
		db_error_set(&error, NULL, "could not set up the writer", strerror(-err), NULL);
	}
	else if (!conninfo_check(options->conninfo, &error))
		code = EXIT_CONFIG;
	else
	{
		self->session.connection.wake_fd = options->stop_fd;
		if (session_open(&self->session, self->conninfo, &error) != DB_OK)
			code = EXIT_DATABASE;
		self->session.connection.wake_fd = self->wake_fd;
	}
	if (code != EXIT_OK)
	{
		*failure = error.failure;
		failure->code = code;
		writer_free(self);
		return code;
	}
	*writer = self;
	return EXIT_OK;
}

int
writer_start(Writer *writer)
{
	sigset_t all;
	sigset_t before;
	int err;

	/* signals are for the thread that called us */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&writer->thread, NULL, writer_main, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	writer->started = err == 0;
	return -err;
}

void
writer_submit(Writer *writer, Batch *batch)
{
	QueuedBatch *item = queued_batch_create(batch, false);
	uint64_t dropped;

	pthread_mutex_lock(&writer->lock);
	dropped = writer->stats.samples_dropped;
	if (item != NULL)
	{
		queue_push(writer, item);
		queue_trim(writer);
	}
	else
		drop_batch(writer, batch);
	dropped = writer->stats.samples_dropped - dropped;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);

	if (dropped > 0)
		log_event(LOG_WARNING, "writer", "queue is full and dropped its oldest batches",
				  log_number("samples", (int64_t) dropped));
}

bool
writer_drain(Writer *writer, int deadline_ms)
{
	struct timespec deadline = deadline_after_ms(deadline_ms);
	const uint64_t one = 1;
	uint64_t left = 0;

	if (writer->started)
	{
		pthread_mutex_lock(&writer->lock);
		writer->stopping = true;
		pthread_cond_broadcast(&writer->changed);
		while (!writer->finished &&
			   pthread_cond_timedwait(&writer->changed, &writer->lock, &deadline) == 0)
			;
		writer->stop_now = true;
		pthread_cond_broadcast(&writer->changed);
		pthread_mutex_unlock(&writer->lock);

		/* an eventfd takes a 1 unless it has been told 2^64 times */
		if (write(writer->wake_fd, &one, sizeof(one)) == (ssize_t) sizeof(one))
			pthread_join(writer->thread, NULL);
		writer->started = false;
	}
	while (writer->head != NULL)
	{
		QueuedBatch *item = queue_remove(writer, NULL);

		drop_batch(writer, item->batch);
		free(item);
		left++;
	}
	return left == 0;
}

void
writer_stats(Writer *writer, WriterStats *stats)
{
	pthread_mutex_lock(&writer->lock);
	*stats = writer->stats;
	stats->waiting_since_ns = writer->head != NULL ? writer->head->queued_ns : 0;
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
	connection_close(&writer->session.connection);
	interner_fini(&writer->interner);
	store_fini(&writer->store);
	batch_free(writer->unreported);
	if (writer->wake_fd >= 0)
		close(writer->wake_fd);
	pthread_cond_destroy(&writer->changed);
	pthread_mutex_destroy(&writer->lock);
	free(writer->conninfo);
	free(writer);
}
