/*
 * kube_access.c
 *		Determines how to reach a cluster, from its settings or from the service account of this
 *		pod.
 */
#include "kubernetes/kube_access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/regular_file.h"

bool
kube_read_namespaces(ConfigReader *reader, const Node *node, void *access)
{
	static const ConfigField fields[] = {
		{ "own_namespace", config_read_bool, offsetof(KubeAccess, own_namespace) },
		{ "names", config_read_texts, offsetof(KubeAccess, namespaces) },
	};

	return config_read_fields(reader, node, CONFIG_FIELDS(fields), access);
}

bool
kube_access_check(ConfigReader *reader, const Node *node, const KubeAccess *access)
{
	static const HttpSettings none;

	/* Without api_server, the pod's own account decides how the server is reached. */
	if (access->server == NULL && memcmp(&access->http, &none, sizeof(none)) != 0)
		return config_fail(reader, node, "Settings of the HTTP client require api_server");
	if (access->own_namespace && access->server != NULL)
		return config_fail(reader, node, "own_namespace excludes api_server");
	return http_settings_check(reader, node, &access->http);
}

static bool
read_own_space(char space[256])
{
	const char *problem;
	FILE *file = regular_file_open(KUBE_ACCOUNT "namespace", &problem);
	bool good = file != NULL && fgets(space, 256, file) != NULL;

	if (file != NULL)
		fclose(file);
	if (good)
		space[strcspn(space, "\r\n")] = '\0';
	return good;
}

static void
set_server(KubeReach *reach, const KubeAccess *access)
{
	size_t length;

	if (access->server != NULL)
		snprintf(reach->server, sizeof(reach->server), "%s", access->server);
	else if (!kube_account_server(reach->server))
		reach->problem = "Not running inside a pod: set api_server.";
	reach->http = access->server != NULL ? access->http : kube_account_settings();
	length = strlen(reach->server);
	/* Paths of requests begin with a slash. */
	if (length > 0 && reach->server[length - 1] == '/')
		reach->server[length - 1] = '\0';
}

bool
kube_reach_init(KubeReach *reach, const KubeAccess *access)
{
	*reach = (KubeReach){ .problem = NULL };
	set_server(reach, access);
	reach->spaces = calloc(access->namespaces.count + 1, sizeof(char *));
	if (reach->spaces == NULL)
		return false;
	if (access->own_namespace && read_own_space(reach->own_space))
		reach->spaces[reach->space_count++] = reach->own_space;
	else if (access->own_namespace)
		reach->problem = "\"" KUBE_ACCOUNT "namespace\" cannot be read.";
	for (size_t i = 0; i < access->namespaces.count; i++)
		reach->spaces[reach->space_count++] = ((const char *const *) access->namespaces.items)[i];
	if (!access->own_namespace && access->namespaces.count == 0)
		reach->space_count = 1; /* a single entry, which is NULL, means all namespaces */
	return true;
}

void
kube_reach_fini(KubeReach *reach)
{
	free(reach->spaces);
}
