/*
 * repeats.c
 *		A table of requests by digest, in the order of arrival.
 */
#include "receive/repeats.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct Repeat
{
	UT_hash_handle hh;
	uint8_t digest[REPEATS_DIGEST_BYTES];
	bool is_stored;
	int64_t until_ns; /* time at which the request is forgotten; valid unless it is pending */
};

void
repeats_init(Repeats *repeats)
{
	*repeats = (Repeats){ .table = NULL };
	pthread_mutex_init(&repeats->lock, NULL);
}

static void
repeats_forget(Repeats *repeats, Repeat *repeat)
{
	repeats->untold -= repeat->is_stored;
	HASH_DEL(repeats->table, repeat);
	free(repeat);
}

void
repeats_fini(Repeats *repeats)
{
	while (repeats->table != NULL)
		repeats_forget(repeats, repeats->table);
	pthread_mutex_destroy(&repeats->lock);
}

static Repeat *
find(Repeats *repeats, const uint8_t *digest)
{
	Repeat *repeat;

	HASH_FIND(hh, repeats->table, digest, REPEATS_DIGEST_BYTES, repeat);
	return repeat;
}

RepeatState
repeats_begin(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES], int64_t now_ns)
{
	RepeatState state = REPEAT_NO_MEMORY;
	Repeat *repeat;

	pthread_mutex_lock(&repeats->lock);
	repeat = find(repeats, digest);
	/* After until_ns an equal request counts as a new one. */
	if (repeat != NULL && repeat->is_stored && now_ns > repeat->until_ns)
	{
		repeats_forget(repeats, repeat);
		repeat = NULL;
	}
	if (repeat != NULL)
		state = repeat->is_stored ? REPEAT_STORED : REPEAT_PENDING;
	else if ((repeat = calloc(1, sizeof(Repeat))) != NULL)
	{
		memcpy(repeat->digest, digest, sizeof(repeat->digest));
		HASH_ADD(hh, repeats->table, digest, REPEATS_DIGEST_BYTES, repeat);
		state = REPEAT_NEW;
	}
	pthread_mutex_unlock(&repeats->lock);
	return state;
}

/* Drops the request that was stored first. The table keeps the order of insertion. */
static void
drop_oldest(Repeats *repeats)
{
	Repeat *repeat;
	Repeat *next;

	HASH_ITER(hh, repeats->table, repeat, next)
	{
		if (repeat->is_stored)
		{
			repeats_forget(repeats, repeat);
			return;
		}
	}
}

void
repeats_end(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES], bool is_stored)
{
	Repeat *repeat;

	pthread_mutex_lock(&repeats->lock);
	repeat = find(repeats, digest);
	if (repeat != NULL && !is_stored)
		repeats_forget(repeats, repeat);
	else if (repeat != NULL)
	{
		repeat->is_stored = true;
		/* keep the entry until the loop knows which answer the client received */
		repeat->until_ns = INT64_MAX;
		/* Pending requests end by themselves, so only stored ones need a limit. */
		if (++repeats->untold > REPEATS_MAX)
			drop_oldest(repeats);
	}
	pthread_mutex_unlock(&repeats->lock);
}

void
repeats_expire(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES], int64_t until_ns)
{
	Repeat *repeat;

	pthread_mutex_lock(&repeats->lock);
	repeat = find(repeats, digest);
	/* A request that failed is not in the table. */
	if (repeat != NULL && repeat->is_stored)
		repeat->until_ns = until_ns;
	pthread_mutex_unlock(&repeats->lock);
}

void
repeats_told(Repeats *repeats, const uint8_t digest[REPEATS_DIGEST_BYTES])
{
	Repeat *repeat;

	pthread_mutex_lock(&repeats->lock);
	repeat = find(repeats, digest);
	/* The client has the answer, so it does not repeat the request. */
	if (repeat != NULL && repeat->is_stored)
		repeats_forget(repeats, repeat);
	pthread_mutex_unlock(&repeats->lock);
}
