/*
 * kube_access.h
 *		How the API of a cluster is reached, and which of its namespaces are meant.
 */
#ifndef COLLECTOR_KUBE_ACCESS_H
#define COLLECTOR_KUBE_ACCESS_H

#include "kubernetes/kube_account.h"

typedef struct KubeAccess
{
	const char *server;	   /* NULL: the cluster that we run in */
	ConfigList namespaces; /* of const char * */
	bool own_namespace;
	HttpSettings http;
} KubeAccess;

bool kube_read_namespaces(ConfigReader *reader, const Node *node, void *access);

/* The keys, among those of whatever has KubeAccess as a member. */
#define KUBE_ACCESS_FIELDS(type, member)                                \
	HTTP_SETTING(type, member, "api_server", config_read_text, server), \
		{ "namespaces", kube_read_namespaces, offsetof(type, member) }, \
		{ "kubeconfig_file", config_refuse, 0 }, HTTP_SETTING_FIELDS(type, member.http)

/* What must not stand together; node is where they stand. */
bool kube_access_check(ConfigReader *reader, const Node *node, const KubeAccess *access);

/* What it comes to here and now. */
typedef struct KubeReach
{
	char server[KUBE_SERVER_BYTES]; /* without a slash at its end */
	HttpSettings http;				/* with the account's token and CA in a cluster */
	const char **spaces;			/* each is watched by itself; NULL: all of them */
	size_t space_count;
	char own_space[256];
	const char *problem; /* a sentence; NULL: none */
} KubeReach;

/* False where memory is out. To be given back in either case. */
bool kube_reach_init(KubeReach *reach, const KubeAccess *access);
void kube_reach_fini(KubeReach *reach);

#endif
