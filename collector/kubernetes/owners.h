/*
 * owners.h
 *		Who owns what owns a pod: a ReplicaSet's Deployment, a Job's CronJob.
 *
 * Each ReplicaSet and Job is asked for once, by its UID. Where the API refuses (RBAC) or has no
 * such object any more, the names that Kubernetes gives tell. They may be wrong (not all that has
 * ReplicaSets is a Deployment): where the API fails they tell until it does not, and it is asked
 * again. Works in its client's thread.
 */
#ifndef COLLECTOR_OWNERS_H
#define COLLECTOR_OWNERS_H

#include "http_client/http_client.h"
#include "kubernetes/pod_text.h"

typedef struct Owners Owners;

typedef struct OwnersOptions
{
	HttpClient *client;
	const HttpSettings *settings;	 /* must outlive the owners; so server and context */
	const char *server;				 /* NULL: names tell */
	void (*on_known)(void *context); /* something may be asked again */
	void *context;
} OwnersOptions;

/* NULL where memory is out. */
Owners *owners_create(const OwnersOptions *options);
void owners_free(Owners *owners); /* accepts NULL */

typedef enum OwnersAnswer
{
	OWNERS_KNOWN,
	OWNERS_GUESS, /* by names: on_known will tell when there is more to say, as it will … */
	OWNERS_LATER  /* … where nothing is known yet */
} OwnersAnswer;

/* What the pod belongs to. */
OwnersAnswer owners_find(Owners *owners, const json_t *pod, Workload *workload);

/* Begins what there is room for and time; call it each second or so. */
void owners_tick(Owners *owners);

#endif
