/*
 * owners.h
 *		Finds the owner of a pod's controller: the Deployment of a ReplicaSet, the CronJob of a Job.
 *
 * Each ReplicaSet and Job is requested once, by its UID. If the API refuses the request (RBAC) or
 * has no such object, the owner is derived from the names that Kubernetes makes. This may be wrong,
 * because not only Deployments have ReplicaSets; so if the API fails, the derived owner is used
 * only until a repeated request succeeds. Runs in its client's thread.
 */
#ifndef COLLECTOR_OWNERS_H
#define COLLECTOR_OWNERS_H

#include "http_client/http_client.h"
#include "kubernetes/pod_text.h"

typedef struct Owners Owners;

typedef struct OwnersOptions
{
	HttpClient *client;
	const HttpSettings *settings;	 /* must outlive the owners, as must server and context */
	const char *server;				 /* NULL: owners are derived from names */
	void (*on_known)(void *context); /* called when owners_find() may have a better answer */
	void *context;
} OwnersOptions;

/* Makes a resolver of pods' owners. Returns NULL if out of memory. */
Owners *owners_create(const OwnersOptions *options);
void owners_free(Owners *owners); /* accepts NULL */

typedef enum OwnersAnswer
{
	OWNERS_KNOWN,
	OWNERS_GUESS, /* derived from names; on_known will be called when the owner is known */
	OWNERS_LATER  /* unknown so far; on_known will be called */
} OwnersAnswer;

/* Finds the workload that the pod belongs to. */
OwnersAnswer owners_find(Owners *owners, const json_t *pod, Workload *workload);

/* Starts requests that are due, within their limit. Call it about once a second. */
void owners_tick(Owners *owners);

#endif
