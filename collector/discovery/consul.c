/*
 * consul.c
 *		consul_sd_configs: instances of services in Consul.
 *
 * Uses blocking queries: the server answers a query when its result has changed, with an index from
 * which the next query continues. There is one query for the list of services, and one for the
 * instances of each service.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <uthash.h>

#include "base/clock.h"
#include "base/percent.h"
#include "discovery/discovery.h"
#include "http_client/json_read.h"

#define WAIT_S		   120
#define TIMEOUT_MS	   ((WAIT_S + 15) * 1000)
#define RETRY_NS	   (15000 * NS_PER_MS)
#define SOON_NS		   (1000 * NS_PER_MS) /* shortest time between two answers of one query */
#define BODY_BYTES_MAX (32 * JSON_READ_MB)
/* limit of an answer's memory while its groups are made */
#define JSON_BYTES_MAX (128 * JSON_READ_MB)
#define META		   "__meta_consul_"

typedef struct ConsulSettings
{
	const char *server;
	const char *token;
	const char *datacenter;
	const char *space;
	const char *partition;
	const char *scheme;
	const char *filter;
	const char *health_filter;
	const char *separator;
	ConfigList services;  /* list of const char *; empty: all */
	ConfigList tags;	  /* list of const char *; instances must have all of them */
	ConfigList node_meta; /* list of ConfigPair */
	int64_t refresh_ms;
	bool not_stale;
	HttpSettings http;
} ConsulSettings;

struct ConsulDiscovery;

/* A query that is repeated as long as its service is listed. */
typedef struct ConsulQuery
{
	UT_hash_handle hh; /* keyed by name, in the discovery's table */
	struct ConsulDiscovery *discovery;
	char *name; /* name of the service; "" for the list of services */
	HttpTransfer *transfer;
	char index[32]; /* index of the last answer; "": not known */
	int64_t due_ns;
	bool listed; /* the latest list of services contains this service */
} ConsulQuery;

typedef struct ConsulDiscovery
{
	Discovery base;
	const ConsulSettings *settings;
	ConsulQuery list;
	ConsulQuery *services;
} ConsulDiscovery;

static bool
consul_read_settings(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "server", config_read_text, offsetof(ConsulSettings, server) },
		{ "token", config_read_text, offsetof(ConsulSettings, token) },
		{ "datacenter", config_read_text, offsetof(ConsulSettings, datacenter) },
		{ "namespace", config_read_text, offsetof(ConsulSettings, space) },
		{ "partition", config_read_text, offsetof(ConsulSettings, partition) },
		{ "scheme", config_read_text, offsetof(ConsulSettings, scheme) },
		{ "services", config_read_texts, offsetof(ConsulSettings, services) },
		{ "tags", config_read_texts, offsetof(ConsulSettings, tags) },
		{ "node_meta", config_read_pairs, offsetof(ConsulSettings, node_meta) },
		{ "filter", config_read_text, offsetof(ConsulSettings, filter) },
		{ "health_filter", config_read_text, offsetof(ConsulSettings, health_filter) },
		{ "tag_separator", config_read_text, offsetof(ConsulSettings, separator) },
		{ "allow_stale", http_read_not, offsetof(ConsulSettings, not_stale) },
		{ "refresh_interval", config_read_duration, offsetof(ConsulSettings, refresh_ms) },
		HTTP_SETTING_FIELDS(ConsulSettings, http),
	};
	ConsulSettings *settings = field;

	*settings = (ConsulSettings){ .server = "localhost:8500", .scheme = "http", .separator = "," };
	if (!config_read_fields(reader, node, CONFIG_FIELDS(fields), settings))
		return false;
	if (strcmp(settings->scheme, "http") != 0 && strcmp(settings->scheme, "https") != 0)
		return config_fail(reader, node, "The scheme must be http or https");
	if (strpbrk(settings->server, "/?#@ ") != NULL)
		return config_fail(reader, node, "The server must be a host and a port");
	return http_settings_check(reader, node, &settings->http);
}

/* --- queries --- */

static void
consul_put_param(FILE *out, const char *name, const char *value)
{
	if (value == NULL || value[0] == '\0')
		return;
	fprintf(out, "&%s=", name);
	percent_encode(out, value, "");
}

