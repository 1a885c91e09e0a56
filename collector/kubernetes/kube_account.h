/*
 * kube_account.h
 *		The service account with which a pod reaches the API of its cluster.
 */
#ifndef COLLECTOR_KUBE_ACCOUNT_H
#define COLLECTOR_KUBE_ACCOUNT_H

#include <stdbool.h>

#include "http_client/http_settings.h"

#define KUBE_ACCOUNT	  "/var/run/secrets/kubernetes.io/serviceaccount/"
#define KUBE_SERVER_BYTES 600

/*
 * Writes the address of the API. Returns false if this process is not in a pod; server is then the
 * host name that works in every pod.
 */
bool kube_account_server(char server[KUBE_SERVER_BYTES]);

/* Returns settings with the account's token, which is read again for each request, and its CA. */
HttpSettings kube_account_settings(void);

#endif
