/*
 * kube_groups.c
 *		Makes the labels of targets for each role.
 */
#include "discovery/kube_groups.h"

#include "labels/kubernetes_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Making
{
	TargetGroup *group;
	TargetLabels *labels; /* labels that are being made: the group's, or a target's */
} Making;

static const json_t *
get(const json_t *object, const char *name)
{
	return json_object_get(object, name);
}

/* Returns the text member of an object; NULL if it is absent, empty or no text. */
static const char *
text(const json_t *object, const char *name)
{
	const char *value = json_string_value(get(object, name));

	return value == NULL || value[0] == '\0' ? NULL : value;
}

static void
set(Making *making, const char *name, const char *value)
{
	target_group_meta(making->group, making->labels, KUBE_META, name, value);
}

static void
set_bool(Making *making, const char *name, bool value)
{
	set(making, name, value ? "true" : "false");
}

static void
set_number(Making *making, const char *name, const json_t *value)
{
	char number[24];

	snprintf(number, sizeof(number), "%lld", (long long) json_integer_value(value));
	set(making, name, json_is_integer(value) ? number : NULL);
}

/*
 * Adds "<role>_label_<k>" and "<role>_labelpresent_<k>" for a map of labels, and the same for a map
 * of annotations.
 */
static void
set_map(Making *making, const char *role, const char *kind, const json_t *map)
{
	char prefix[128];
	char present[128];
	const char *key;
	json_t *value;

	snprintf(prefix, sizeof(prefix), KUBE_META "%s_%s_", role, kind);
	snprintf(present, sizeof(present), KUBE_META "%s_%spresent_", role, kind);
	json_object_foreach((json_t *) (uintptr_t) map, key, value)
	{
		target_group_meta(making->group, making->labels, prefix, key, json_string_value(value));
		target_group_meta(making->group, making->labels, present, key, "true");
	}
}

static void
set_metadata(Making *making, const char *role, const json_t *object)
{
	const json_t *meta = get(object, "metadata");
	char name[64];

	snprintf(name, sizeof(name), "%s_name", role);
	set(making, name, text(meta, "name"));
	set_map(making, role, "label", get(meta, "labels"));
	set_map(making, role, "annotation", get(meta, "annotations"));
}

static Making
begin(const char *source, const json_t *object)
{
	Making making = { .group = target_group_create(source) };

	if (making.group == NULL)
		return making;
	making.labels = &making.group->labels;
	set(&making, KUBE_NAMESPACE, text(get(object, "metadata"), "namespace"));
	return making;
}

static void
begin_target(Making *making, const char *host, const json_t *port)
{
	bool bare = strchr(host, ':') != NULL; /* a bare IPv6 address must be put into brackets */
	char address[300];
	char number[24] = "";

	if (json_is_integer(port))
		snprintf(number, sizeof(number), ":%lld", (long long) json_integer_value(port));
	snprintf(address, sizeof(address), "%s%s%s%s", bare ? "[" : "", host, bare ? "]" : "", number);
	making->labels = target_group_add(making->group);
	target_group_label(making->group, making->labels, "__address__", address);
}

/* --- pods --- */

static void
set_controller(Making *making, const json_t *meta)
{
	json_t *owner;
	size_t i;

	json_array_foreach(get(meta, "ownerReferences"), i, owner)
	{
		if (!json_is_true(get(owner, "controller")))
			continue;
		set(making, KUBE_POD_CONTROLLER_KIND, text(owner, "kind"));
		set(making, KUBE_POD_CONTROLLER_NAME, text(owner, "name"));
		return;
	}
}

static const char *
ready_of(const json_t *status)
{
	json_t *condition;
	size_t i;

	json_array_foreach(get(status, "conditions"), i, condition)
	{
		const char *type = text(condition, "type");
		const char *state = text(condition, "status");

		if (type != NULL && state != NULL && strcmp(type, "Ready") == 0)
			return strcmp(state, "True") == 0	 ? "true"
				   : strcmp(state, "False") == 0 ? "false"
												 : "unknown";
	}
	return "unknown";
}

static void
set_pod(Making *making, const json_t *pod)
{
	const json_t *meta = get(pod, "metadata");
	const json_t *status = get(pod, "status");

	set_metadata(making, "pod", pod);
	set(making, KUBE_POD_UID, text(meta, "uid"));
	set(making, KUBE_POD_IP, text(status, "podIP"));
	set(making, "pod_host_ip", text(status, "hostIP"));
	set(making, KUBE_POD_PHASE, text(status, "phase"));
	set(making, "pod_ready", ready_of(status));
	set(making, KUBE_POD_NODE_NAME, text(get(pod, "spec"), "nodeName"));
	set_controller(making, meta);
}

