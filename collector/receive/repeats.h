/*
 * repeats.h
 *		Requests that are on their way to the database, and those that got there, but whose client
 *		was not told: by what they say.
 *
 * A client that was told to come again, or went away, sends the same once more. While the first is
 * on its way the second must not be stored beside it; and when it was stored, the second is too.
 * This is for one receiver's life; the database's receipts are for longer.
 */
#ifndef COLLECTOR_RECEIVE_REPEATS_H
#define COLLECTOR_RECEIVE_REPEATS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define REPEATS_DIGEST_BYTES 32
#define REPEATS_MAX			 4096 /* that were stored untold: the oldest go */

typedef struct Repeat Repeat;

typedef struct Repeats
{
	pthread_mutex_t lock;
	Repeat *table;
	unsigned untold;
} Repeats;

typedef enum RepeatState
{
	REPEAT_NEW,		/* nobody has it; it is on its way from now on */
	REPEAT_PENDING, /* it is on its way */
	REPEAT_STORED,
	REPEAT_NO_MEMORY
} RepeatState;

/*
 * A client that was asked to come again does so within this time. One that hung up may, soon or not
 * at all: what it sends later, in the same bytes, is another profile.
 */
#define REPEATS_ASKED_NS (INT64_C(60) * 1000000000)
#define REPEATS_LEFT_NS	 (INT64_C(4) * 1000000000)

void repeats_init(Repeats *repeats);
void repeats_fini(Repeats *repeats);

/* Times are of CLOCK_MONOTONIC. */
RepeatState repeats_begin(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES],
						  int64_t now_ns);

/* It was stored, or not and is forgotten. */
void repeats_end(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES], bool is_stored);

/* Forgets a stored request at that time, unless its client comes for the answer before. */
void repeats_expire(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES], int64_t until_ns);

/* Its client was told that it is stored. */
void repeats_told(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES]);

#endif
