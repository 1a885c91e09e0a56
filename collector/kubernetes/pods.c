/*
 * pods.c
 *		Follows the pods of a node, through a watch or its kubelet.
 *
 * A pod is printed once its workload is known; until then its newest version waits. If the API
 * fails, the pod is printed with the workload derived from names, and waits to be printed again.
 * Writes to the pipe may block; the agent reads without delay.
 */
#include "kubernetes/pods.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <unistd.h>

#include <uthash.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/log.h"
#include "kubernetes/kube_account.h"
#include "kubernetes/kube_watch.h"
#include "kubernetes/kubelet.h"
#include "kubernetes/owners.h"
#include "program/stop_signals.h"

#define MODULE	 "pods"
#define HELD_MAX ((size_t) 128 * 1024 * 1024)
/* limit of this process's memory; the pods of a node take some MB */
#define DATA_MAX ((rlim_t) 512 * 1024 * 1024)
#define STEP_MS	 1000

typedef struct KnownPod
{
	UT_hash_handle hh; /* keyed by "namespace/name" */
	char *key;
	char *uid;		 /* UID under which it was last printed; NULL: not printed yet */
	json_t *waiting; /* version that waits for its workload; NULL: the printed version is current */
	bool guessed;	 /* printed with the workload derived from names */
} KnownPod;

typedef struct Pods
{
	const PodsOptions *options;
	HttpSettings http;
	char server[KUBE_SERVER_BYTES];
	HttpClient *client;
	KubeWatch *watch; /* NULL: the kubelet is polled */
	Kubelet *kubelet;
	Owners *owners;
	KnownPod *pods;
	size_t waiting; /* pods that were not printed yet */
	bool told_synced;
	bool broken; /* the reader is gone, or out of memory */
} Pods;

size_t
pods_flags(PodsOptions *options, Flag *flags)
{
	const Flag own[] = {
		{ "node", FLAG_TEXT, &options->node, "NAME", "name of the node in the API" },
		{ "api-server", FLAG_TEXT, &options->server, "URL",
		  "URL of the API server; default: that of the cluster that this pod runs in" },
		{ "kubelet", FLAG_TEXT, &options->kubelet, "URL",
		  "URL of the kubelet to poll instead of the API server" },
		{ "token-file", FLAG_TEXT, &options->token_file, "FILE",
		  "file of the token, read for each request; default: that of this pod" },
		{ "ca-file", FLAG_TEXT, &options->ca_file, "FILE",
		  "file of the CA; default: that of this pod" },
		{ "annotations", FLAG_TEXT, &options->annotations, "NAMES",
		  "names of annotations to print, separated by commas; default: none" },
	};

	*options = (PodsOptions){ .annotations = "" };
	return flags_append(flags, log_flags(&options->log, flags), own, sizeof(own) / sizeof(own[0]));
}

/* --- reports to the agent --- */

static void
pods_say(Pods *pods, const char *text)
{
	/* The agent waits for each line. */
	if (fputs(text, stdout) < 0 || fflush(stdout) != 0)
		pods->broken = true;
}

static void
say_gone(Pods *pods, KnownPod *known)
{
	if (known->uid == NULL)
		return;
	pods_say(pods, "gone ");
	pods_say(pods, known->uid);
	pods_say(pods, "\n");
	free(known->uid);
	known->uid = NULL;
}

static const char *
uid_of(const json_t *pod)
{
	const char *uid = json_string_value(json_object_get(json_object_get(pod, "metadata"), "uid"));

	return uid != NULL ? uid : "";
}

/*
 * Prints a pod. If the name belonged to another pod before, first prints that this other pod is
 * gone.
 */
static void
say_pod(Pods *pods, KnownPod *known, const json_t *pod, const Workload *workload)
{
	size_t left_out = 0;
	char *line = pod_text(pod, workload, pods->options->annotations, &left_out);

	/* A pod of this name with another UID is another pod. */
	if (known->uid != NULL && strcmp(known->uid, uid_of(pod)) != 0)
		say_gone(pods, known);
	if (line == NULL)
		return;
	if (left_out > 0)
		log_event(LOG_WARNING, MODULE, "skipped labels of a pod that has too many",
				  log_text("pod", known->key), log_number("left_out", (int64_t) left_out));
	pods_say(pods, line);
	free(line);
	if (known->uid == NULL)
		known->uid = strdup(uid_of(pod));
	pods->broken |= known->uid == NULL;
}

