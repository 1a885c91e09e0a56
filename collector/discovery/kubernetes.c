/*
 * kubernetes.c
 *		kubernetes_sd_configs: targets in the API of Kubernetes.
 *
 * There is a watch for each resource that the role needs, in each namespace. For pods, services,
 * nodes and ingresses, each object is one group. Endpoints and endpoint slices refer to pods and
 * services, which may arrive later: at most once a second the groups that refer to changed objects
 * are made again.
 */
#include "discovery/kubernetes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <uthash.h>

#include "base/grow.h"
#include "base/hash.h"
#include "discovery/discovery.h"
#include "discovery/kube_groups.h"
#include "kubernetes/kube_watch.h"

#define SOON_NS	  INT64_C(1000000000)
#define KINDS_MAX 3

/*
 * Limit of the changed objects that are remembered in a second; if more have changed, all groups
 * are made again.
 */
#define CHANGED_MAX 100000

typedef enum KubeKind
{
	KUBE_POD,
	KUBE_SERVICE,
	KUBE_ENDPOINTS,
	KUBE_SLICE,
	KUBE_NODE,
	KUBE_INGRESS,
	KUBE_KIND_COUNT
} KubeKind;

static const struct
{
	const char *role;
	const char *api;
	const char *resource;
} kinds[KUBE_KIND_COUNT] = {
	[KUBE_POD] = { "pod", "/api/v1", "pods" },
	[KUBE_SERVICE] = { "service", "/api/v1", "services" },
	[KUBE_ENDPOINTS] = { "endpoints", "/api/v1", "endpoints" },
	[KUBE_SLICE] = { "endpointslice", "/apis/discovery.k8s.io/v1", "endpointslices" },
	[KUBE_NODE] = { "node", "/api/v1", "nodes" },
	[KUBE_INGRESS] = { "ingress", "/apis/networking.k8s.io/v1", "ingresses" },
};

typedef struct KubeSelector
{
	const char *role;
	const char *label;
	const char *field;
} KubeSelector;

typedef struct KubeSettings
{
	const char *role;
	KubeAccess access;
	ConfigList selectors; /* list of KubeSelector */
} KubeSettings;

typedef struct KubeObject
{
	UT_hash_handle hh; /* by key */
	char *key;
	json_t *object;
	bool has_changed;	  /* the object has changed since its group was made */
	uint64_t *references; /* hashes of the pods and services that its group refers to */
	size_t reference_count;
	size_t reference_capacity;
} KubeObject;

struct KubeDiscovery;

/* A watch of one resource, in one namespace or in all. */
typedef struct KubePart
{
	struct KubeDiscovery *discovery;
	KubeKind kind;
	KubeWatch *watch;
} KubePart;

typedef struct KubeDiscovery
{
	Discovery base;
	const KubeSettings *settings;
	KubeKind role;
	KubeReach reach;
	KubePart *parts;
	size_t part_count;
	/* Objects by kind; used for the roles endpoints and endpointslice. */
	KubeObject *objects[KUBE_KIND_COUNT];
	uint64_t seed;
	/* Object whose group is being made; NULL: references are not recorded. */
	KubeObject *making;
	/* hashes of the pods and services that have changed since groups were last made */
	uint64_t *changed;
	size_t changed_count;
	size_t changed_capacity;
	bool dirty;		/* some groups may be outdated */
	bool all_dirty; /* all groups may be outdated, because changes could not be recorded */
	int64_t remade_ns;
} KubeDiscovery;

/* --- settings --- */

static bool
read_selector(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "role", config_read_text, offsetof(KubeSelector, role) },
		{ "label", config_read_text, offsetof(KubeSelector, label) },
		{ "field", config_read_text, offsetof(KubeSelector, field) },
	};
	const KubeSelector *selector = field;

	return config_read_fields(reader, node, CONFIG_FIELDS(fields), field) &&
		   (selector->role != NULL || config_fail(reader, node, "role is missing"));
}

static bool
read_selectors(ConfigReader *reader, const Node *node, void *field)
{
	return config_read_items(reader, node, sizeof(KubeSelector), read_selector, field);
}

static KubeKind
find_role(const char *role)
{
	KubeKind kind = KUBE_POD;

	while (kind < KUBE_KIND_COUNT && strcmp(kinds[kind].role, role) != 0)
		kind++;
	return kind;
}

