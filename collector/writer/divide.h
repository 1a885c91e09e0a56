/*
 * divide.h
 *		A batch that the server refused, in two pieces.
 *
 * A batch may hold what several senders sent. What the server refuses is found by dividing: pieces
 * that it takes are stored, and one series is left out in the end.
 */
#ifndef COLLECTOR_DIVIDE_H
#define COLLECTOR_DIVIDE_H

#include <stdbool.h>

#include "batch/batch.h"

/* True if there is more than one series with samples, or one and losses or counts of unwinding. */
bool batch_is_divisible(const Batch *batch);

/*
 * Divides a batch by its series; losses and counts go by themselves. The batch stays as it is. 0 or
 * -errno, and no piece is made then.
 */
int batch_divide(const Batch *batch, Batch **first, Batch **second);

#endif
