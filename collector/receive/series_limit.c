/*
 * series_limit.c
 *		An open-addressing hash set for each client.
 */
#include "receive/series_limit.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/hash.h"
#include "http_server/clients.h"

#define SLOTS_MIN 64

typedef struct ClientSeries
{
	UT_hash_handle hh;
	char name[CLIENT_NAME_MAX];
	int64_t begin_ns; /* begin of the client's current hour */
	size_t count;
	size_t slot_count; /* a power of two, more than 4/3 of count */
	uint64_t *slots;   /* 0: free */
} ClientSeries;

void
series_limit_init(SeriesLimit *limit)
{
	*limit = (SeriesLimit){ .seed = hash_seed() };
	pthread_mutex_init(&limit->lock, NULL);
}

static void
client_forget(SeriesLimit *limit, ClientSeries *client)
{
	HASH_DEL(limit->clients, client);
	limit->slot_count -= client->slot_count;
	free(client->slots);
	free(client);
}

void
series_limit_fini(SeriesLimit *limit)
{
	while (limit->clients != NULL)
		client_forget(limit, limit->clients);
	pthread_mutex_destroy(&limit->lock);
}

/* Returns the client's set, which is empty if its hour has passed; NULL if out of memory. */
static ClientSeries *
client_of(SeriesLimit *limit, const char *name, int64_t now_ns)
{
	ClientSeries *client;

	/* remove all clients whose hour has passed, including those that have stopped sending */
	while (limit->clients != NULL && now_ns - limit->clients->begin_ns > SERIES_LIMIT_HOUR_NS)
		client_forget(limit, limit->clients);
	HASH_FIND_STR(limit->clients, name, client);
	if (client != NULL)
		return client;
	client = calloc(1, sizeof(ClientSeries));
	if (client == NULL)
		return NULL;
	strncpy(client->name, name, sizeof(client->name) - 1);
	client->begin_ns = now_ns;
	HASH_ADD_STR(limit->clients, name, client);
	return client;
}

/* Returns the slot that contains the hash, or the free slot for it. */
static uint64_t *
series_limit_slot_of(uint64_t *slots, size_t slot_count, uint64_t hash)
{
	size_t at = hash & (slot_count - 1);

	while (slots[at] != 0 && slots[at] != hash)
		at = (at + 1) & (slot_count - 1);
	return &slots[at];
}

/* Makes room for the given number of further hashes. Returns false if out of memory. */
static bool
client_reserve(SeriesLimit *limit, ClientSeries *client, size_t more)
{
	size_t slot_count = client->slot_count > 0 ? client->slot_count : SLOTS_MIN;
	uint64_t *slots;

	/* At least a quarter of the slots stays free, so that each search ends soon. */
	while ((client->count + more) * 4 > slot_count * 3)
		slot_count *= 2;
	if (slot_count == client->slot_count)
		return true;
	slots = calloc(slot_count, sizeof(uint64_t));
	if (slots == NULL)
		return false;
	for (size_t i = 0; i < client->slot_count; i++)
		if (client->slots[i] != 0)
			*series_limit_slot_of(slots, slot_count, client->slots[i]) = client->slots[i];
	free(client->slots);
	limit->slot_count += slot_count - client->slot_count;
	client->slots = slots;
	client->slot_count = slot_count;
	/* The first client of the table is the one whose hour began first. */
	while (limit->slot_count > SERIES_LIMIT_SLOTS_MAX && limit->clients != client)
		client_forget(limit, limit->clients);
	return true;
}

static uint64_t
hash_series(const SeriesLimit *limit, const BatchSeries *series)
{
	uint64_t hash = hash_bytes(limit->seed, series->profile_type, strlen(series->profile_type));

	for (uint32_t i = 0; i < series->label_count; i++)
	{
		const BatchLabel *label = &series->labels[i];

		hash = hash_bytes(hash, label->name, strlen(label->name));
		hash = hash_bytes(hash, label->value, strlen(label->value));
	}
	/* 0 marks a free slot. */
	return hash != 0 ? hash : 1;
}

/*
 * Adds the series of the batch to those of the client. A first pass only counts the new ones, so
 * that a refused batch adds none.
 */
static bool
client_take(SeriesLimit *limit, ClientSeries *client, const Batch *batch, size_t max)
{
	const BatchSeries *series;
	const size_t series_count = batch_series(batch, &series);
	size_t added = 0;

	if (series_count > max)
		return false;
	/* If memory runs out, the limit is not enforced. */
	if (!client_reserve(limit, client, series_count))
		return true;
	for (size_t i = 0; i < series_count; i++)
	{
		const uint64_t hash = hash_series(limit, &series[i]);

		added += *series_limit_slot_of(client->slots, client->slot_count, hash) != hash;
	}
	if (client->count + added > max)
		return false;
	for (size_t i = 0; added > 0 && i < series_count; i++)
	{
		const uint64_t hash = hash_series(limit, &series[i]);
		uint64_t *slot = series_limit_slot_of(client->slots, client->slot_count, hash);

		client->count += *slot == 0;
		*slot = hash;
	}
	return true;
}

bool
series_limit_take(SeriesLimit *limit, const char *client, const Batch *batch, size_t max,
				  int64_t now_ns)
{
	ClientSeries *of_client;
	bool is_within;

	pthread_mutex_lock(&limit->lock);
	of_client = client_of(limit, client, now_ns);
	is_within = of_client == NULL || client_take(limit, of_client, batch, max);
	pthread_mutex_unlock(&limit->lock);
	return is_within;
}
