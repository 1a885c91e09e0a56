/*
 * kubelet.c
 *		Polls GET /pods and compares each answer with the previous one.
 */
#include "kubernetes/kubelet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/clock.h"
#include "http_client/json_read.h"

#define PATH	   "/pods"
#define PERIOD_NS  (INT64_C(10) * 1000000000)
#define TIMEOUT_MS 10000
#define BODY_MAX   (64 * JSON_READ_MB)
#define JSON_MAX   (256 * JSON_READ_MB)

typedef struct ToldPod
{
	UT_hash_handle hh; /* keyed by "namespace/name" */
	char *key;
	json_t *pod;
	bool seen; /* the current answer contains the pod */
} ToldPod;

struct Kubelet
{
	KubeletOptions options;
	HttpTransfer *transfer; /* NULL: no request is running */
	ToldPod *told;
	int64_t due_ns;
	bool synced;
};

Kubelet *
kubelet_create(const KubeletOptions *options)
{
	Kubelet *kubelet = calloc(1, sizeof(*kubelet));

	if (kubelet != NULL)
		kubelet->options = *options;
	return kubelet;
}

static void
kubelet_forget(Kubelet *kubelet, ToldPod *told)
{
	HASH_DEL(kubelet->told, told);
	json_decref(told->pod);
	free(told->key);
	free(told);
}

void
kubelet_free(Kubelet *kubelet)
{
	ToldPod *told;
	ToldPod *next;

	if (kubelet == NULL)
		return;
	if (kubelet->transfer != NULL)
		http_transfer_cancel(kubelet->transfer);
	HASH_ITER(hh, kubelet->told, told, next)
	{
		kubelet_forget(kubelet, told);
	}
	free(kubelet);
}

static void
kubelet_fail(const Kubelet *kubelet, const char *detail)
{
	kubelet->options.on_failure(kubelet->options.context, PATH, detail);
}

/* Returns "namespace/name", which the caller frees; NULL if the pod has none or out of memory. */
static char *
kubelet_key_of(const json_t *pod)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const char *space = json_string_value(json_object_get(metadata, "namespace"));
	const char *name = json_string_value(json_object_get(metadata, "name"));
	char *key;

	if (space == NULL || name == NULL || asprintf(&key, "%s/%s", space, name) < 0)
		return NULL;
	return key;
}

/*
 * Handles a pod; the key belongs to this function. The callback is given a copy of the pod, because
 * it may modify it.
 */
static void
take_pod(Kubelet *kubelet, char *key, json_t *pod)
{
	json_t *copy;
	ToldPod *told;

	HASH_FIND_STR(kubelet->told, key, told);
	if (told != NULL && json_equal(told->pod, pod))
	{
		told->seen = true;
		free(key);
		return;
	}
	if (told != NULL)
		kubelet_forget(kubelet, told);
	told = calloc(1, sizeof(*told));
	/* The callback may change its copy; the next answer is compared with the original. */
	copy = json_deep_copy(pod);
	if (told == NULL || copy == NULL)
	{
		kubelet_fail(kubelet, "Out of memory.");
		json_decref(copy);
		free(told);
		free(key);
		return;
	}
	*told = (ToldPod){ .key = key, .pod = json_incref(pod), .seen = true };
	HASH_ADD_KEYPTR(hh, kubelet->told, told->key, strlen(told->key), told);
	kubelet->options.on_object(kubelet->options.context, told->key, copy);
	json_decref(copy);
}

/* Reports new and changed pods, then those that the answer lacks as gone. */
static void
take_pods(Kubelet *kubelet, const json_t *items)
{
	ToldPod *told;
	ToldPod *next;
	size_t index;
	json_t *pod;

	json_array_foreach(items, index, pod)
	{
		char *key = kubelet_key_of(pod);

		if (key != NULL)
			take_pod(kubelet, key, pod);
	}
	HASH_ITER(hh, kubelet->told, told, next)
	{
		/* The answer contains all pods of the node, so this one is gone. */
		if (!told->seen)
		{
			kubelet->options.on_object(kubelet->options.context, told->key, NULL);
			kubelet_forget(kubelet, told);
			continue;
		}
		told->seen = false;
	}
	kubelet->synced = true;
}

/* Takes an answer of the kubelet; the next request is due PERIOD_NS after it. */
static void
kubelet_on_end(void *context, HttpAnswer *answer)
{
	Kubelet *kubelet = context;
	const char *problem;
	json_t *list = NULL;
	char detail[64];

	kubelet->transfer = NULL;
	kubelet->due_ns = clock_ns(CLOCK_MONOTONIC) + PERIOD_NS;
	if (answer->error[0] != '\0')
	{
		kubelet_fail(kubelet, answer->error);
		return;
	}
	snprintf(detail, sizeof(detail), "The kubelet answered with HTTP status %ld.", answer->status);
	if (answer->status == 200)
	{
		list = json_read_body(&answer->body, 0, JSON_MAX, &problem);
		snprintf(detail, sizeof(detail), "The answer is not a list of pods.");
	}
	/* the answer of a node without pods has null in place of the list */
	if (json_is_object(list) && (json_is_array(json_object_get(list, "items")) ||
								 json_is_null(json_object_get(list, "items"))))
		take_pods(kubelet, json_object_get(list, "items"));
	else
		kubelet_fail(kubelet, detail);
	json_decref(list);
}

int64_t
kubelet_tick(Kubelet *kubelet, int64_t now_ns)
{
	HttpRequest request = { .settings = kubelet->options.settings,
							.timeout_ms = TIMEOUT_MS,
							.body_max = BODY_MAX,
							.on_end = kubelet_on_end,
							.context = kubelet };
	char *url;

	if (kubelet->transfer != NULL || now_ns < kubelet->due_ns)
		return kubelet->transfer != NULL ? now_ns + PERIOD_NS : kubelet->due_ns;
	kubelet->due_ns = now_ns + PERIOD_NS;
	if (asprintf(&url, "%s" PATH, kubelet->options.server) < 0)
		return kubelet->due_ns;
	request.url = url;
	kubelet->transfer = http_client_start(kubelet->options.client, &request);
	free(url);
	return kubelet->due_ns;
}

bool
kubelet_is_synced(const Kubelet *kubelet)
{
	return kubelet->synced;
}
