/*
 * clients.h
 *		State of each client: a tenant, or an address if there are no tenants.
 *
 * Used by the loop's thread only.
 */
#ifndef COLLECTOR_HTTP_SERVER_CLIENTS_H
#define COLLECTOR_HTTP_SERVER_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "http_server/work_queue.h"

#define CLIENT_NAME_MAX 160

typedef struct Client Client;
typedef struct Clients
{
	Client *table;
} Clients;

const char *client_name(const Client *client);

/* Returns the calls of the client that wait for a worker. The receiver's lock guards them. */
ClientWork *client_work(Client *client);

/*
 * Returns the calls of the client that wait for the writer. The lock of the StoreLine guards them.
 */
ClientWork *client_storing(Client *client);

/* Returns the client with this name, with a reference; NULL if out of memory. */
Client *clients_take(Clients *clients, const char *name);
void client_release(Client *client); /* accepts NULL */

/* Forgets clients without activity for a second. */
void clients_sweep(Clients *clients, int64_t now_ns);
void clients_free(Clients *clients);

unsigned client_references(const Client *client);

/*
 * Counts a request. Returns false if the client exceeds per_second; the requests of one second may
 * come in a burst.
 */
bool client_may_ask(Client *client, int64_t now_ns, int64_t per_second);

/* Charges the memory of a request to the client. Returns false beyond the limit. */
bool client_charge(Client *client, size_t bytes, size_t limit);
void client_discharge(Client *client, size_t bytes);

#endif
