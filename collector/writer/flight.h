/*
 * flight.h
 *		The content of one transaction: batches at the head of the queue that were queued within a
 *		minute, and a report of the losses of dropped batches.
 *
 * A flight is stored under the number of its last batch. A process repeats a flight unchanged, so
 * begin_batch() recognizes it. A batch that an earlier process may have stored, in a flight of its
 * own, is stored alone: merged with later ones it would have a number that the database does not
 * know.
 */
#ifndef COLLECTOR_FLIGHT_H
#define COLLECTOR_FLIGHT_H

#include "writer/queue.h"

typedef struct Flight
{
	const Batch *batch;		 /* everything that must be stored */
	const QueuedBatch *item; /* first batch, which is the head of the queue */
	BatchId id;				 /* id of the last batch; order is that of the last batch, too */
	uint64_t order;
	Batch *merged; /* owned; NULL if the flight is only the head of the queue */
	Batch *report; /* owned, its content is part of merged; NULL: there is none */
} Flight;

#define FLIGHT_COUNT_MAX 1000

/*
 * Returns how many of the queue's first batches to store together: at most count_max, and none with
 * an order above last. A piece of a refused batch is stored alone. The queue must not be empty.
 */
uint32_t flight_count(const Queue *queue, uint32_t count_max, uint64_t last);

/*
 * Merges the queue's batches in flight and the report, which the flight then owns. Returns false,
 * and changes nothing, if they do not fit into one batch. Needs no lock, because batches in flight
 * stay in the queue.
 */
bool flight_load(Flight *flight, const QueuedBatch *head, uint32_t count, Batch *report);

/* Frees the merged batch, and the report unless it was taken out. */
void flight_fini(Flight *flight);

#endif