/* Returns the URL of a blocking query: for the list of services, or for the instances of one. */
static char *
consul_make_url(const ConsulQuery *query)
{
	const ConsulSettings *settings = query->discovery->settings;
	const ConfigPair *meta = settings->node_meta.items;
	const char *const *tags = settings->tags.items;
	bool is_list = query->name[0] == '\0';
	char *url = NULL;
	size_t length;
	FILE *out = open_memstream(&url, &length);

	if (out == NULL)
		return NULL;
	fprintf(out, "%s://%s/v1/%s", settings->scheme, settings->server,
			is_list ? "catalog/services" : "health/service/");
	percent_encode(out, query->name, "");
	fprintf(out, "?wait=%ds", WAIT_S);
	/* A query with the last index waits for a change. */
	consul_put_param(out, "index", query->index);
	consul_put_param(out, "dc", settings->datacenter);
	consul_put_param(out, "ns", settings->space);
	consul_put_param(out, "partition", settings->partition);
	consul_put_param(out, "filter", is_list ? settings->filter : settings->health_filter);
	/* Then any server may answer, not only the leader. */
	if (!settings->not_stale)
		fputs("&stale=", out);
	for (size_t i = 0; !is_list && i < settings->tags.count; i++)
		consul_put_param(out, "tag", tags[i]);
	for (size_t i = 0; i < settings->node_meta.count; i++)
	{
		fputs("&node-meta=", out);
		percent_encode(out, meta[i].name, "");
		fputc(':', out);
		percent_encode(out, meta[i].value, "");
	}
	if (fclose(out) == 0)
		return url;
	free(url);
	return NULL;
}

static void consul_on_answer(void *context, HttpAnswer *answer);

/* Starts the blocking query for one service or for the list of services. */
static void
consul_ask(ConsulQuery *query)
{
	ConsulDiscovery *discovery = query->discovery;
	char *url = consul_make_url(query);
	const ConfigPair token = { "X-Consul-Token", discovery->settings->token };
	const HttpRequest request = { .url = url,
								  .settings = &discovery->settings->http,
								  .headers = &token,
								  .header_count = token.value != NULL ? 1 : 0,
								  .headers_are_secret = token.value != NULL,
								  .timeout_ms = TIMEOUT_MS,
								  .body_max = BODY_BYTES_MAX,
								  .on_end = consul_on_answer,
								  .context = query };

	if (url != NULL)
		query->transfer = http_client_start(discovery->base.parts.client, &request);
	if (query->transfer == NULL)
	{
		discovery_warn(&discovery->base, query->name, "Out of memory.");
		query->due_ns = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
	}
	free(url);
}

/* --- instances of a service --- */

static const char *
text(const json_t *object, const char *name)
{
	const char *value = json_string_value(json_object_get(object, name));

	return value == NULL || value[0] == '\0' ? NULL : value;
}

static void
consul_set_map(TargetGroup *group, TargetLabels *target, const char *prefix, const json_t *map)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *) (uintptr_t) map, key, value)
	{
		/* addresses do not go into these labels, because they have labels of their own */
		target_group_meta(group, target, prefix, key,
						  json_is_object(value) ? text(value, "Address")
												: json_string_value(value));
	}
}

/* Joins the tags, with the separator at both ends, so that ",tag," finds a tag. */
static char *
join_tags(const json_t *tags, const char *separator)
{
	char *joined = NULL;
	size_t length;
	FILE *out = json_array_size(tags) == 0 ? NULL : open_memstream(&joined, &length);
	json_t *tag;
	size_t i;

	if (out == NULL)
		return NULL;
	/* A separator at both ends lets rules match whole tags. */
	fputs(separator, out);
	json_array_foreach(tags, i, tag)
	{
		fprintf(out, "%s%s", json_is_string(tag) ? json_string_value(tag) : "", separator);
	}
	fclose(out);
	return joined;
}

/* Returns the worst state among an instance's checks; "maintenance" is the worst of all. */
static const char *
health_of(const json_t *checks)
{
	static const char *const states[] = { "maintenance", "critical", "warning" };
	json_t *check;
	size_t j;

	/* States are searched from the worst one on, so the first match is the result. */
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		json_array_foreach(checks, j, check)
		{
			const char *id = text(check, "CheckID");
			const char *status = text(check, "Status");
			bool maintenance = id != NULL && (strcmp(id, "_node_maintenance") == 0 ||
											  strncmp(id, "_service_maintenance:", 21) == 0);

			if (maintenance ? i == 0 : status != NULL && strcmp(status, states[i]) == 0)
				return states[i];
		}
	return "passing";
}