static void
wait_no_longer(Pods *pods, KnownPod *known)
{
	pods->waiting -= known->waiting != NULL && !known->guessed;
	json_decref(known->waiting);
	known->waiting = NULL;
	known->guessed = false;
}

/*
 * Prints a pod, or keeps it until its workload is known. guessed: this version was printed with a
 * derived workload.
 */
static void
tell(Pods *pods, KnownPod *known, json_t *pod, bool guessed)
{
	Workload workload;
	OwnersAnswer answer = owners_find(pods->owners, pod, &workload);

	if (answer == OWNERS_KNOWN || (answer == OWNERS_GUESS && !guessed))
		say_pod(pods, known, pod, &workload);
	if (answer == OWNERS_KNOWN)
		return;
	/* delete the largest part of many objects, because it is not used */
	json_object_del(json_object_get(pod, "metadata"), "managedFields");
	known->waiting = json_incref(pod);
	known->guessed = guessed || answer == OWNERS_GUESS;
	pods->waiting += !known->guessed;
}

/* --- received data --- */

static void
pods_forget(Pods *pods, KnownPod *known)
{
	HASH_DEL(pods->pods, known);
	wait_no_longer(pods, known);
	free(known->uid);
	free(known->key);
	free(known);
}

static KnownPod *
add_known(Pods *pods, const char *key)
{
	KnownPod *known = calloc(1, sizeof(*known));

	if (known != NULL)
		known->key = strdup(key);
	if (known == NULL || known->key == NULL)
	{
		free(known);
		pods->broken = true;
		return NULL;
	}
	HASH_ADD_KEYPTR(hh, pods->pods, known->key, strlen(known->key), known);
	return known;
}

/*
 * Handles a pod that is new, has changed or is gone. A changed pod replaces the version that waits
 * for its workload.
 */
static void
pods_on_object(void *context, const char *key, json_t *object)
{
	Pods *pods = context;
	KnownPod *known;

	HASH_FIND_STR(pods->pods, key, known);
	if (object == NULL && known != NULL)
	{
		say_gone(pods, known);
		pods_forget(pods, known);
	}
	if (object == NULL)
		return;
	if (known == NULL)
		known = add_known(pods, key);
	if (known == NULL)
		return;
	wait_no_longer(pods, known);
	tell(pods, known, object, false);
}

static void
pods_on_failure(void *context, const char *path, const char *detail)
{
	log_event(LOG_WARNING, MODULE, "could not watch pods", log_text("path", path),
			  log_text("detail", detail));
}

static void
on_known(void *context)
{
	Pods *pods = context;

	for (KnownPod *known = pods->pods; known != NULL; known = known->hh.next)
	{
		json_t *pod = known->waiting;
		bool guessed = known->guessed;

		if (pod == NULL)
			continue;
		/* tell() may store the pod again, so this reference keeps it. */
		json_incref(pod);
		wait_no_longer(pods, known);
		tell(pods, known, pod, guessed);
		json_decref(pod);
	}
}

/* --- life --- */

/*
 * Chooses the address and the credentials: those of the kubelet, of a given API server, or of this
 * pod's cluster.
 */
static ExitCode
choose_server(Pods *pods, Failure *failure)
{
	const PodsOptions *options = pods->options;
	const char *given = options->kubelet != NULL ? options->kubelet : options->server;
	bool in_cluster = kube_account_server(pods->server);
	size_t length;

	/* a kubelet accepts this pod's token, too */
	if (in_cluster && (given == NULL || options->kubelet != NULL))
		pods->http = kube_account_settings();
	if (given != NULL)
		snprintf(pods->server, sizeof(pods->server), "%s", given);
	else if (!in_cluster)
	{
		failure_set(failure, EXIT_CONFIG, "could not find the API of Kubernetes");
		failure_hint(failure, "Not running inside a pod: set api_server.");
		return failure->code;
	}
	length = strlen(pods->server);
	if (length > 0 && pods->server[length - 1] == '/')
		pods->server[length - 1] = '\0';
	if (options->token_file != NULL)
		pods->http.bearer.file = options->token_file;
	if (options->ca_file != NULL)
		pods->http.tls.ca.file = options->ca_file;
	return EXIT_OK;
}

