/*
 * repeats.h
 *		Digests of requests on their way to the database, and of stored requests whose client has
 *		no answer yet.
 *
 * A client that was asked to retry, or that disconnected, sends the request again. While the first
 * request is pending the second must not be stored as well; if the first was stored, the second is
 * answered as stored. This works within the life of one receiver; the receipts in the database last
 * longer.
 */
#ifndef COLLECTOR_RECEIVE_REPEATS_H
#define COLLECTOR_RECEIVE_REPEATS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define REPEATS_DIGEST_BYTES 32
#define REPEATS_MAX			 4096 /* limit of stored requests; the oldest are dropped */

typedef struct Repeat Repeat;

typedef struct Repeats
{
	pthread_mutex_t lock;
	Repeat *table;
	unsigned untold;
} Repeats;

typedef enum RepeatState
{
	REPEAT_NEW,		/* not known; it is pending from now on */
	REPEAT_PENDING, /* on its way to the database */
	REPEAT_STORED,
	REPEAT_NO_MEMORY
} RepeatState;

/*
 * Lifetime of a stored request whose client was asked to retry within it. A client that hung up may
 * retry soon or never: equal bytes that it sends later are another profile.
 */
#define REPEATS_ASKED_NS (INT64_C(60) * 1000000000)
#define REPEATS_LEFT_NS	 (INT64_C(4) * 1000000000)

void repeats_init(Repeats *repeats);
void repeats_fini(Repeats *repeats);

/* Looks up a digest. Times are of CLOCK_MONOTONIC. */
RepeatState repeats_begin(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES],
						  int64_t now_ns);

/* A pending request was stored, or failed and is forgotten. */
void repeats_end(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES], bool is_stored);

/* Forgets a stored request at that time, unless its client fetches the answer before. */
void repeats_expire(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES], int64_t until_ns);

/* The client got the answer that its request is stored. */
void repeats_told(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES]);

#endif
