/*
 * kube_watch.h
 *		Follows all objects of one resource of Kubernetes' API: lists them, then watches for
 *		changes.
 *
 * Runs in its client's thread. Objects are reported when they are known or changed; after a list,
 * missing objects are reported as gone. A watch that ends is continued from its version. If the
 * history is gone (410), or an ERROR event ends the watch, a new list follows after 1 s, repeatedly
 * after up to 30 s. Failures are reported, and requests repeated after 0.8 s to 30 s.
 */
#ifndef COLLECTOR_KUBE_WATCH_H
#define COLLECTOR_KUBE_WATCH_H

#include <jansson.h>

#include "http_client/http_client.h"

typedef struct KubeWatch KubeWatch;

typedef struct KubeWatchOptions
{
	HttpClient *client;
	const HttpSettings *settings; /* must outlive the watch; also context */
	const char *server;			  /* "https://host:port"; this and the next three are copied */
	const char *path;			  /* path of the resource */
	const char *labels;			  /* selectors, NULL: none */
	const char *fields;
	bool from_cache; /* the first list may be an older one from the server's cache */

	/*
	 * Called with an object by "namespace/name"; object is NULL if it is gone. The watch does not
	 * keep it.
	 */
	void (*on_object)(void *context, const char *key, json_t *object);
	void (*on_failure)(void *context, const char *path, const char *detail);
	void *context;
} KubeWatchOptions;

/* Returns NULL if out of memory. */
KubeWatch *kube_watch_create(const KubeWatchOptions *options);
void kube_watch_free(KubeWatch *watch); /* accepts NULL */

/* Starts requests that are due. Returns when to call it again, CLOCK_MONOTONIC. */
int64_t kube_watch_tick(KubeWatch *watch, int64_t now_ns);

/* Returns true once the first list is complete. */
bool kube_watch_is_synced(const KubeWatch *watch);

#endif