static const char *
container_id(const json_t *pod, const char *statuses, const char *name)
{
	json_t *status;
	size_t i;

	json_array_foreach(get(get(pod, "status"), statuses), i, status)
	{
		const char *found = text(status, "name");

		if (found != NULL && name != NULL && strcmp(found, name) == 0)
			return text(status, "containerID");
	}
	return NULL;
}

static void
set_container(Making *making, const json_t *pod, const json_t *container, bool init)
{
	const char *name = text(container, "name");

	set(making, KUBE_CONTAINER_NAME, name);
	set(making, KUBE_CONTAINER_IMAGE, text(container, "image"));
	set(making, KUBE_CONTAINER_ID,
		container_id(pod, init ? "initContainerStatuses" : "containerStatuses", name));
	set_bool(making, KUBE_CONTAINER_INIT, init);
}

static void
set_container_port(Making *making, const json_t *port)
{
	const char *protocol = text(port, "protocol");

	set(making, KUBE_PORT_NAME, text(port, "name"));
	set_number(making, KUBE_PORT_NUMBER, get(port, "containerPort"));
	set(making, "pod_container_port_protocol", protocol != NULL ? protocol : "TCP");
}

/*
 * Adds a target for each port of the containers in a list, and one without a port for a container
 * that declares none.
 */
static void
add_containers(Making *making, const json_t *pod, const char *list, bool init)
{
	const char *ip = text(get(pod, "status"), "podIP");
	json_t *container;
	json_t *port;
	size_t i;
	size_t j;

	json_array_foreach(get(get(pod, "spec"), list), i, container)
	{
		if (json_array_size(get(container, "ports")) == 0)
		{
			begin_target(making, ip, NULL);
			set_container(making, pod, container, init);
		}
		json_array_foreach(get(container, "ports"), j, port)
		{
			begin_target(making, ip, get(port, "containerPort"));
			set_container(making, pod, container, init);
			set_container_port(making, port);
		}
	}
}

TargetGroup *
kube_pod_group(const char *source, const json_t *pod)
{
	Making making = begin(source, pod);

	if (making.group == NULL || text(get(pod, "status"), "podIP") == NULL)
		return making.group;
	set_pod(&making, pod);
	add_containers(&making, pod, "containers", false);
	add_containers(&making, pod, "initContainers", true);
	return making.group;
}

/* --- services and nodes --- */

TargetGroup *
kube_service_group(const char *source, const json_t *service)
{
	Making making = begin(source, service);
	const json_t *meta = get(service, "metadata");
	const json_t *spec = get(service, "spec");
	const char *type = text(spec, "type");
	bool external = type != NULL && strcmp(type, "ExternalName") == 0;
	char host[600];
	json_t *port;
	size_t i;

	if (making.group == NULL || text(meta, "name") == NULL || text(meta, "namespace") == NULL)
		return making.group;
	set_metadata(&making, "service", service);
	snprintf(host, sizeof(host), "%s.%s.svc", text(meta, "name"), text(meta, "namespace"));
	json_array_foreach(get(spec, "ports"), i, port)
	{
		const char *protocol = text(port, "protocol");

		begin_target(&making, host, get(port, "port"));
		set(&making, "service_port_name", text(port, "name"));
		set_number(&making, "service_port_number", get(port, "port"));
		set(&making, "service_port_protocol", protocol != NULL ? protocol : "TCP");
		set(&making, "service_type", type);
		if (external)
			set(&making, "service_external_name", text(spec, "externalName"));
		else
			set(&making, "service_cluster_ip", text(spec, "clusterIP"));
		if (type != NULL && strcmp(type, "LoadBalancer") == 0)
			set(&making, "service_loadbalancer_ip", text(spec, "loadBalancerIP"));
	}
	return making.group;
}

static const char *
node_address(const json_t *addresses)
{
	static const char *const types[] = { "InternalIP", "InternalDNS", "ExternalIP", "ExternalDNS",
										 "Hostname" };
	json_t *address;
	size_t j;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		json_array_foreach(addresses, j, address)
		{
			const char *type = text(address, "type");

			if (type != NULL && strcmp(type, types[i]) == 0 && text(address, "address") != NULL)
				return text(address, "address");
		}
	return NULL;
}

