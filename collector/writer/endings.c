/*
 * endings.c
 *		Counts, reports and frees batches that have an outcome.
 */
#include "writer/endings.h"

#include <string.h>

#include "base/log.h"
#include "batch/losses.h"

/* Limit of the losses of dropped batches, by reason. */
#define UNREPORTED_BYTES ((size_t) 64 * 1024)

/*
 * Returns the reason to report for a batch that was not stored; NULL if it was stored or is on
 * disk.
 */
static const char *
loss_reason(BatchEnd end)
{
	static const Loss losses[] = {
		[BATCH_REFUSED] = LOSS_DATABASE_REFUSED,	[BATCH_PUSHED_OUT] = LOSS_QUEUE_FULL,
		[BATCH_SPOOL_FULL] = LOSS_SPOOL_FULL,		[BATCH_SPOOL_EXPIRED] = LOSS_SPOOL_EXPIRED,
		[BATCH_SPOOL_DAMAGED] = LOSS_SPOOL_DAMAGED, [BATCH_LEFT] = LOSS_WRITER_STOPPED,
	};

	return end != BATCH_STORED && end != BATCH_SPOOLED ? loss_facts(losses[end])->reason : NULL;
}

void
endings_report_loss(struct Writer *writer, const Batch *batch, uint64_t count, BatchEnd end)
{
	const BatchLoss *losses;
	const BatchUnwound *unwound;
	/*
	 * The batch's own losses and counts were not stored with it, and go on to the next report.
	 * NULL: the content of the batch could not be read from disk.
	 */
	size_t loss_count = batch != NULL ? batch_losses(batch, &losses) : 0;
	size_t unwound_count = batch != NULL ? batch_unwound(batch, &unwound) : 0;

	/* Out of memory, the losses are in the statistics and in the log only. */
	if (writer->unreported == NULL && batch_create(UNREPORTED_BYTES, &writer->unreported) != 0)
		return;
	for (size_t i = 0; i < loss_count; i++)
		batch_add_loss(writer->unreported, losses[i].reason, losses[i].count);
	for (size_t i = 0; i < unwound_count; i++)
		batch_add_unwound(writer->unreported, &unwound[i]);
	if (count > 0)
		batch_add_loss(writer->unreported, loss_reason(end), count);
}

void
endings_add(struct Writer *writer, Endings *endings, QueuedBatch *item)
{
	BatchEnd end = endings->end;

	if (end == BATCH_STORED)
		writer->stats.batches_written += !item->is_report;
	else if (end == BATCH_REFUSED)
	{
		writer->stats.batches_refused++;
		writer->stats.samples_refused += item->samples;
	}
	else
	{
		writer->stats.batches_dropped++;
		writer->stats.samples_dropped += item->samples;
	}
	/* A refused report is not reported again: it would be refused again, for ever. */
	if (end != BATCH_STORED && item->callback.function == NULL &&
		!(item->is_report && end == BATCH_REFUSED))
		endings_report_loss(writer, item->batch, item->samples, end);
	writer->stats.spooled_batches -= item->is_on_disk;
	item->has_left = true;
	*endings->tail = item;
	endings->tail = &item->next;
}

void
endings_remove_file(struct Writer *writer, const SpooledBatch *file)
{
	int err = spool_remove(writer->spool, file);

	if (err == 0)
		return;
	log_event(LOG_ERROR, "writer", "could not remove the file of a batch from the spool directory",
			  log_text("target", writer->name), log_text("reason", strerror(-err)),
			  log_number("batch", (int64_t) file->id.number));
	pthread_mutex_lock(&writer->lock);
	writer->stats.spool_failures++;
	pthread_mutex_unlock(&writer->lock);
}

void
endings_notify(struct Writer *writer, const Endings *endings)
{
	for (QueuedBatch *item = endings->head, *next; item != NULL; item = next)
	{
		/* The item has left the queue, so only the spooler may still use it. */
		const BatchResult result = {
			.number = item->id.number,
			.end = endings->end,
			.batch = item->batch,
			.reason = loss_reason(endings->end),
			.why = endings->error ? &endings->error->failure : NULL,
			.sqlstate = endings->error ? endings->error->sqlstate : "",
		};
		bool is_spooling;

		/* before the callback, after which the spooler may free the item */
		next = item->next;
		if (item->callback.function != NULL)
			item->callback.function(item->callback.context, &result);
		pthread_mutex_lock(&writer->lock);
		/*
		 * Both flags under one lock: either the spooler finds has_ended and frees the item, or this
		 * function finds is_spooling cleared and does.
		 */
		is_spooling = item->is_spooling;
		item->has_ended = is_spooling;
		pthread_mutex_unlock(&writer->lock);
		if (is_spooling)
			continue; /* the spooler will free it */
		if (item->is_on_disk)
			endings_remove_file(writer, &item->on_disk);
		queued_batch_free(item);
	}
}

void
endings_queue_report(struct Writer *writer, Batch *report)
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
