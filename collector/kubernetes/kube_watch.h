/*
 * kube_watch.h
 *		Follows all objects of one resource of Kubernetes' API: lists them, then watches for
 *		changes.
 *
 * Runs in its client's thread. Objects are reported when they are new or have changed; after a
 * list, missing objects are reported as gone. When a watch ends, the next watch continues from its
 * version. If the server has dropped that version (410), or an ERROR event ends the watch, a new
 * list follows after 1 s; if this happens repeatedly, after up to 30 s. Failures are reported, and
 * requests are repeated after 0.8 s to 30 s.
 */
#ifndef COLLECTOR_KUBE_WATCH_H
#define COLLECTOR_KUBE_WATCH_H

#include <jansson.h>

#include "http_client/http_client.h"

typedef struct KubeWatch KubeWatch;

typedef struct KubeWatchOptions
{
	HttpClient *client;
	const HttpSettings *settings; /* must outlive the watch, as must context */
	const char *server;			  /* "https://host:port"; this and the next three are copied */
	const char *path;			  /* path of the resource */
	const char *labels;			  /* selectors, NULL: none */
	const char *fields;
	bool from_cache; /* the first list may be an older one from the server's cache */

	/*
	 * Called with an object by "namespace/name"; object is NULL if the object was deleted. The
	 * watch does not keep the object.
	 */
	void (*on_object)(void *context, const char *key, json_t *object);
	void (*on_failure)(void *context, const char *path, const char *detail);
	void *context;
} KubeWatchOptions;

/* Makes a watch of a resource of the API server. Returns NULL if out of memory. */
KubeWatch *kube_watch_create(const KubeWatchOptions *options);
void kube_watch_free(KubeWatch *watch); /* accepts NULL */

/*
 * Starts the requests that are due. Returns the time (CLOCK_MONOTONIC) at which it must be called
 * again.
 */
int64_t kube_watch_tick(KubeWatch *watch, int64_t now_ns);

/* Returns true once the first list is complete. */
bool kube_watch_is_synced(const KubeWatch *watch);

#endif
