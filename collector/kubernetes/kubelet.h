/*
 * kubelet.h
 *		The pods of a node as its kubelet tells them: asked for again and again, as it has no watch.
 *
 * Works in its client's thread. Pods are told when they are new or have changed; those that an
 * answer has no more are told as gone. Failures are told, and tried again at the next turn.
 */
#ifndef COLLECTOR_KUBELET_H
#define COLLECTOR_KUBELET_H

#include <jansson.h>

#include "http_client/http_client.h"

typedef struct Kubelet Kubelet;

typedef struct KubeletOptions
{
	HttpClient *client;
	const HttpSettings *settings; /* must outlive the kubelet; so server and context */
	const char *server;			  /* "https://host:port" */

	/* A pod by "namespace/name"; NULL: it is gone. What it changes of the pod is not seen. */
	void (*on_object)(void *context, const char *key, json_t *object);
	void (*on_failure)(void *context, const char *path, const char *detail);
	void *context;
} KubeletOptions;

/* NULL where memory is out. */
Kubelet *kubelet_create(const KubeletOptions *options);
void kubelet_free(Kubelet *kubelet); /* accepts NULL */

/* Begins what is due; when to call again, CLOCK_MONOTONIC. */
int64_t kubelet_tick(Kubelet *kubelet, int64_t now_ns);

/* Returns true once an answer has been processed. */
bool kubelet_is_synced(const Kubelet *kubelet);

#endif
