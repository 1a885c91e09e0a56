/*
 * kube_groups.c
 *		Makes the labels of targets for each role of kubernetes_sd_configs.
 */
#include "discovery/kube_groups.h"

#include "labels/kubernetes_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Making
{
	TargetGroup *group;
	TargetLabels *labels; /* the labels that are being made: the group's, or a target's */
} Making;

static const json_t *
kube_group_get(const json_t *object, const char *name)
{
	return json_object_get(object, name);
}

/* Returns the text member of an object; NULL if it is absent, empty or no text. */
static const char *
kube_group_value(const json_t *object, const char *name)
{
	const char *value = json_string_value(kube_group_get(object, name));

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
 * Adds "<role>_label_<k>" and "<role>_labelpresent_<k>" for each of an object's labels, and the
 * corresponding two for each annotation.
 */
static void
kube_group_set_map(Making *making, const char *role, const char *kind, const json_t *map)
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
		/* The second label shows that the first exists, even if its value is empty. */
		target_group_meta(making->group, making->labels, present, key, "true");
	}
}

static void
set_metadata(Making *making, const char *role, const json_t *object)
{
	const json_t *meta = kube_group_get(object, "metadata");
	char name[64];

	snprintf(name, sizeof(name), "%s_name", role);
	set(making, name, kube_group_value(meta, "name"));
	kube_group_set_map(making, role, "label", kube_group_get(meta, "labels"));
	kube_group_set_map(making, role, "annotation", kube_group_get(meta, "annotations"));
}

static Making
kube_group_begin(const char *source, const json_t *object)
{
	Making making = { .group = target_group_create(source) };

	if (making.group == NULL)
		return making;
	making.labels = &making.group->labels;
	set(&making, KUBE_NAMESPACE, kube_group_value(kube_group_get(object, "metadata"), "namespace"));
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

	json_array_foreach(kube_group_get(meta, "ownerReferences"), i, owner)
	{
		if (!json_is_true(kube_group_get(owner, "controller")))
			continue;
		set(making, KUBE_POD_CONTROLLER_KIND, kube_group_value(owner, "kind"));
		set(making, KUBE_POD_CONTROLLER_NAME, kube_group_value(owner, "name"));
		return;
	}
}

