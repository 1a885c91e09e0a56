/*
 * flight.h
 *		What goes into one transaction: the batches at the head of the queue that came within a
 *		minute, and losses of those that were given up.
 *
 * They are stored under the number of the last: numbers ascend, so whoever asks for an earlier one
 * later is told that it is stored.
 */
#ifndef COLLECTOR_FLIGHT_H
#define COLLECTOR_FLIGHT_H

#include "writer/queue.h"

typedef struct Flight
{
	const Batch *batch;		 /* all of it */
	const QueuedBatch *item; /* the queue's head */
	uint64_t number;
	Batch *merged; /* owned; NULL: batch is the queue's head alone */
	Batch *report; /* owned, within merged; NULL: none */
} Flight;

#define FLIGHT_COUNT_MAX 1000

/*
 * How many of the queue's first batches go together: at most count_max, and none beyond number
 * last. Pieces of a batch that was refused go alone. The queue must not be empty.
 */
uint32_t flight_count(const Queue *queue, uint32_t count_max, uint64_t last);

/*
 * Puts the queue's batches in flight together, and the report, which is the flight's from then on.
 * False where they do not fit into one batch: nothing has changed then. The queue's lock need not
 * be held: what is in flight stays where it is.
 */
bool flight_load(Flight *flight, const QueuedBatch *head, uint32_t count, Batch *report);

/* Gives back what was merged; the report, unless it was taken out. */
void flight_fini(Flight *flight);

#endif
