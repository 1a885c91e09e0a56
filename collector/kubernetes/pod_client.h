/*
 * pod_client.h
 *		The agent's side of the watch for pods: a thread that keeps a process of
 *		profstore-sources running. Only that process talks to the Kubernetes API.
 *
 * The process runs as an unprivileged user. If it ends, it is restarted after 1 s to 60 s; pods
 * keep their names in the meantime.
 */
#ifndef COLLECTOR_POD_CLIENT_H
#define COLLECTOR_POD_CLIENT_H

#include "labels/pod_table.h"
#include "program/failure.h"

typedef struct PodClient PodClient;

typedef struct PodClientOptions
{
	const char *node;		 /* name of the node in the API; the strings are copied */
	const char *server;		 /* URL of the API; NULL for the pod's default */
	const char *kubelet;	 /* URL of the kubelet; NULL to ask the API */
	const char *token_file;	 /* NULL for the pod's default */
	const char *ca_file;	 /* NULL for the pod's default */
	ConfigList annotations;	 /* list of const char *: annotations to fetch */
	PodTable *table;		 /* must outlive the client, like context */
	void (*learned)(void *); /* called in the client's thread when the table has changed */
	void *context;
} PodClientOptions;

/* Starts the thread. NULL with *failure set. */
PodClient *pod_client_start(const PodClientOptions *options, Failure *failure);
/* accepts NULL; returns within a few seconds in any case */
void pod_client_stop(PodClient *client);

#endif
