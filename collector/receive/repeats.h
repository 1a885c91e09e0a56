/*
 * repeats.h
 *		Digests of requests that are being stored, and of stored requests whose client has received
 *		no answer yet.
 *
 * A client that was asked to retry, or that disconnected, sends the request again. While the first
 * request is pending, the second must not be stored as well; if the first was stored, the second is
 * answered as stored. This works while the receiver runs; the receipts in the database last longer.
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
	REPEAT_PENDING, /* the request is being stored */
	REPEAT_STORED,
	REPEAT_NO_MEMORY
} RepeatState;

/*
 * How long a stored request is kept if its client was asked to retry. A client that disconnected
 * may retry soon or never: equal bytes that it sends later are another profile.
 */
#define REPEATS_ASKED_NS (INT64_C(60) * 1000000000)
#define REPEATS_LEFT_NS	 (INT64_C(4) * 1000000000)

void repeats_init(Repeats *repeats);
void repeats_fini(Repeats *repeats);

/* Looks up a digest. Times are of CLOCK_MONOTONIC. */
RepeatState repeats_begin(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES],
						  int64_t now_ns);

/* Marks a pending request as stored, or forgets it because it failed. */
void repeats_end(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES], bool is_stored);

/* Sets when a stored request is forgotten, unless its client receives the answer before. */
void repeats_expire(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES], int64_t until_ns);

/* Notes that the client has received the answer that its request is stored. */
void repeats_told(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES]);

#endif
