/*
 * job.c
 *		Reads one entry of scrape_configs.
 */
#include <stdio.h>
#include <string.h>

#include "scrape/config.h"

#define INTERVAL_MS_DEFAULT 10000
#define TIMEOUT_MS_MORE		3000 /* the default timeout is the interval plus this */
#define CPU_TIMEOUT_MS_MIN	2000
#define FIELDS_MAX			64

static bool
read_params(ConfigReader *reader, const Node *node, void *field)
{
	ScrapeParam *params;

	if (node->kind != NODE_MAPPING)
		return config_fail(reader, node, "Expected keys and values");
	params = config_alloc(reader, (node->count + 1) * sizeof(ScrapeParam));
	for (size_t i = 0; params != NULL && i < node->count; i++)
	{
		params[i].name = node->items[2 * i]->text;
		if (!config_read_texts(reader, node->items[2 * i + 1], &params[i].values))
			return false;
	}
	*(ConfigList *) field = (ConfigList){ params, node->count };
	return params != NULL;
}

static bool
read_scheme(ConfigReader *reader, const Node *node, void *field)
{
	if (!config_read_text(reader, node, field))
		return false;
	return strcmp(node->text, "http") == 0 || strcmp(node->text, "https") == 0 ||
		   config_fail(reader, node, "Expected http or https");
}

static const ConfigField job_fields[] = {
	{ "job_name", config_read_text, offsetof(ScrapeJob, name) },
	{ "scrape_interval", config_read_duration, offsetof(ScrapeJob, interval_ms) },
	{ "scrape_timeout", config_read_duration, offsetof(ScrapeJob, timeout_ms) },
	{ "scheme", read_scheme, offsetof(ScrapeJob, scheme) },
	{ "params", read_params, offsetof(ScrapeJob, params) },
	{ "normalized_addresses", NULL },
	{ "profiling_config", config_read_any },
	{ "relabel_configs", relabel_rules_read, offsetof(ScrapeJob, rules) },
	HTTP_SETTING_FIELDS(ScrapeJob, http),
};

/* Collects the job's own keys and one key for each kind of discovery. */
static size_t
all_fields(ConfigField fields[FIELDS_MAX])
{
	size_t count = sizeof(job_fields) / sizeof(job_fields[0]);

	memcpy(fields, job_fields, sizeof(job_fields));
	for (const DiscoveryKind *const *kind = discovery_kinds; *kind != NULL; kind++)
		fields[count++] = (ConfigField){ (*kind)->key, config_read_any, 0 };
	return count;
}

static bool
read_discoveries_of(ConfigReader *reader, const Node *list, const DiscoveryKind *kind,
					DiscoverySettings *into, size_t *count)
{
	ConfigList items;

	if (list == NULL || node_is_null(list))
		return true;
	if (!config_read_items(reader, list, kind->settings_bytes, kind->read, &items))
		return false;
	for (size_t i = 0; i < items.count; i++)
		into[(*count)++] =
			(DiscoverySettings){ kind, (const char *) items.items + i * kind->settings_bytes };
	return true;
}

/* Reads the lists of all kinds of discovery. */
static bool
read_discoveries(ConfigReader *reader, const Node *node, ScrapeJob *job)
{
	DiscoverySettings *settings;
	size_t count = 0;

	for (const DiscoveryKind *const *kind = discovery_kinds; *kind != NULL; kind++)
	{
		const Node *list = config_find(node, (*kind)->key);

		count += list == NULL ? 0 : list->count;
	}
	settings = config_alloc(reader, (count + 1) * sizeof(DiscoverySettings));
	count = 0;
	for (const DiscoveryKind *const *kind = discovery_kinds; settings != NULL && *kind != NULL;
		 kind++)
		if (!read_discoveries_of(reader, config_find(node, (*kind)->key), *kind, settings, &count))
			return false;
	job->discoveries = (ConfigList){ settings, count };
	return settings != NULL;
}

/*
 * Checks interval and timeout. A delta samples for its duration before it answers, so the timeout
 * must be longer.
 */
static bool
job_check_times(ConfigReader *reader, const Node *node, ScrapeJob *job)
{
	const ProfileKind *profiles = job->profiles.items;

	if (job->interval_ms <= 0)
		return config_fail(reader, node, "The interval must be longer than 0");
	/* A delta may sample for the whole interval before it answers. */
	if (job->timeout_ms == 0)
		job->timeout_ms = job->interval_ms + TIMEOUT_MS_MORE;
	if (job->timeout_ms <= job->interval_ms)
		return config_fail(reader, node, "The timeout must be longer than the interval");
	for (size_t i = 0; i < job->profiles.count; i++)
	{
		if (strcmp(profiles[i].name, "process_cpu") == 0 && job->timeout_ms < CPU_TIMEOUT_MS_MIN)
			return config_fail(reader, node, "process_cpu needs a timeout of 2s or more");
		if (profiles[i].delta && profiles[i].seconds * 1000 >= job->timeout_ms)
			return config_fail(reader, node, "%s lasts at least as long as the timeout",
							   profiles[i].name);
	}
	return true;
}

bool
scrape_job_read(ConfigReader *reader, const Node *node, void *field)
{
	ScrapeJob *job = field;
	ConfigField fields[FIELDS_MAX];
	size_t count = all_fields(fields);

	/* Settings of the configuration overwrite these defaults. */
	*job = (ScrapeJob){
		.name = "", .interval_ms = INTERVAL_MS_DEFAULT, .scheme = "http", .path_prefix = ""
	};
	if (!config_read_fields(reader, node, fields, count, job))
		return false;
	if (job->name[0] == '\0')
		return config_fail(reader, node, "job_name is missing");
	return scrape_profiles_read(reader, node, job) && read_discoveries(reader, node, job) &&
		   job_check_times(reader, node, job) && http_settings_check(reader, node, &job->http);
}