static bool
kube_sd_read_settings(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "role", config_read_text, offsetof(KubeSettings, role) },
		{ "attach_metadata", config_refuse, 0 },
		{ "selectors", read_selectors, offsetof(KubeSettings, selectors) },
		KUBE_ACCESS_FIELDS(KubeSettings, access),
	};
	KubeSettings *settings = field;

	settings->role = "";
	if (!config_read_fields(reader, node, CONFIG_FIELDS(fields), settings))
		return false;
	if (find_role(settings->role) == KUBE_KIND_COUNT)
		return config_fail(reader, node,
						   "The role must be one of pod, service, endpoints, endpointslice, node, "
						   "ingress");
	return kube_access_check(reader, node, &settings->access);
}

const void *
kubernetes_pods_of(ConfigReader *reader, const KubeAccess *access, const char *space,
				   const char *selector)
{
	KubeSettings *settings = config_alloc(reader, sizeof(KubeSettings));
	KubeSelector *selectors = config_alloc(reader, sizeof(KubeSelector));
	const char **spaces = config_alloc(reader, sizeof(char *));

	if (settings == NULL || selectors == NULL || spaces == NULL)
		return NULL;
	*spaces = space;
	*selectors = (KubeSelector){ .role = kinds[KUBE_POD].role, .label = selector };
	*settings = (KubeSettings){ .role = kinds[KUBE_POD].role,
								.access = *access,
								.selectors = { selectors, selector != NULL ? 1 : 0 } };
	/* The namespace of the resource replaces those of the settings. */
	settings->access.own_namespace = false;
	settings->access.namespaces = (ConfigList){ spaces, 1 };
	return settings;
}

/* --- objects --- */

static uint64_t
hash_key(const KubeDiscovery *discovery, KubeKind kind, const char *key)
{
	return hash_bytes(hash_word(discovery->seed, kind), key, strlen(key));
}

/* Records that the current group refers to an object, which may not exist yet. */
static void
add_reference(KubeDiscovery *discovery, KubeKind kind, const char *key)
{
	KubeObject *making = discovery->making;

	if (making == NULL)
		return;
	/* A missing reference could leave the group outdated, so all groups are made again. */
	if (grow_array(&making->references, &making->reference_capacity, making->reference_count,
				   sizeof(uint64_t)) != 0)
		discovery->all_dirty = true;
	else
		making->references[making->reference_count++] = hash_key(discovery, kind, key);
}

static json_t *
find_object(KubeDiscovery *discovery, KubeKind kind, const char *key)
{
	KubeObject *found;

	add_reference(discovery, kind, key);
	HASH_FIND_STR(discovery->objects[kind], key, found);
	return found != NULL ? found->object : NULL;
}

static json_t *
kube_sd_find_pod(void *context, const char *key)
{
	return find_object(context, KUBE_POD, key);
}

static json_t *
kube_sd_find_service(void *context, const char *key)
{
	return find_object(context, KUBE_SERVICE, key);
}

static void
forget_object(KubeDiscovery *discovery, KubeKind kind, KubeObject *object)
{
	HASH_DEL(discovery->objects[kind], object);
	json_decref(object->object);
	free(object->references);
	free(object->key);
	free(object);
}

/* Keeps the current version of an object; NULL: it is gone. */
static void
keep_object(KubeDiscovery *discovery, KubeKind kind, const char *key, json_t *object)
{
	KubeObject *kept;

	HASH_FIND_STR(discovery->objects[kind], key, kept);
	if (kept != NULL)
		forget_object(discovery, kind, kept);
	if (object == NULL)
		return;
	kept = calloc(1, sizeof(KubeObject));
	if (kept == NULL || (kept->key = strdup(key)) == NULL)
	{
		free(kept);
		discovery_warn(&discovery->base, key, "Out of memory.");
		return;
	}
	/* delete the largest part of many objects, because no label uses it */
	json_object_del(json_object_get(object, "metadata"), "managedFields");
	kept->object = json_incref(object);
	kept->has_changed = true;
	HASH_ADD_KEYPTR(hh, discovery->objects[kind], kept->key, strlen(kept->key), kept);
}