static const char *
ready_of(const json_t *status)
{
	json_t *condition;
	size_t i;

	json_array_foreach(kube_group_get(status, "conditions"), i, condition)
	{
		const char *type = kube_group_value(condition, "type");
		const char *state = kube_group_value(condition, "status");

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
	const json_t *meta = kube_group_get(pod, "metadata");
	const json_t *status = kube_group_get(pod, "status");

	set_metadata(making, "pod", pod);
	set(making, KUBE_POD_UID, kube_group_value(meta, "uid"));
	set(making, KUBE_POD_IP, kube_group_value(status, "podIP"));
	set(making, "pod_host_ip", kube_group_value(status, "hostIP"));
	set(making, KUBE_POD_PHASE, kube_group_value(status, "phase"));
	set(making, "pod_ready", ready_of(status));
	set(making, KUBE_POD_NODE_NAME, kube_group_value(kube_group_get(pod, "spec"), "nodeName"));
	set_controller(making, meta);
}

static const char *
container_id(const json_t *pod, const char *statuses, const char *name)
{
	json_t *status;
	size_t i;

	json_array_foreach(kube_group_get(kube_group_get(pod, "status"), statuses), i, status)
	{
		const char *found = kube_group_value(status, "name");

		if (found != NULL && name != NULL && strcmp(found, name) == 0)
			return kube_group_value(status, "containerID");
	}
	return NULL;
}

static void
set_container(Making *making, const json_t *pod, const json_t *container, bool init)
{
	const char *name = kube_group_value(container, "name");

	set(making, KUBE_CONTAINER_NAME, name);
	set(making, KUBE_CONTAINER_IMAGE, kube_group_value(container, "image"));
	set(making, KUBE_CONTAINER_ID,
		container_id(pod, init ? "initContainerStatuses" : "containerStatuses", name));
	set_bool(making, KUBE_CONTAINER_INIT, init);
}

static void
set_container_port(Making *making, const json_t *port)
{
	const char *protocol = kube_group_value(port, "protocol");

	set(making, KUBE_PORT_NAME, kube_group_value(port, "name"));
	set_number(making, KUBE_PORT_NUMBER, kube_group_get(port, "containerPort"));
	set(making, "pod_container_port_protocol", protocol != NULL ? protocol : "TCP");
}

/*
 * Adds a target for each port of the containers in a list. A container that declares no port gets
 * one target without a port.
 */
static void
add_containers(Making *making, const json_t *pod, const char *list, bool init)
{
	const char *ip = kube_group_value(kube_group_get(pod, "status"), "podIP");
	json_t *container;
	json_t *port;
	size_t i;
	size_t j;

	json_array_foreach(kube_group_get(kube_group_get(pod, "spec"), list), i, container)
	{
		/* A container without ports is one target, whose address has no port. */
		if (json_array_size(kube_group_get(container, "ports")) == 0)
		{
			begin_target(making, ip, NULL);
			set_container(making, pod, container, init);
		}
		json_array_foreach(kube_group_get(container, "ports"), j, port)
		{
			begin_target(making, ip, kube_group_get(port, "containerPort"));
			set_container(making, pod, container, init);
			set_container_port(making, port);
		}
	}
}

TargetGroup *
kube_pod_group(const char *source, const json_t *pod)
{
	Making making = kube_group_begin(source, pod);

	/* A pod without an address cannot be scraped. */
	if (making.group == NULL || kube_group_value(kube_group_get(pod, "status"), "podIP") == NULL)
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
	Making making = kube_group_begin(source, service);
	const json_t *meta = kube_group_get(service, "metadata");
	const json_t *spec = kube_group_get(service, "spec");
	const char *type = kube_group_value(spec, "type");
	bool external = type != NULL && strcmp(type, "ExternalName") == 0;
	char host[600];
	json_t *port;
	size_t i;

	if (making.group == NULL || kube_group_value(meta, "name") == NULL ||
		kube_group_value(meta, "namespace") == NULL)
		return making.group;
	set_metadata(&making, "service", service);
	/* The cluster's DNS resolves this name. */
	snprintf(host, sizeof(host), "%s.%s.svc", kube_group_value(meta, "name"),
			 kube_group_value(meta, "namespace"));
	json_array_foreach(kube_group_get(spec, "ports"), i, port)
	{
		const char *protocol = kube_group_value(port, "protocol");

		begin_target(&making, host, kube_group_get(port, "port"));
		set(&making, "service_port_name", kube_group_value(port, "name"));
		set_number(&making, "service_port_number", kube_group_get(port, "port"));
		set(&making, "service_port_protocol", protocol != NULL ? protocol : "TCP");
		set(&making, "service_type", type);
		if (external)
			set(&making, "service_external_name", kube_group_value(spec, "externalName"));
		else
			set(&making, "service_cluster_ip", kube_group_value(spec, "clusterIP"));
		if (type != NULL && strcmp(type, "LoadBalancer") == 0)
			set(&making, "service_loadbalancer_ip", kube_group_value(spec, "loadBalancerIP"));
	}
	return making.group;
}

/* Chooses the address of a node, in the order in which Prometheus prefers the types. */
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
			const char *type = kube_group_value(address, "type");

			if (type != NULL && strcmp(type, types[i]) == 0 &&
				kube_group_value(address, "address") != NULL)
				return kube_group_value(address, "address");
		}
	return NULL;
}

