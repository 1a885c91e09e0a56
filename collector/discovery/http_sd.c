/*
 * http_sd.c
 *		http_sd_configs: groups of targets in JSON from a URL. If a request fails the old groups
 *		stay.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "discovery/discovery.h"
#include "http_client/json_read.h"

#define REFRESH_MS_DEFAULT 60000
#define BODY_BYTES_MAX	   (16 * JSON_READ_MB)
/* limit of an answer's memory while its groups are made */
#define JSON_BYTES_MAX	   (128 * JSON_READ_MB)

typedef struct HttpSdSettings
{
	const char *url;
	int64_t refresh_ms;
	HttpSettings http;
} HttpSdSettings;

typedef struct HttpSd
{
	Discovery base;
	const HttpSdSettings *settings;
	HttpTransfer *transfer; /* current request; NULL: none */
	char *public_url;
	size_t group_count;
	uint64_t seed;
	uint64_t body_hash; /* hash of the answer that the groups were made from; 0: none */
} HttpSd;

static bool
http_sd_read_settings(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "url", config_read_text, offsetof(HttpSdSettings, url) },
		{ "refresh_interval", config_read_duration, offsetof(HttpSdSettings, refresh_ms) },
		HTTP_SETTING_FIELDS(HttpSdSettings, http),
	};
	HttpSdSettings *settings = field;

	settings->refresh_ms = REFRESH_MS_DEFAULT;
	if (!config_read_fields(reader, node, CONFIG_FIELDS(fields), settings))
		return false;
	if (!http_is_url(settings->url))
		return config_fail(reader, node, "The url must begin with http:// or https://");
	if (settings->refresh_ms <= 0)
		return config_fail(reader, node, "The interval must be longer than 0");
	return http_settings_check(reader, node, &settings->http);
}

static Discovery *
http_sd_start(const void *settings, const DiscoveryParts *parts)
{
	HttpSd *discovery = calloc(1, sizeof(HttpSd));

	if (discovery == NULL)
		return NULL;
	discovery->base = (Discovery){ .kind = &http_discovery, .parts = *parts };
	discovery->settings = settings;
	discovery->seed = hash_seed();
	discovery->public_url = http_url_public(discovery->settings->url);
	return &discovery->base;
}

/* --- the answer --- */

/* Validates a group completely, because an answer is taken whole or not at all. */
static bool
is_group(const json_t *group)
{
	const json_t *targets = json_object_get(group, "targets");
	const json_t *labels = json_object_get(group, "labels");
	const char *name;
	json_t *label;
	json_t *target;
	size_t i;

	if (!json_is_object(group) || (targets != NULL && !json_is_array(targets)) ||
		(labels != NULL && !json_is_object(labels)))
		return false;
	json_array_foreach(targets, i, target)
	{
		if (!json_is_string(target))
			return false;
	}
	json_object_foreach((json_t *) (uintptr_t) labels, name, label)
	{
		if (!json_is_string(label))
			return false;
	}
	return true;
}

/* Passes one element of the answer on as a group, whose name is its position in the answer. */
static bool
pass_group(HttpSd *discovery, const json_t *from, size_t number)
{
	char source[32];
	TargetGroup *group;
	const char *name;
	json_t *label;
	json_t *target;
	size_t i;

	snprintf(source, sizeof(source), "%zu", number);
	group = target_group_create(source);
	if (group != NULL)
	{
		json_array_foreach(json_object_get(from, "targets"), i, target)
		{
			target_group_label(group, target_group_add(group), "__address__",
							   json_string_value(target));
		}
		json_object_foreach(json_object_get(from, "labels"), name, label)
		{
			target_group_label(group, &group->labels, name, json_string_value(label));
		}
		target_group_label(group, &group->labels, "__meta_url", discovery->public_url);
	}
	return discovery_update(&discovery->base, group);
}

/*
 * Processes all groups of an answer, or none. Returns NULL, or the reason of a failure. *all_taken
 * is true if the sink had room for all groups.
 */