static TargetGroup *
make_group(KubeDiscovery *discovery, KubeKind kind, const char *key, const json_t *object)
{
	const KubeKnown known = { kube_sd_find_pod, kube_sd_find_service, discovery };

	switch (kind)
	{
		case KUBE_POD:
			return kube_pod_group(key, object);
		case KUBE_SERVICE:
			return kube_service_group(key, object);
		case KUBE_ENDPOINTS:
			return kube_endpoints_group(key, object, &known);
		case KUBE_SLICE:
			return kube_slice_group(key, object, &known);
		case KUBE_NODE:
			return kube_node_group(key, object);
		case KUBE_INGRESS:
			return kube_ingress_group(key, object);
		case KUBE_KIND_COUNT:
			break;
	}
	return NULL;
}

/* Records that groups that refer to a pod or service are outdated. */
static void
note_change(KubeDiscovery *discovery, KubeKind kind, const char *key)
{
	discovery->dirty = true;
	/* An object of the role itself is marked by has_changed. */
	if (kind == discovery->role)
		return;
	if (discovery->changed_count == CHANGED_MAX ||
		grow_array(&discovery->changed, &discovery->changed_capacity, discovery->changed_count,
				   sizeof(uint64_t)) != 0)
		discovery->all_dirty = true;
	else
		discovery->changed[discovery->changed_count++] = hash_key(discovery, kind, key);
}

static void
kube_sd_on_object(void *context, const char *key, json_t *object)
{
	KubePart *part = context;
	KubeDiscovery *discovery = part->discovery;
	bool joins = discovery->role == KUBE_ENDPOINTS || discovery->role == KUBE_SLICE;

	if (object == NULL && part->kind == discovery->role)
		discovery_remove(&discovery->base, key);
	if (joins)
	{
		keep_object(discovery, part->kind, key, object);
		note_change(discovery, part->kind, key);
	}
	else if (object != NULL)
		discovery_update(&discovery->base, make_group(discovery, part->kind, key, object));
}

static void
kube_sd_on_failure(void *context, const char *path, const char *detail)
{
	const KubePart *part = context;

	discovery_warn(&part->discovery->base, path, detail);
}

static int
compare_hashes(const void *a, const void *b)
{
	const uint64_t *left = a;
	const uint64_t *right = b;

	return (*left > *right) - (*left < *right);
}

/* Returns true if the group of an object is outdated; changes must be sorted. */
static bool
is_outdated(const KubeDiscovery *discovery, const KubeObject *kept)
{
	bool outdated = kept->has_changed;

	for (size_t i = 0; !outdated && discovery->changed_count > 0 && i < kept->reference_count; i++)
		outdated = bsearch(&kept->references[i], discovery->changed, discovery->changed_count,
						   sizeof(uint64_t), compare_hashes) != NULL;
	return outdated;
}

static void
remake_group(KubeDiscovery *discovery, KubeObject *kept)
{
	kept->has_changed = false;
	kept->reference_count = 0;
	discovery->making = kept;
	discovery_update(&discovery->base,
					 make_group(discovery, discovery->role, kept->key, kept->object));
	discovery->making = NULL;
}

static void
remake_groups(KubeDiscovery *discovery)
{
	bool are_all_outdated = discovery->all_dirty;

	discovery->dirty = false;
	discovery->all_dirty = false;
	/* is_outdated() searches the changes by bsearch(). */
	if (discovery->changed_count > 0)
		qsort(discovery->changed, discovery->changed_count, sizeof(uint64_t), compare_hashes);
	for (KubeObject *kept = discovery->objects[discovery->role]; kept != NULL; kept = kept->hh.next)
		if (are_all_outdated || is_outdated(discovery, kept))
			remake_group(discovery, kept);
	discovery->changed_count = 0;
	/* References may not have been recorded, so all groups are made again later. */
	discovery->dirty |= discovery->all_dirty;
}

/* --- begin and end --- */

static const KubeSelector *
find_selector(const KubeSettings *settings, KubeKind kind)
{
	const KubeSelector *selectors = settings->selectors.items;

	for (size_t i = 0; i < settings->selectors.count; i++)
		if (strcmp(selectors[i].role, kinds[kind].role) == 0)
			return &selectors[i];
	return NULL;
}

