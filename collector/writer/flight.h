/*
 * flight.h
 *		The content of one transaction: batches at the head of the queue that were queued within a
 *		minute, and a report of losses of dropped batches.
 *
 * A flight is stored under the number of its last batch. A process repeats a flight as it was, so
 * begin_batch() knows it again. A batch that another process may have stored, in a flight of its
 * own, goes alone: merged with later ones it would have a number that is not known.
 */
#ifndef COLLECTOR_FLIGHT_H
#define COLLECTOR_FLIGHT_H

#include "writer/queue.h"

typedef struct Flight
{
	const Batch *batch;		 /* everything to be stored */
	const QueuedBatch *item; /* head of the queue */
	BatchId id;				 /* of the last batch, like order */
	uint64_t order;
	Batch *merged; /* owned; NULL if batch is the head of the queue alone */
	Batch *report; /* owned, contained in merged; NULL if there is none */
} Flight;

#define FLIGHT_COUNT_MAX 1000

/*
 * Returns how many of the queue's first batches to store together: at most count_max, and none with
 * an order greater than last. A piece of a refused batch goes alone. The queue must not be empty.
 */
uint32_t flight_count(const Queue *queue, uint32_t count_max, uint64_t last);

/*
 * Merges the queue's batches in flight and the report, which then belongs to the flight. Returns
 * false, and changes nothing, if they do not fit into one batch. Needs no lock, because batches in
 * flight stay in place.
 */
bool flight_load(Flight *flight, const QueuedBatch *head, uint32_t count, Batch *report);

/* Frees the merged batch, and the report unless it was taken out. */
void flight_fini(Flight *flight);

#endif