TargetGroup *
kube_node_group(const char *source, const json_t *node)
{
	Making making = kube_group_begin(source, node);
	const json_t *status = kube_group_get(node, "status");
	const char *host = node_address(kube_group_get(status, "addresses"));
	json_t *address;
	size_t i;

	if (making.group == NULL || host == NULL)
		return making.group;
	set_metadata(&making, "node", node);
	set(&making, "node_provider_id", kube_group_value(kube_group_get(node, "spec"), "providerID"));
	begin_target(&making, host,
				 kube_group_get(kube_group_get(kube_group_get(status, "daemonEndpoints"),
											   "kubeletEndpoint"),
								"Port"));
	/* Nodes are distinguished by their names, as in Prometheus. */
	target_group_label(making.group, making.labels, "instance",
					   kube_group_value(kube_group_get(node, "metadata"), "name"));
	json_array_foreach(kube_group_get(status, "addresses"), i, address)
	{
		if (kube_group_value(address, "type") != NULL)
			target_group_meta(making.group, making.labels, KUBE_META "node_address_",
							  kube_group_value(address, "type"),
							  kube_group_value(address, "address"));
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
	/* A wildcard stands for one component. */
	return strncmp(pattern, "*.", 2) == 0 && rest != NULL && strcmp(pattern + 1, rest) == 0;
}

static bool
has_tls(const json_t *spec, const char *host)
{
	json_t *entry;
	json_t *pattern;
	size_t i;
	size_t j;

	json_array_foreach(kube_group_get(spec, "tls"), i, entry)
		json_array_foreach(kube_group_get(entry, "hosts"), j, pattern)
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
	Making making = kube_group_begin(source, ingress);
	const json_t *spec = kube_group_get(ingress, "spec");
	json_t *rule;
	json_t *path;
	size_t i;
	size_t j;

	if (making.group == NULL)
		return NULL;
	set_metadata(&making, "ingress", ingress);
	set(&making, "ingress_class_name", kube_group_value(spec, "ingressClassName"));
	json_array_foreach(kube_group_get(spec, "rules"), i, rule)
	{
		const char *host = kube_group_value(rule, "host");
		const char *scheme = host != NULL && has_tls(spec, host) ? "https" : "http";
		const json_t *http = kube_group_get(rule, "http");

		if (host == NULL)
			host = ""; /* empty for rules of all hosts */
		if (!json_is_object(http))
			add_ingress_path(&making, scheme, host, NULL);
		json_array_foreach(kube_group_get(http, "paths"), j, path)
			add_ingress_path(&making, scheme, host, kube_group_value(path, "path"));
	}
	return making.group;
}

/* --- endpoints --- */

static json_t *
kube_group_find_pod(const json_t *target, const json_t *object, const KubeKnown *known)
{
	const char *kind = kube_group_value(target, "kind");
	const char *name = kube_group_value(target, "name");
	const char *space = kube_group_value(target, "namespace");
	char key[600];

	if (kind == NULL || name == NULL || strcmp(kind, "Pod") != 0)
		return NULL;
	/* The target is in the namespace of the object unless it names another one. */
	if (space == NULL)
		space = kube_group_value(kube_group_get(object, "metadata"), "namespace");
	snprintf(key, sizeof(key), "%s/%s", space != NULL ? space : "", name);
	return known->pod(known->context, key);
}

/* Sets labels of the pod, and of its container that has the port. */
static void
set_pod_of_port(Making *making, const json_t *pod, const json_t *number)
{
	json_t *container;
	json_t *port;
	size_t i;
	size_t j;

	set_pod(making, pod);
	json_array_foreach(kube_group_get(kube_group_get(pod, "spec"), "containers"), i, container)
		json_array_foreach(kube_group_get(container, "ports"), j, port)
	{
		if (json_integer_value(kube_group_get(port, "containerPort")) != json_integer_value(number))
			continue;
		set_container(making, pod, container, false);
		set_container_port(making, port);
		return;
	}
}

static void
set_service(Making *making, const json_t *object, const char *name, const KubeKnown *known)
{
	const char *space = kube_group_value(kube_group_get(object, "metadata"), "namespace");
	char key[600];
	const json_t *service;

	if (name == NULL)
		return;
	snprintf(key, sizeof(key), "%s/%s", space != NULL ? space : "", name);
	service = known->service(known->context, key);
	if (service != NULL)
		set_metadata(making, "service", service);
}

/* Adds the target of one address and port of an Endpoints object, with the labels of its pod. */
static void
add_endpoint(Making *making, const json_t *endpoints, const json_t *address, const json_t *port,
			 bool ready, const KubeKnown *known)
{
	const json_t *target = kube_group_get(address, "targetRef");
	const json_t *pod = kube_group_find_pod(target, endpoints, known);

	if (kube_group_value(address, "ip") == NULL)
		return;
	begin_target(making, kube_group_value(address, "ip"), kube_group_get(port, "port"));
	set(making, "endpoint_port_name", kube_group_value(port, "name"));
	set(making, "endpoint_port_protocol", kube_group_value(port, "protocol"));
	set_bool(making, "endpoint_ready", ready);
	set(making, "endpoint_hostname", kube_group_value(address, "hostname"));
	set(making, "endpoint_node_name", kube_group_value(address, "nodeName"));
	set(making, "endpoint_address_target_kind", kube_group_value(target, "kind"));
	set(making, "endpoint_address_target_name", kube_group_value(target, "name"));
	if (pod != NULL)
		set_pod_of_port(making, pod, kube_group_get(port, "port"));
}

TargetGroup *
kube_endpoints_group(const char *source, const json_t *endpoints, const KubeKnown *known)
{
	Making making = kube_group_begin(source, endpoints);
	json_t *subset;
	json_t *port;
	json_t *address;
	size_t i;
	size_t j;
	size_t k;

	if (making.group == NULL)
		return NULL;
	set_metadata(&making, "endpoints", endpoints);
	set_service(&making, endpoints, kube_group_value(kube_group_get(endpoints, "metadata"), "name"),
				known);
	json_array_foreach(kube_group_get(endpoints, "subsets"), i, subset)
		json_array_foreach(kube_group_get(subset, "ports"), j, port)
	{
		/* Addresses that are not ready are targets, too, with a label that says so. */
		json_array_foreach(kube_group_get(subset, "addresses"), k, address)
			add_endpoint(&making, endpoints, address, port, true, known);
		json_array_foreach(kube_group_get(subset, "notReadyAddresses"), k, address)
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
	const json_t *target = kube_group_get(endpoint, "targetRef");
	const json_t *conditions = kube_group_get(endpoint, "conditions");
	const json_t *pod = kube_group_find_pod(target, slice, known);

	begin_target(making, host, kube_group_get(port, "port"));
	set(making, "endpointslice_port_name", kube_group_value(port, "name"));
	set(making, "endpointslice_port_protocol", kube_group_value(port, "protocol"));
	set(making, "endpointslice_port_app_protocol", kube_group_value(port, "appProtocol"));
	set_number(making, "endpointslice_port", kube_group_get(port, "port"));
	set_condition(making, "endpointslice_endpoint_conditions_ready",
				  kube_group_get(conditions, "ready"));
	set_condition(making, "endpointslice_endpoint_conditions_serving",
				  kube_group_get(conditions, "serving"));
	set_condition(making, "endpointslice_endpoint_conditions_terminating",
				  kube_group_get(conditions, "terminating"));
	set(making, "endpointslice_endpoint_hostname", kube_group_value(endpoint, "hostname"));
	set(making, "endpointslice_endpoint_node_name", kube_group_value(endpoint, "nodeName"));
	set(making, "endpointslice_endpoint_zone", kube_group_value(endpoint, "zone"));
	set(making, "endpointslice_address_target_kind", kube_group_value(target, "kind"));
	set(making, "endpointslice_address_target_name", kube_group_value(target, "name"));
	if (pod != NULL)
		set_pod_of_port(making, pod, kube_group_get(port, "port"));
}

TargetGroup *
kube_slice_group(const char *source, const json_t *slice, const KubeKnown *known)
{
	Making making = kube_group_begin(source, slice);
	const json_t *labels = kube_group_get(kube_group_get(slice, "metadata"), "labels");
	json_t *port;
	json_t *endpoint;
	json_t *host;
	size_t i;
	size_t j;
	size_t k;

	if (making.group == NULL)
		return NULL;
	set_metadata(&making, "endpointslice", slice);
	set(&making, "endpointslice_address_type", kube_group_value(slice, "addressType"));
	set_service(&making, slice, kube_group_value(labels, "kubernetes.io/service-name"), known);
	json_array_foreach(kube_group_get(slice, "ports"), i, port)
		json_array_foreach(kube_group_get(slice, "endpoints"), j, endpoint)
			json_array_foreach(kube_group_get(endpoint, "addresses"), k, host)
	{
		if (json_is_string(host))
			add_slice_endpoint(&making, slice, endpoint, json_string_value(host), port, known);
	}
	return making.group;
}
