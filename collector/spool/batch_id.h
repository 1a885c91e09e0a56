/*
 * batch_id.h
 *		Identifies a batch for the database, which stores it at most once.
 */
#ifndef COLLECTOR_BATCH_ID_H
#define COLLECTOR_BATCH_ID_H

#include <stdint.h>

#define WRITER_UUID_BYTES 16

typedef struct BatchId
{
	char writer[WRITER_UUID_BYTES]; /* UUID of the writer that accepted the batch */
	uint64_t number; /* ascends in the order in which a writer's batches are stored */
} BatchId;

#endif
