/*
 * clients.c
 *		A table by name.
 */
#include "http_server/clients.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define SECOND_NS INT64_C(1000000000)

struct Client
{
	UT_hash_handle hh;
	char name[CLIENT_NAME_MAX];
	unsigned references;
	size_t bytes;
	Allowance requests;
	ClientWork *work; /* referenced */
	ClientWork *storing;
};

static void
clients_free_client(Client *client)
{
	client_work_release(client->work);
	client_work_release(client->storing);
	free(client);
}

ClientWork *
client_storing(Client *client)
{
	return client->storing;
}

const char *
client_name(const Client *client)
{
	return client->name;
}

ClientWork *
client_work(Client *client)
{
	return client->work;
}

Client *
clients_take(Clients *clients, const char *name)
{
	Client *client;

	HASH_FIND_STR(clients->table, name, client);
	if (client == NULL)
	{
		client = calloc(1, sizeof(Client));
		if (client == NULL)
			return NULL;
		client->work = client_work_create();
		client->storing = client_work_create();
		if (client->work == NULL || client->storing == NULL)
		{
			clients_free_client(client);
			return NULL;
		}
		/* The name ends with a zero, because calloc() has cleared it. */
		strncpy(client->name, name, sizeof(client->name) - 1);
		HASH_ADD_STR(clients->table, name, client);
	}
	client->references++;
	return client;
}

void
client_release(Client *client)
{
	if (client != NULL)
		client->references--;
}

void
clients_sweep(Clients *clients, int64_t now_ns)
{
	Client *client;
	Client *next;

	HASH_ITER(hh, clients->table, client, next)
	{
		/* The allowance must be full again, otherwise a client could renew it by being removed. */
		if (client->references == 0 && client->requests.paid_ns < (uint64_t) (now_ns - SECOND_NS))
		{
			HASH_DEL(clients->table, client);
			clients_free_client(client);
		}
	}
}

void
clients_free(Clients *clients)
{
	Client *client;
	Client *next;

	HASH_ITER(hh, clients->table, client, next)
	{
		HASH_DEL(clients->table, client);
		clients_free_client(client);
	}
}

unsigned
client_references(const Client *client)
{
	return client->references;
}

bool
client_may_ask(Client *client, int64_t now_ns, int64_t per_second)
{
	/* A client may send the requests of one second at once. */
	return allowance_take(&client->requests, (uint64_t) now_ns, (uint64_t) (SECOND_NS / per_second),
						  (uint64_t) SECOND_NS);
}

bool
client_charge(Client *client, size_t bytes, size_t limit)
{
	/* In this form the sum cannot overflow. */
	if (bytes > limit || client->bytes > limit - bytes)
		return false;
	client->bytes += bytes;
	return true;
}

void
client_discharge(Client *client, size_t bytes)
{
	client->bytes -= bytes;
}
