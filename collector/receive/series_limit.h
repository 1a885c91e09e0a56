/*
 * series_limit.h
 *		Limits the number of series of each client in an hour. Each series stays in the database as
 *		long as it has samples, and costs all clients.
 *
 * Series are recognized by hashes with a seed of this process. The sets of all clients together use
 * at most SERIES_LIMIT_SLOTS_MAX times 8 bytes; beyond that, the set of the client whose hour began
 * first is emptied.
 */
#ifndef COLLECTOR_RECEIVE_SERIES_LIMIT_H
#define COLLECTOR_RECEIVE_SERIES_LIMIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch/batch.h"

#define SERIES_LIMIT_HOUR_NS   (INT64_C(3600) * 1000000000)
#define SERIES_LIMIT_SLOTS_MAX ((size_t) 1 << 22)

typedef struct SeriesLimit
{
	pthread_mutex_t lock;
	uint64_t seed;
	struct ClientSeries *clients; /* in the order in which their hours began */
	size_t slot_count;			  /* slots of all clients */
} SeriesLimit;

void series_limit_init(SeriesLimit *limit);
void series_limit_fini(SeriesLimit *limit);

/*
 * Adds the series of a batch to those of the client. Returns false, and adds none, if the client
 * would have more than max series in its hour. Returns true if out of memory, because nothing is
 * lost then.
 */
bool series_limit_take(SeriesLimit *limit, const char *client, const Batch *batch, size_t max,
					   int64_t now_ns);

#endif
