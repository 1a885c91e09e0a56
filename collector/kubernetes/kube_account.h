/*
 * kube_account.h
 *		What a pod is given to reach the API of its cluster with.
 */
#ifndef COLLECTOR_KUBE_ACCOUNT_H
#define COLLECTOR_KUBE_ACCOUNT_H

#include <stdbool.h>

#include "http_client/http_settings.h"

#define KUBE_ACCOUNT	  "/var/run/secrets/kubernetes.io/serviceaccount/"
#define KUBE_SERVER_BYTES 600

/* False: this is no pod, and server is a name that pods know. */
bool kube_account_server(char server[KUBE_SERVER_BYTES]);

/* Token, which is read for each request, and CA. */
HttpSettings kube_account_settings(void);

#endif
