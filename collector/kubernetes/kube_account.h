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
 * Sets the address of the API. Returns false if this process is not in a pod; server is then the
 * name that works in pods.
 */
bool kube_account_server(char server[KUBE_SERVER_BYTES]);

/* Returns settings with the token, which is read for each request, and the CA. */
HttpSettings kube_account_settings(void);

#endif
