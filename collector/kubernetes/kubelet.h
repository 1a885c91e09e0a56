/*
 * kubelet.h
 *		Follows the pods of a node by polling its kubelet, whose API has no watch.
 *
 * Runs in its client's thread. Pods are reported when they are new or have changed, and as gone
 * when an answer lacks them. Failures are reported, and the request is repeated at its next time.
 */
#ifndef COLLECTOR_KUBELET_H
#define COLLECTOR_KUBELET_H

#include <jansson.h>

#include "http_client/http_client.h"

typedef struct Kubelet Kubelet;

typedef struct KubeletOptions
{
	HttpClient *client;
	const HttpSettings *settings; /* must outlive the kubelet, as must server and context */
	const char *server;			  /* "https://host:port" */

	/*
	 * Called with each pod by "namespace/name"; object is NULL if the pod is gone. The callback may
	 * modify object; changes are discarded.
	 */
	void (*on_object)(void *context, const char *key, json_t *object);
	void (*on_failure)(void *context, const char *path, const char *detail);
	void *context;
} KubeletOptions;

/* Makes a client of the kubelet. Returns NULL if out of memory. */
Kubelet *kubelet_create(const KubeletOptions *options);
void kubelet_free(Kubelet *kubelet); /* accepts NULL */

/*
 * Starts a request that is due. Returns the time (CLOCK_MONOTONIC) at which it must be called
 * again.
 */
int64_t kubelet_tick(Kubelet *kubelet, int64_t now_ns);

/* Returns true once an answer has been processed. */
bool kubelet_is_synced(const Kubelet *kubelet);

#endif
