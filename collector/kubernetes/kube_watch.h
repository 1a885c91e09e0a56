/*
 * kube_watch.h
 *		All objects of one resource of Kubernetes' API, as they come, change and go: list, then
 *		watch.
 *
 * Works in its client's thread. Objects are told once they are known; after a list, those that were
 * not in it are told as gone. A watch that ends goes on where it was. One whose history is gone
 * (410), or that an ERROR event ends, lists again: after 1 s, and after up to 30 s if that repeats.
 * Failures are told, and tried again after 0.8 s to 30 s.
 */
#ifndef COLLECTOR_KUBE_WATCH_H
#define COLLECTOR_KUBE_WATCH_H

#include <jansson.h>

#include "http_client/http_client.h"

typedef struct KubeWatch KubeWatch;

typedef struct KubeWatchOptions
{
	HttpClient *client;
	const HttpSettings *settings; /* must outlive the watch; so context */
	const char *server;			  /* "https://host:port"; these four are copied */
	const char *path;			  /* of the resource */
	const char *labels;			  /* selectors, NULL for none */
	const char *fields;
	bool from_cache; /* the first list may be an older one, which the server has at hand */

	/* An object by "namespace/name"; NULL: it is gone. Not kept by the watch. */
	void (*on_object)(void *context, const char *key, json_t *object);
	void (*on_failure)(void *context, const char *path, const char *detail);
	void *context;
} KubeWatchOptions;

/* Returns NULL if out of memory. */
KubeWatch *kube_watch_create(const KubeWatchOptions *options);
void kube_watch_free(KubeWatch *watch); /* accepts NULL */

/* Begins what is due; when to call again, CLOCK_MONOTONIC. */
int64_t kube_watch_tick(KubeWatch *watch, int64_t now_ns);

/* True once the first list was taken whole. */
bool kube_watch_is_synced(const KubeWatch *watch);

#endif