TargetGroup *
kube_node_group(const char *source, const json_t *node)
{
	Making making = begin(source, node);
	const json_t *status = get(node, "status");
	const char *host = node_address(get(status, "addresses"));
	json_t *address;
	size_t i;

	if (making.group == NULL || host == NULL)
		return making.group;
	set_metadata(&making, "node", node);
	set(&making, "node_provider_id", text(get(node, "spec"), "providerID"));
	begin_target(&making, host,
				 get(get(get(status, "daemonEndpoints"), "kubeletEndpoint"), "Port"));
	target_group_label(making.group, making.labels, "instance",
					   text(get(node, "metadata"), "name"));
	json_array_foreach(get(status, "addresses"), i, address)
	{
		if (text(address, "type") != NULL)
			target_group_meta(making.group, making.labels, KUBE_META "node_address_",
							  text(address, "type"), text(address, "address"));
	}
	return making.group;
}

/* --- ingresses --- */

/* Compares hosts; in a pattern "*" matches any first component of the host. */
static bool
matches_host(const char *pattern, const char *host)
{
	const char *rest = strchr(host, '.');

	if (strcmp(pattern, host) == 0)
		return true;
	return strncmp(pattern, "*.", 2) == 0 && rest != NULL && strcmp(pattern + 1, rest) == 0;
}

static bool
has_tls(const json_t *spec, const char *host)
{
	json_t *entry;
	json_t *pattern;
	size_t i;
	size_t j;

	json_array_foreach(get(spec, "tls"), i, entry)
		json_array_foreach(get(entry, "hosts"), j, pattern)
	{
		if (json_is_string(pattern) && matches_host(json_string_value(pattern), host))
			return true;
	}
	return false;
}

static void
add_ingress_path(Making *making, const char *scheme, const char *host, const char *path)
{
	making->labels = target_group_add(making->group);
	target_group_label(making->group, making->labels, "__address__", host);
	set(making, "ingress_scheme", scheme);
	set(making, "ingress_host", host);
	set(making, "ingress_path", path != NULL ? path : "/");
}

TargetGroup *
kube_ingress_group(const char *source, const json_t *ingress)
{
	Making making = begin(source, ingress);
	const json_t *spec = get(ingress, "spec");
	json_t *rule;
	json_t *path;
	size_t i;
	size_t j;

	if (making.group == NULL)
		return NULL;
	set_metadata(&making, "ingress", ingress);
	set(&making, "ingress_class_name", text(spec, "ingressClassName"));
	json_array_foreach(get(spec, "rules"), i, rule)
	{
		const char *host = text(rule, "host");
		const char *scheme = host != NULL && has_tls(spec, host) ? "https" : "http";
		const json_t *http = get(rule, "http");

		if (host == NULL)
			host = ""; /* empty for rules of all hosts */
		if (!json_is_object(http))
			add_ingress_path(&making, scheme, host, NULL);
		json_array_foreach(get(http, "paths"), j, path)
			add_ingress_path(&making, scheme, host, text(path, "path"));
	}
	return making.group;
}

/* --- endpoints --- */

static json_t *
find_pod(const json_t *target, const json_t *object, const KubeKnown *known)
{
	const char *kind = text(target, "kind");
	const char *name = text(target, "name");
	const char *space = text(target, "namespace");
	char key[600];

	if (kind == NULL || name == NULL || strcmp(kind, "Pod") != 0)
		return NULL;
	if (space == NULL)
		space = text(get(object, "metadata"), "namespace");
	snprintf(key, sizeof(key), "%s/%s", space != NULL ? space : "", name);
	return known->pod(known->context, key);
}

/* Sets labels of the pod and its container that has the port. */
static void
set_pod_of_port(Making *making, const json_t *pod, const json_t *number)
{
	json_t *container;
	json_t *port;
	size_t i;
	size_t j;

	set_pod(making, pod);
	json_array_foreach(get(get(pod, "spec"), "containers"), i, container)
		json_array_foreach(get(container, "ports"), j, port)
	{
		if (json_integer_value(get(port, "containerPort")) != json_integer_value(number))
			continue;
		set_container(making, pod, container, false);
		set_container_port(making, port);
		return;
	}
}

static void
set_service(Making *making, const json_t *object, const char *name, const KubeKnown *known)
{
	const char *space = text(get(object, "metadata"), "namespace");
	char key[600];
	const json_t *service;

	if (name == NULL)
		return;
	snprintf(key, sizeof(key), "%s/%s", space != NULL ? space : "", name);
	service = known->service(known->context, key);
	if (service != NULL)
		set_metadata(making, "service", service);
}