/* Adds the target of one instance of a service. */
static void
add_instance(const ConsulDiscovery *discovery, TargetGroup *group, const json_t *instance)
{
	const json_t *node = json_object_get(instance, "Node");
	const json_t *service = json_object_get(instance, "Service");
	/* A service without an address has that of its node. */
	const char *host =
		text(service, "Address") != NULL ? text(service, "Address") : text(node, "Address");
	long long port = json_integer_value(json_object_get(service, "Port"));
	char *tags = join_tags(json_object_get(service, "Tags"), discovery->settings->separator);
	TargetLabels *target;
	char number[24];
	char address[300];

	if (host == NULL)
	{
		free(tags);
		return;
	}
	snprintf(address, sizeof(address), strchr(host, ':') != NULL ? "[%s]:%lld" : "%s:%lld", host,
			 port);
	snprintf(number, sizeof(number), "%lld", port);
	target = target_group_add(group);
	target_group_label(group, target, "__address__", address);
	target_group_label(group, target, META "address", text(node, "Address"));
	target_group_label(group, target, META "node", text(node, "Node"));
	target_group_label(group, target, META "dc", text(node, "Datacenter"));
	target_group_label(group, target, META "namespace", text(service, "Namespace"));
	target_group_label(group, target, META "partition", text(service, "Partition"));
	target_group_label(group, target, META "service", text(service, "Service"));
	target_group_label(group, target, META "service_id", text(service, "ID"));
	target_group_label(group, target, META "service_address", text(service, "Address"));
	target_group_label(group, target, META "service_port", number);
	target_group_label(group, target, META "tags", tags);
	target_group_label(group, target, META "health",
					   health_of(json_object_get(instance, "Checks")));
	consul_set_map(group, target, META "metadata_", json_object_get(node, "Meta"));
	consul_set_map(group, target, META "service_metadata_", json_object_get(service, "Meta"));
	consul_set_map(group, target, META "tagged_address_", json_object_get(node, "TaggedAddresses"));
	free(tags);
}

static const char *
take_instances(ConsulDiscovery *discovery, const ConsulQuery *query, const json_t *instances)
{
	TargetGroup *group;
	json_t *instance;
	size_t i;

	if (!json_is_array(instances))
		return "The answer is not a list of instances.";
	group = target_group_create(query->name);
	if (group != NULL)
		json_array_foreach(instances, i, instance)
		{
			add_instance(discovery, group, instance);
		}
	discovery_update(&discovery->base, group);
	return NULL;
}

/* --- the list of services --- */

static void
end_query(ConsulDiscovery *discovery, ConsulQuery *query)
{
	if (query->transfer != NULL)
		http_transfer_cancel(query->transfer);
	HASH_DEL(discovery->services, query);
	free(query->name);
	free(query);
}

/*
 * Returns true if a service is among the configured names, if there are any, and has all configured
 * tags.
 */
static bool
consul_is_wanted(const ConsulSettings *settings, const char *name, const json_t *tags)
{
	const char *const *names = settings->services.items;
	const char *const *wanted = settings->tags.items;
	bool found = settings->services.count == 0;
	json_t *tag;
	size_t j;

	for (size_t i = 0; i < settings->services.count; i++)
		found |= strcmp(names[i], name) == 0;
	for (size_t i = 0; found && i < settings->tags.count; i++)
	{
		found = false;
		json_array_foreach(tags, j, tag)
		{
			found |= json_is_string(tag) && strcmp(json_string_value(tag), wanted[i]) == 0;
		}
	}
	return found;
}

/* Starts a query for a service that is new in the list. */
static void
list_service(ConsulDiscovery *discovery, const char *name)
{
	ConsulQuery *query;

	HASH_FIND_STR(discovery->services, name, query);
	if (query == NULL)
	{
		query = calloc(1, sizeof(ConsulQuery));
		if (query == NULL || (query->name = strdup(name)) == NULL)
		{
			free(query);
			discovery_warn(&discovery->base, name, "Out of memory.");
			return;
		}
		query->discovery = discovery;
		HASH_ADD_KEYPTR(hh, discovery->services, query->name, strlen(query->name), query);
	}
	query->listed = true;
}

