/*
 * kube_account.c
 *		Reads the service account of a pod.
 */
#include "kubernetes/kube_account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
kube_account_server(char server[KUBE_SERVER_BYTES])
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	bool is_pod = host != NULL && port != NULL;

	if (!is_pod)
	{
		host = "kubernetes.default.svc";
		port = "443";
	}
	snprintf(server, KUBE_SERVER_BYTES,
			 strchr(host, ':') != NULL ? "https://[%s]:%s" : "https://%s:%s", host, port);
	return is_pod;
}

HttpSettings
kube_account_settings(void)
{
	return (HttpSettings){ .bearer.file = KUBE_ACCOUNT "token",
						   .tls.ca.file = KUBE_ACCOUNT "ca.crt" };
}
