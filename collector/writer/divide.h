/*
 * divide.h
 *		Divides a batch that the server refused.
 *
 * A batch may contain samples of several senders. Dividing finds the part that the server refuses:
 * accepted pieces are stored, until only one series is left out.
 */
#ifndef COLLECTOR_DIVIDE_H
#define COLLECTOR_DIVIDE_H

#include <stdbool.h>

#include "batch/batch.h"

/*
 * Returns true if the batch has samples of more than one series, or samples in addition to losses
 * or unwinding counts.
 */
bool batch_is_divisible(const Batch *batch);

/*
 * Divides a batch by its series; losses and counts become a piece of their own. The batch is
 * unchanged. Returns 0; on failure -errno, without any piece.
 */
int batch_divide(const Batch *batch, Batch **first, Batch **second);

#endif
