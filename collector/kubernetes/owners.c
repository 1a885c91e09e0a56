/*
 * owners.c
 *		Caches owners by their UIDs.
 */
#include "kubernetes/owners.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <uthash.h>

#include "base/clock.h"
#include "base/log.h"
#include "http_client/json_read.h"

#define MODULE		  "pods"
/* if more owners are known, all for which no pod waits are dropped */
#define KNOWN_MAX	  4096
#define AT_ONCE		  8
#define TIMEOUT_MS	  10000
#define PAUSE_NS	  NS_PER_S /* pause after a failure of the API; doubles up to PAUSE_MAX_NS */
#define PAUSE_NS_MAX  (60 * NS_PER_S)
#define BODY_MAX	  (4 * JSON_READ_MB)
#define JSON_MAX	  (64 * JSON_READ_MB)
#define JOB_DIGITS	  8 /* digits in the name of a CronJob's job: minutes since 1970 */
#define TEMPLATE_HASH "pod-template-hash"

typedef enum OwnerState
{
	OWNER_WAITS,
	OWNER_ASKED,
	OWNER_KNOWN
} OwnerState;

typedef struct Owner
{
	UT_hash_handle hh;
	struct Owners *owners;
	OwnerState state;
	HttpTransfer *transfer; /* OWNER_ASKED: the request */
	bool failed;			/* the last request failed, so guess is used until one succeeds */
	int64_t due_ns;			/* OWNER_WAITS: earliest time of the next request */
	int64_t pause_ns;
	char *uid;
	char *path;
	Workload self;
	Workload guess;	   /* the controller's owner, derived from names */
	Workload workload; /* OWNER_KNOWN: the controller's owner; itself if it has none */
} Owner;

struct Owners
{
	OwnersOptions options;
	Owner *known;
	size_t asked;
};

Owners *
owners_create(const OwnersOptions *options)
{
	Owners *owners = calloc(1, sizeof(*owners));

	if (owners != NULL)
		owners->options = *options;
	return owners;
}

static void
owners_forget(Owners *owners, Owner *owner)
{
	HASH_DEL(owners->known, owner);
	free(owner->uid);
	free(owner->path);
	free(owner);
}

void
owners_free(Owners *owners)
{
	Owner *owner;
	Owner *next;

	if (owners == NULL)
		return;
	HASH_ITER(hh, owners->known, owner, next)
	{
		if (owner->transfer != NULL)
			http_transfer_cancel(owner->transfer);
		owners_forget(owners, owner);
	}
	free(owners);
}

/* --- by names --- */

/*
 * Derives a Deployment from the name of its ReplicaSet, which consists of the Deployment's name and
 * a hash that pods have as a label.
 */
static Workload
guess_deployment(const json_t *pod, const Workload *set)
{
	const json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");
	const char *hash = json_string_value(json_object_get(labels, TEMPLATE_HASH));
	size_t length = strlen(set->name);
	size_t tail = hash != NULL ? strlen(hash) + 1 : 0;
	Workload guess = *set;

	/* The name of a Deployment's ReplicaSet ends with the hash that its pods have as a label. */
	if (tail < 2 || length <= tail || set->name[length - tail] != '-' ||
		strcmp(set->name + length - tail + 1, hash) != 0)
		return guess;
	strcpy(guess.kind, "Deployment");
	guess.name[length - tail] = '\0';
	return guess;
}

static Workload
guess_cron_job(const Workload *job)
{
	size_t length = strlen(job->name);
	Workload guess = *job;

	/* The name of a CronJob's Job ends with its minute. */
	if (length <= JOB_DIGITS + 1 || job->name[length - JOB_DIGITS - 1] != '-')
		return guess;
	for (size_t i = length - JOB_DIGITS; i < length; i++)
		if (!isdigit((unsigned char) job->name[i]))
			return guess;
	strcpy(guess.kind, "CronJob");
	guess.name[length - JOB_DIGITS - 1] = '\0';
	return guess;
}

/* --- requests --- */

/*
 * Returns true if a repeated request may get another answer. Returns false if the API refuses the
 * request or has no such object.
 */
static bool
is_failure(const HttpAnswer *answer)
{
	/* Status 401 may end when the token is renewed. */
	return answer->error[0] != '\0' || answer->status == 401 || answer->status == 429 ||
		   answer->status >= 500;
}

static void
ask_again(Owner *owner)
{
	owner->state = OWNER_WAITS;
	owner->failed = true;
	owner->due_ns = clock_ns(CLOCK_MONOTONIC) + owner->pause_ns;
	owner->pause_ns = MIN(2 * owner->pause_ns, PAUSE_NS_MAX);
}

/*
 * Stores the owner from the API's answer. Returns false if the answer has none, so that the owner
 * derived from names is used.
 */
static bool
owners_take_answer(Owner *owner, const HttpAnswer *answer)
{
	bool known;
	const char *problem;
	json_t *object = NULL;
	const char *found;
	const char *uid;

	owner->state = OWNER_KNOWN;
	if (answer->status == 200)
		object = json_read_body(&answer->body, 0, JSON_MAX, &problem);
	/* another object may have this name by now */
	found = json_string_value(json_object_get(json_object_get(object, "metadata"), "uid"));
	known = found != NULL && strcmp(found, owner->uid) == 0;
	if (!known)
		owner->workload = owner->guess;
	else if (!kube_controller(object, &owner->workload, &uid))
		owner->workload = owner->self;
	json_decref(object);
	return known;
}

