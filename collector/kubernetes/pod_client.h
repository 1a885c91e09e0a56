/*
 * pod_client.h
 *		The agent's side of the watch of pods: a thread that keeps a process of profstore-sources
 *		running, which alone speaks with Kubernetes' API.
 *
 * The process has no more rights than nobody. When it ends it is started again, after 1 s to 60 s;
 * meanwhile pods keep the names that they had.
 */
#ifndef COLLECTOR_POD_CLIENT_H
#define COLLECTOR_POD_CLIENT_H

#include "base/failure.h"
#include "labels/pod_table.h"

typedef struct PodClient PodClient;

typedef struct PodClientOptions
{
	const char *node;		 /* as the API calls it; these are copied */
	const char *server;		 /* NULL: as pods are told; so the others */
	const char *kubelet;	 /* NULL: the API is asked */
	const char *token_file;	 /* NULL … */
	const char *ca_file;	 /* … */
	ConfigList annotations;	 /* of const char *: those that are told */
	PodTable *table;		 /* outlives the client; so context */
	void (*learned)(void *); /* something is known now that was not; the client's thread */
	void *context;
} PodClientOptions;

/* NULL with *failure set. */
PodClient *pod_client_start(const PodClientOptions *options, Failure *failure);
void pod_client_stop(PodClient *client); /* accepts NULL; within some seconds in any case */

#endif