static const char *
take_groups(HttpSd *discovery, const json_t *groups, bool *all_taken)
{
	json_t *group;
	size_t i;
	size_t count = json_array_size(groups);

	if (!json_is_array(groups))
		return "The answer is not a list of groups in JSON.";
	/*
	 * All groups are checked before the first is used, because a part of an answer would remove
	 * targets.
	 */
	json_array_foreach(groups, i, group)
	{
		if (!is_group(group))
			return "A group of the answer contains other members than targets and labels, or values that are not text.";
	}
	*all_taken = true;
	json_array_foreach(groups, i, group)
	{
		*all_taken &= pass_group(discovery, group, i);
	}
	/* Groups beyond the present number are those of an earlier answer. */
	for (i = count; i < discovery->group_count; i++)
	{
		char source[32];

		snprintf(source, sizeof(source), "%zu", i);
		discovery_remove(&discovery->base, source);
	}
	discovery->group_count = count;
	return NULL;
}

/* Takes an answer; an answer equal to the last one is not read again. */
static const char *
http_sd_take_body(HttpSd *discovery, const HttpBody *body)
{
	uint64_t hash = hash_bytes(discovery->seed, body->bytes, body->length);
	const char *wrong;
	bool all_taken = false;
	json_t *groups;

	/* Most answers equal the one before. */
	if (hash == discovery->body_hash)
		return NULL;
	groups = json_read_body(body, JSON_REJECT_DUPLICATES, JSON_BYTES_MAX, &wrong);
	if (groups != NULL)
		wrong = take_groups(discovery, groups, &all_taken);
	json_decref(groups);
	if (groups != NULL && wrong == NULL)
		discovery->body_hash = all_taken ? hash : 0;
	return wrong;
}

/* Takes an answer of type application/json; after a failure the old groups stay. */
static void
http_sd_on_answer(void *context, HttpAnswer *answer)
{
	HttpSd *discovery = context;
	char status[64];
	const char *wrong = NULL;

	discovery->transfer = NULL;
	snprintf(status, sizeof(status), "The server answered with HTTP status %ld.", answer->status);
	if (answer->error[0] != '\0')
		wrong = answer->error;
	else if (answer->status != 200)
		wrong = status;
	else if (strncasecmp(answer->content_type, "application/json", 16) != 0)
		wrong = "The answer is not application/json.";
	if (wrong == NULL)
		wrong = http_sd_take_body(discovery, &answer->body);
	if (wrong != NULL)
		discovery_warn(&discovery->base, discovery->public_url, wrong);
}

static void
http_sd_tick(Discovery *base, int64_t now_ns)
{
	HttpSd *discovery = (HttpSd *) base;
	const HttpSdSettings *settings = discovery->settings;
	char seconds[24];
	const ConfigPair headers[] = { { "Accept", "application/json" },
								   { "X-Prometheus-Refresh-Interval-Seconds", seconds } };
	const HttpRequest request = { .url = settings->url,
								  .settings = &settings->http,
								  .headers = headers,
								  .header_count = 2,
								  .timeout_ms = settings->refresh_ms,
								  .body_max = BODY_BYTES_MAX,
								  .on_end = http_sd_on_answer,
								  .context = discovery };

	base->due_ns = now_ns + settings->refresh_ms * 1000000;
	/* A request that takes longer than the interval is not repeated. */
	if (discovery->transfer != NULL)
		return;
	snprintf(seconds, sizeof(seconds), "%g", (double) settings->refresh_ms / 1000);
	discovery->transfer = http_client_start(base->parts.client, &request);
	if (discovery->transfer == NULL)
		discovery_warn(base, discovery->public_url, "Out of memory.");
}

static void
http_sd_stop(Discovery *base)
{
	HttpSd *discovery = (HttpSd *) base;

	if (discovery->transfer != NULL)
		http_transfer_cancel(discovery->transfer);
	free(discovery->public_url);
	free(discovery);
}

const DiscoveryKind http_discovery = { .key = "http_sd_configs",
									   .read = http_sd_read_settings,
									   .settings_bytes = sizeof(HttpSdSettings),
									   .start = http_sd_start,
									   .tick = http_sd_tick,
									   .stop = http_sd_stop };