/*
 * Processes an answer. The pods that wait for the owner are looked up again, whether the owner is
 * known now or must be derived from names.
 */
static void
owners_on_end(void *context, HttpAnswer *answer)
{
	Owner *owner = context;
	Owners *owners = owner->owners;
	bool known = false;

	owner->transfer = NULL;
	owners->asked--;
	if (is_failure(answer))
		ask_again(owner);
	else
		known = owners_take_answer(owner, answer);
	if (!known)
		log_event(LOG_INFO, MODULE, "could not read the owner of a pod; deriving it from names",
				  log_text("path", owner->path), log_number("status", answer->status),
				  log_text("detail", answer->error));
	owners->options.on_known(owners->options.context);
}

/* Requests the object that owns a pod. If that fails, the next tick tries again. */
static void
owners_ask(Owner *owner)
{
	Owners *owners = owner->owners;
	char *url = NULL;
	HttpRequest request = { .settings = owners->options.settings,
							.timeout_ms = TIMEOUT_MS,
							.body_max = BODY_MAX,
							.on_end = owners_on_end,
							.context = owner };

	if (asprintf(&url, "%s%s", owners->options.server, owner->path) < 0)
		return;
	request.url = url;
	owner->transfer = http_client_start(owners->options.client, &request);
	if (owner->transfer != NULL)
	{
		owner->state = OWNER_ASKED;
		owners->asked++;
	}
	free(url);
}

void
owners_tick(Owners *owners)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	for (Owner *owner = owners->known; owner != NULL && owners->asked < AT_ONCE;
		 owner = owner->hh.next)
		if (owner->state == OWNER_WAITS && owner->due_ns <= now_ns)
			owners_ask(owner);
}

static void
owners_make_room(Owners *owners)
{
	Owner *owner;
	Owner *next;

	if (HASH_COUNT(owners->known) < KNOWN_MAX)
		return;
	HASH_ITER(hh, owners->known, owner, next)
	{
		/* An owner whose request is in progress is still needed. */
		if (owner->state == OWNER_KNOWN)
			owners_forget(owners, owner);
	}
}

/* --- */

/* Checks a name, which comes from the API and becomes part of a path. */
static bool
owners_is_name(const char *name)
{
	for (const char *at = name; *at != '\0'; at++)
		if (!isalnum((unsigned char) *at) && strchr("-._", *at) == NULL)
			return false;
	return name[0] != '\0' && name[0] != '.';
}

/*
 * Adds a controller that is not known yet. If there is no API, its owner derived from names is
 * final.
 */
static Owner *
owners_add(Owners *owners, const json_t *pod, const Workload *controller, const char *uid)
{
	const char *space =
		json_string_value(json_object_get(json_object_get(pod, "metadata"), "namespace"));
	bool is_job = strcmp(controller->kind, "Job") == 0;
	Owner *owner = calloc(1, sizeof(*owner));

	if (owner == NULL)
		return NULL;
	owner->owners = owners;
	owner->guess = is_job ? guess_cron_job(controller) : guess_deployment(pod, controller);
	owner->self = *controller;
	owner->pause_ns = PAUSE_NS;
	owner->uid = strdup(uid);
	if (asprintf(&owner->path, "/apis/%s/v1/namespaces/%s/%s/%s", is_job ? "batch" : "apps", space,
				 is_job ? "jobs" : "replicasets", controller->name) < 0)
		owner->path = NULL;
	if (owner->uid == NULL || owner->path == NULL)
	{
		free(owner->uid);
		free(owner->path);
		free(owner);
		return NULL;
	}
	/* Without the API server, the workload can only be derived from names. */
	if (owners->options.server == NULL)
	{
		owner->workload = owner->guess;
		owner->state = OWNER_KNOWN;
	}
	owners_make_room(owners);
	HASH_ADD_KEYPTR(hh, owners->known, owner->uid, strlen(owner->uid), owner);
	return owner;
}

OwnersAnswer
owners_find(Owners *owners, const json_t *pod, Workload *workload)
{
	const char *space =
		json_string_value(json_object_get(json_object_get(pod, "metadata"), "namespace"));
	const char *uid;
	Owner *owner;

	/* Names become parts of a URL. */
	if (!kube_controller(pod, workload, &uid) || uid[0] == '\0' || space == NULL ||
		!owners_is_name(space) || !owners_is_name(workload->name) ||
		(strcmp(workload->kind, "ReplicaSet") != 0 && strcmp(workload->kind, "Job") != 0))
		return OWNERS_KNOWN;
	HASH_FIND_STR(owners->known, uid, owner);
	if (owner == NULL)
		owner = owners_add(owners, pod, workload, uid);
	if (owner == NULL)
		return OWNERS_KNOWN; /* out of memory: report the controller itself */
	if (owner->state != OWNER_KNOWN && !owner->failed)
		return OWNERS_LATER;
	*workload = owner->state == OWNER_KNOWN ? owner->workload : owner->guess;
	return owner->state == OWNER_KNOWN ? OWNERS_KNOWN : OWNERS_GUESS;
}
