/*
 * kube_access.h
 *		Settings for reaching the API of a cluster, and the namespaces to use.
 */
#ifndef COLLECTOR_KUBE_ACCESS_H
#define COLLECTOR_KUBE_ACCESS_H

#include "kubernetes/kube_account.h"

typedef struct KubeAccess
{
	const char *server;	   /* NULL: the cluster that contains this process */
	ConfigList namespaces; /* list of const char * */
	bool own_namespace;
	HttpSettings http;
} KubeAccess;

bool kube_read_namespaces(ConfigReader *reader, const Node *node, void *access);

/* Keys for the fields of KubeAccess, for a structure that contains a KubeAccess. */
#define KUBE_ACCESS_FIELDS(type, member)                                \
	HTTP_SETTING(type, member, "api_server", config_read_text, server), \
		{ "namespaces", kube_read_namespaces, offsetof(type, member) }, \
		{ "kubeconfig_file", config_refuse, 0 }, HTTP_SETTING_FIELDS(type, member.http)

/* Refuses settings that exclude each other; node is their position in the file. */
bool kube_access_check(ConfigReader *reader, const Node *node, const KubeAccess *access);

/* How to reach a cluster, determined from the settings. */
typedef struct KubeReach
{
	char server[KUBE_SERVER_BYTES]; /* without a trailing slash */
	/* Inside a cluster this contains the token and the CA of the service account. */
	HttpSettings http;
	/* namespaces, each of which is watched separately; an entry NULL means all namespaces */
	const char **spaces;
	size_t space_count;
	char own_space[256];
	const char *problem; /* a sentence that names the missing part; NULL: nothing is missing */
} KubeReach;

/*
 * Sets up the access to an API server. Returns false if out of memory. Call kube_reach_fini() in
 * either case.
 */
bool kube_reach_init(KubeReach *reach, const KubeAccess *access);
void kube_reach_fini(KubeReach *reach);

#endif
