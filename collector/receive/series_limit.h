/*
 * series_limit.h
 *		How many series each client brings in an hour: each series stays in the database, and costs
 *		everybody, for as long as there are samples of it.
 *
 * The series of a client are known by hashes under a seed of this process. All of them take
 * SERIES_LIMIT_SLOTS_MAX times 8 bytes at most; beyond that the client whose hour began first
 * begins anew.
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
	size_t slot_count;			  /* of all of them */
} SeriesLimit;

void series_limit_init(SeriesLimit *limit);
void series_limit_fini(SeriesLimit *limit);

/*
 * Notes the series of a batch as the client's. Returns false, and notes none of them, if the client
 * would have more than max of them in its hour; true without memory.
 */
bool series_limit_take(SeriesLimit *limit, const char *client, const Batch *batch, size_t max,
					   int64_t now_ns);

#endif
