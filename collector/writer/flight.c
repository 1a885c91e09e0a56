/*
 * flight.c
 *		Merges batches that are stored together.
 */
#include "writer/flight.h"

#include <string.h>

/*
 * Limits of a flight: large enough to make the cost of a transaction negligible, small enough to be
 * stored within seconds. Losses are stored with the time of the transaction's first sample, so the
 * batches must be queued within a minute.
 */
#define FLIGHT_BYTES ((size_t) 16 * 1024 * 1024)
#define FLIGHT_NS	 (INT64_C(60) * 1000000000)

uint32_t
flight_count(const Queue *queue, uint32_t count_max, uint64_t last)
{
	const QueuedBatch *head = queue->head;
	size_t bytes = head->batch_bytes;
	uint32_t count = 1;

	/*
	 * A piece goes alone to find the series at fault. A doubtful batch goes alone, because a merged
	 * one has the number of its last batch.
	 */
	if (head->is_piece || head->is_doubtful)
		return 1;
	for (const QueuedBatch *item = head->next; item != NULL && count < count_max; item = item->next)
	{
		/*
		 * begin_batch() has one number for each writer, so batches of two writers cannot share a
		 * transaction.
		 */
		if (item->order > last ||
			memcmp(item->id.writer, head->id.writer, sizeof(head->id.writer)) != 0)
			break;
		bytes += item->batch_bytes;
		if (bytes > FLIGHT_BYTES || item->queued_ns - head->queued_ns > FLIGHT_NS)
			break;
		count++;
	}
	return count;
}

/* Merges the batches, and the report, into one batch. Returns false if they do not fit. */
static bool
flight_merge(Flight *flight, const QueuedBatch *head, uint32_t count, const Batch *report)
{
	/*
	 * The sum of the batches is at most FLIGHT_BYTES unless the first one is larger; the rest is
	 * for tables that grow by doubling.
	 */
	if (batch_create(2 * FLIGHT_BYTES + batch_bytes(head->batch), &flight->merged) != 0)
		return false;
	for (uint32_t i = 0; i < count; i++)
	{
		if (i > 0)
			/* do not read "next" of the last batch, which the queue may change at the same time */
			head = head->next;
		/* in the end the flight has the id of its last batch */
		flight->id = head->id;
		flight->order = head->order;
		if (batch_add_batch(flight->merged, head->batch) != 0)
			return false;
	}
	return report == NULL || batch_add_batch(flight->merged, report) == 0;
}

bool
flight_load(Flight *flight, const QueuedBatch *head, uint32_t count, Batch *report)
{
	*flight = (Flight){ .batch = head->batch, .item = head, .id = head->id, .order = head->order };
	/* one batch needs no copy */
	if (count == 1 && report == NULL)
		return true;
	if (!flight_merge(flight, head, count, report))
	{
		flight_fini(flight);
		return false;
	}
	flight->batch = flight->merged;
	flight->report = report;
	return true;
}

void
flight_fini(Flight *flight)
{
	batch_free(flight->merged);
	batch_free(flight->report);
	*flight = (Flight){ NULL };
}