static void
add_endpoint(Making *making, const json_t *endpoints, const json_t *address, const json_t *port,
			 bool ready, const KubeKnown *known)
{
	const json_t *target = get(address, "targetRef");
	const json_t *pod = find_pod(target, endpoints, known);

	if (text(address, "ip") == NULL)
		return;
	begin_target(making, text(address, "ip"), get(port, "port"));
	set(making, "endpoint_port_name", text(port, "name"));
	set(making, "endpoint_port_protocol", text(port, "protocol"));
	set_bool(making, "endpoint_ready", ready);
	set(making, "endpoint_hostname", text(address, "hostname"));
	set(making, "endpoint_node_name", text(address, "nodeName"));
	set(making, "endpoint_address_target_kind", text(target, "kind"));
	set(making, "endpoint_address_target_name", text(target, "name"));
	if (pod != NULL)
		set_pod_of_port(making, pod, get(port, "port"));
}

TargetGroup *
kube_endpoints_group(const char *source, const json_t *endpoints, const KubeKnown *known)
{
	Making making = begin(source, endpoints);
	json_t *subset;
	json_t *port;
	json_t *address;
	size_t i;
	size_t j;
	size_t k;

	if (making.group == NULL)
		return NULL;
	set_metadata(&making, "endpoints", endpoints);
	set_service(&making, endpoints, text(get(endpoints, "metadata"), "name"), known);
	json_array_foreach(get(endpoints, "subsets"), i, subset)
		json_array_foreach(get(subset, "ports"), j, port)
	{
		json_array_foreach(get(subset, "addresses"), k, address)
			add_endpoint(&making, endpoints, address, port, true, known);
		json_array_foreach(get(subset, "notReadyAddresses"), k, address)
			add_endpoint(&making, endpoints, address, port, false, known);
	}
	return making.group;
}

static void
set_condition(Making *making, const char *name, const json_t *value)
{
	if (json_is_boolean(value))
		set_bool(making, name, json_is_true(value));
}

static void
add_slice_endpoint(Making *making, const json_t *slice, const json_t *endpoint, const char *host,
				   const json_t *port, const KubeKnown *known)
{
	const json_t *target = get(endpoint, "targetRef");
	const json_t *conditions = get(endpoint, "conditions");
	const json_t *pod = find_pod(target, slice, known);

	begin_target(making, host, get(port, "port"));
	set(making, "endpointslice_port_name", text(port, "name"));
	set(making, "endpointslice_port_protocol", text(port, "protocol"));
	set(making, "endpointslice_port_app_protocol", text(port, "appProtocol"));
	set_number(making, "endpointslice_port", get(port, "port"));
	set_condition(making, "endpointslice_endpoint_conditions_ready", get(conditions, "ready"));
	set_condition(making, "endpointslice_endpoint_conditions_serving", get(conditions, "serving"));
	set_condition(making, "endpointslice_endpoint_conditions_terminating",
				  get(conditions, "terminating"));
	set(making, "endpointslice_endpoint_hostname", text(endpoint, "hostname"));
	set(making, "endpointslice_endpoint_node_name", text(endpoint, "nodeName"));
	set(making, "endpointslice_endpoint_zone", text(endpoint, "zone"));
	set(making, "endpointslice_address_target_kind", text(target, "kind"));
	set(making, "endpointslice_address_target_name", text(target, "name"));
	if (pod != NULL)
		set_pod_of_port(making, pod, get(port, "port"));
}

TargetGroup *
kube_slice_group(const char *source, const json_t *slice, const KubeKnown *known)
{
	Making making = begin(source, slice);
	const json_t *labels = get(get(slice, "metadata"), "labels");
	json_t *port;
	json_t *endpoint;
	json_t *host;
	size_t i;
	size_t j;
	size_t k;

	if (making.group == NULL)
		return NULL;
	set_metadata(&making, "endpointslice", slice);
	set(&making, "endpointslice_address_type", text(slice, "addressType"));
	set_service(&making, slice, text(labels, "kubernetes.io/service-name"), known);
	json_array_foreach(get(slice, "ports"), i, port)
		json_array_foreach(get(slice, "endpoints"), j, endpoint)
			json_array_foreach(get(endpoint, "addresses"), k, host)
	{
		if (json_is_string(host))
			add_slice_endpoint(&making, slice, endpoint, json_string_value(host), port, known);
	}
	return making.group;
}