/* Takes the list of services, and removes the groups of services that it lacks. */
static const char *
take_services(ConsulDiscovery *discovery, const json_t *services)
{
	ConsulQuery *query;
	ConsulQuery *next;
	const char *name;
	json_t *tags;

	if (!json_is_object(services))
		return "The answer is not a list of services.";
	/* Services that are not listed again are removed below. */
	for (query = discovery->services; query != NULL; query = query->hh.next)
		query->listed = false;
	json_object_foreach((json_t *) (uintptr_t) services, name, tags)
	{
		if (name[0] != '\0' && consul_is_wanted(discovery->settings, name, tags))
			list_service(discovery, name);
	}
	HASH_ITER(hh, discovery->services, query, next)
	{
		if (query->listed)
			continue;
		discovery_remove(&discovery->base, query->name);
		end_query(discovery, query);
	}
	return NULL;
}

/* --- answers --- */

static const char *
consul_take_answer(ConsulQuery *query, const HttpAnswer *answer)
{
	ConsulDiscovery *discovery = query->discovery;
	const char *wrong;
	json_t *body = json_read_body(&answer->body, 0, JSON_BYTES_MAX, &wrong);

	if (body != NULL)
		wrong = query->name[0] == '\0' ? take_services(discovery, body)
									   : take_instances(discovery, query, body);
	json_decref(body);
	return wrong;
}

/*
 * Stores the index of an answer. If it is smaller than the previous one, the server was restarted,
 * so the index is reset; 0 is not a valid index.
 */
static void
take_index(ConsulQuery *query, const char *index)
{
	bool back = strtoull(index, NULL, 10) < strtoull(query->index, NULL, 10) ||
				strtoull(index, NULL, 10) == 0;

	/*
	 * A server that has restarted begins with a lower index, for which a query would wait in vain.
	 */
	snprintf(query->index, sizeof(query->index), "%s", back ? "" : index);
}

/*
 * Processes an answer unless its index is unchanged, and plans the next query. After a failure the
 * index is reset, so that the server answers the next query at once.
 */
static void
consul_on_answer(void *context, HttpAnswer *answer)
{
	ConsulQuery *query = context;
	char status[64];
	const char *wrong = NULL;

	query->transfer = NULL;
	snprintf(status, sizeof(status), "The server answered with HTTP status %ld.", answer->status);
	if (answer->error[0] != '\0')
		wrong = answer->error;
	else if (answer->status != 200)
		wrong = status;
	else if (query->index[0] == '\0' || strcmp(query->index, answer->index) != 0)
		wrong = consul_take_answer(query, answer);
	query->due_ns = clock_ns(CLOCK_MONOTONIC) + (wrong != NULL ? RETRY_NS : SOON_NS);
	if (wrong == NULL)
		take_index(query, answer->index);
	else
	{
		/* After a failure the next answer is read, whatever its index is. */
		query->index[0] = '\0';
		discovery_warn(&query->discovery->base, query->name, wrong);
	}
}

static int64_t
tick_query(ConsulQuery *query, int64_t now_ns)
{
	if (query->transfer == NULL && now_ns >= query->due_ns)
		consul_ask(query);
	return query->transfer != NULL ? INT64_MAX : query->due_ns;
}

static void
consul_tick(Discovery *base, int64_t now_ns)
{
	ConsulDiscovery *discovery = (ConsulDiscovery *) base;

	base->due_ns = MIN(now_ns + SOON_NS, tick_query(&discovery->list, now_ns));
	for (ConsulQuery *query = discovery->services; query != NULL; query = query->hh.next)
		base->due_ns = MIN(base->due_ns, tick_query(query, now_ns));
}

static Discovery *
consul_start(const void *settings, const DiscoveryParts *parts)
{
	static char no_name[] = "";
	ConsulDiscovery *discovery = calloc(1, sizeof(ConsulDiscovery));

	if (discovery == NULL)
		return NULL;
	discovery->base = (Discovery){ .kind = &consul_discovery, .parts = *parts };
	discovery->settings = settings;
	discovery->list = (ConsulQuery){ .discovery = discovery, .name = no_name };
	return &discovery->base;
}

static void
consul_stop(Discovery *base)
{
	ConsulDiscovery *discovery = (ConsulDiscovery *) base;
	ConsulQuery *query;
	ConsulQuery *next;

	if (discovery->list.transfer != NULL)
		http_transfer_cancel(discovery->list.transfer);
	HASH_ITER(hh, discovery->services, query, next)
	{
		end_query(discovery, query);
	}
	free(discovery);
}

const DiscoveryKind consul_discovery = { .key = "consul_sd_configs",
										 .read = consul_read_settings,
										 .settings_bytes = sizeof(ConsulSettings),
										 .start = consul_start,
										 .tick = consul_tick,
										 .stop = consul_stop };