/* Adds the watch of one kind in a namespace; NULL: in all. Nodes have no namespace. */
static bool
add_part(KubeDiscovery *discovery, KubeKind kind, const char *space)
{
	KubePart *part = &discovery->parts[discovery->part_count];
	const KubeSelector *selector = find_selector(discovery->settings, kind);
	char path[600];
	const KubeWatchOptions options = { .client = discovery->base.parts.client,
									   .settings = &discovery->reach.http,
									   .server = discovery->reach.server,
									   .path = path,
									   .labels = selector != NULL ? selector->label : NULL,
									   .fields = selector != NULL ? selector->field : NULL,
									   .on_object = kube_sd_on_object,
									   .on_failure = kube_sd_on_failure,
									   .context = part };

	/* Nodes belong to no namespace. */
	if (space == NULL || kind == KUBE_NODE)
		snprintf(path, sizeof(path), "%s/%s", kinds[kind].api, kinds[kind].resource);
	else
		snprintf(path, sizeof(path), "%s/namespaces/%s/%s", kinds[kind].api, space,
				 kinds[kind].resource);
	*part = (KubePart){ discovery, kind, kube_watch_create(&options) };
	discovery->part_count += part->watch != NULL;
	return part->watch != NULL;
}

static bool
add_parts(KubeDiscovery *discovery, const char *space)
{
	bool joins = discovery->role == KUBE_ENDPOINTS || discovery->role == KUBE_SLICE;

	return add_part(discovery, discovery->role, space) &&
		   (!joins ||
			(add_part(discovery, KUBE_POD, space) && add_part(discovery, KUBE_SERVICE, space)));
}

static bool
kube_sd_start_parts(KubeDiscovery *discovery)
{
	KubeReach *reach = &discovery->reach;

	if (!kube_reach_init(reach, &discovery->settings->access))
		return false;
	if (reach->problem != NULL)
		discovery_warn(&discovery->base, "", reach->problem);
	discovery->parts = calloc(MAX(reach->space_count, 1) * KINDS_MAX, sizeof(KubePart));
	for (size_t i = 0; discovery->parts != NULL && i < reach->space_count; i++)
		if (!add_parts(discovery, reach->spaces[i]))
			return false;
	return discovery->parts != NULL;
}

static void
kube_sd_stop(Discovery *base)
{
	KubeDiscovery *discovery = (KubeDiscovery *) base;
	KubeObject *object;
	KubeObject *next;

	for (size_t i = 0; i < discovery->part_count; i++)
		kube_watch_free(discovery->parts[i].watch);
	for (KubeKind kind = KUBE_POD; kind < KUBE_KIND_COUNT; kind++)
		HASH_ITER(hh, discovery->objects[kind], object, next)
		{
			forget_object(discovery, kind, object);
		}
	kube_reach_fini(&discovery->reach);
	free(discovery->changed);
	free(discovery->parts);
	free(discovery);
}

static Discovery *
kube_sd_start(const void *settings, const DiscoveryParts *parts)
{
	KubeDiscovery *discovery = calloc(1, sizeof(KubeDiscovery));

	if (discovery == NULL)
		return NULL;
	discovery->base = (Discovery){ .kind = &kubernetes_discovery, .parts = *parts };
	discovery->settings = settings;
	discovery->seed = hash_seed();
	discovery->role = find_role(discovery->settings->role);
	if (kube_sd_start_parts(discovery))
		return &discovery->base;
	kube_sd_stop(&discovery->base);
	return NULL;
}

static void
kube_sd_tick(Discovery *base, int64_t now_ns)
{
	KubeDiscovery *discovery = (KubeDiscovery *) base;

	/* events arrive at any time; the groups that they make outdated are made again once a second */
	base->due_ns = now_ns + SOON_NS;
	for (size_t i = 0; i < discovery->part_count; i++)
		base->due_ns = MIN(base->due_ns, kube_watch_tick(discovery->parts[i].watch, now_ns));
	if (!discovery->dirty || now_ns < discovery->remade_ns + SOON_NS)
		return;
	/* Until all objects are listed, groups would lack labels of pods and services. */
	for (size_t i = 0; i < discovery->part_count; i++)
		if (!kube_watch_is_synced(discovery->parts[i].watch))
			return;
	discovery->remade_ns = now_ns;
	remake_groups(discovery);
}

const DiscoveryKind kubernetes_discovery = { .key = "kubernetes_sd_configs",
											 .read = kube_sd_read_settings,
											 .settings_bytes = sizeof(KubeSettings),
											 .start = kube_sd_start,
											 .tick = kube_sd_tick,
											 .stop = kube_sd_stop };