/* Creates the HTTP client, and the watch or the kubelet's polling. */
static ExitCode
pods_start(Pods *pods, Failure *failure)
{
	char fields[300];
	KubeWatchOptions watch = { .settings = &pods->http,
							   .server = pods->server,
							   .path = "/api/v1/pods",
							   .fields = fields,
							   .from_cache = true,
							   .on_object = pods_on_object,
							   .on_failure = pods_on_failure,
							   .context = pods };
	KubeletOptions kubelet = { .settings = &pods->http,
							   .server = pods->server,
							   .on_object = pods_on_object,
							   .on_failure = pods_on_failure,
							   .context = pods };
	OwnersOptions owners = {
		.settings = &pods->http, .server = pods->server, .on_known = on_known, .context = pods
	};

	if (pods->options->node == NULL)
		return failure_set(failure, EXIT_USAGE, "--node is missing");
	if (choose_server(pods, failure) != EXIT_OK)
		return failure->code;
	snprintf(fields, sizeof(fields), "spec.nodeName=%s", pods->options->node);
	/* The calls below fail on out of memory only. */
	failure_out_of_memory(failure);
	if (http_client_create(HELD_MAX, &pods->client) != 0)
		return failure->code;
	watch.client = pods->client;
	owners.client = pods->client;
	if (pods->options->kubelet != NULL)
	{
		kubelet.client = pods->client;
		owners.server = NULL; /* the API is not available */
		pods->kubelet = kubelet_create(&kubelet);
	}
	else
		pods->watch = kube_watch_create(&watch);
	pods->owners = owners_create(&owners);
	return (pods->watch != NULL || pods->kubelet != NULL) && pods->owners != NULL ? EXIT_OK
																				  : failure->code;
}

static void
pods_stop(Pods *pods)
{
	KnownPod *known;
	KnownPod *next;

	kube_watch_free(pods->watch);
	kubelet_free(pods->kubelet);
	owners_free(pods->owners);
	http_client_free(pods->client);
	HASH_ITER(hh, pods->pods, known, next)
	{
		pods_forget(pods, known);
	}
}

/* Does all work that is due. Returns the time at which it must be called again. */
static int64_t
pods_tick(Pods *pods, int64_t now_ns)
{
	return pods->kubelet != NULL ? kubelet_tick(pods->kubelet, now_ns)
								 : kube_watch_tick(pods->watch, now_ns);
}

static bool
pods_is_synced(const Pods *pods)
{
	return pods->kubelet != NULL ? kubelet_is_synced(pods->kubelet)
								 : kube_watch_is_synced(pods->watch);
}

/*
 * Runs requests until a signal. "synced" is printed once, when the first list is complete and no
 * pod waits for its workload.
 */
static void
pods_loop(Pods *pods)
{
	while (!stop_asked() && !pods->broken)
	{
		int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		int64_t due_ns = pods_tick(pods, now_ns);
		int64_t wait_ms = STEP_MS;

		owners_tick(pods->owners);
		/*
		 * The agent removes pods that were not printed before "synced", so all must be printed
		 * first.
		 */
		if (!pods->told_synced && pods_is_synced(pods) && pods->waiting == 0)
		{
			pods_say(pods, "synced\n");
			pods->told_synced = true;
		}
		if (due_ns - now_ns < wait_ms * NS_PER_MS)
			wait_ms = MAX((due_ns - now_ns) / NS_PER_MS, 0) + 1;
		http_client_step(pods->client, wait_ms, stop_signals_fd());
		stop_signals_seen();
	}
}

ExitCode
pods_run(const PodsOptions *options)
{
	const struct rlimit memory = { DATA_MAX, DATA_MAX };
	Pods pods = { .options = options };
	Failure failure;
	int result = child_become_nobody();
	ExitCode code;

	/* The server decides how large its answers are. */
	if (setrlimit(RLIMIT_DATA, &memory) != 0)
		log_event(LOG_WARNING, MODULE, "could not limit memory",
				  log_text("detail", strerror(errno)));

	if (result != 0)
		log_event(LOG_WARNING, MODULE, "the watch for pods still runs as root",
				  log_text("detail", strerror(-result)),
				  log_text("hint", "Grant the agent CAP_SETUID, CAP_SETGID and CAP_KILL."));
	stop_signals_catch(false);
	code = pods_start(&pods, &failure);
	if (code == EXIT_OK)
		pods_loop(&pods);
	else
		failure_log(&failure, MODULE);
	pods_stop(&pods);
	return code;
}
