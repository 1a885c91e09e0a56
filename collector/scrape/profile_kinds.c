/*
 * profile_kinds.c
 *		Reads profiling_config: the profiles to fetch and their paths.
 *
 * As in Parca, an entry inherits only "enabled" and "path" from the default of its name. Unlike
 * Parca, process_cpu stays a delta, because its request would otherwise take longer than its
 * timeout.
 */
#include <stdio.h>
#include <string.h>

#include "decode/request.h"
#include "scrape/config.h"

static const ProfileKind defaults[] = {
	{ .name = "memory", .path = "/debug/pprof/allocs", .enabled = true },
	{ .name = "block", .path = "/debug/pprof/block", .enabled = true },
	{ .name = "goroutine", .path = "/debug/pprof/goroutine", .enabled = true },
	{ .name = "mutex", .path = "/debug/pprof/mutex", .enabled = true },
	{ .name = "process_cpu", .path = "/debug/pprof/profile", .enabled = true, .delta = true },
};

#define DEFAULT_COUNT (sizeof(defaults) / sizeof(defaults[0]))

static const ProfileKind *
default_of(const char *name)
{
	for (size_t i = 0; i < DEFAULT_COUNT; i++)
		if (strcmp(defaults[i].name, name) == 0)
			return &defaults[i];
	return NULL;
}

static bool
kinds_read_type(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "type", config_read_text, offsetof(DecodeType, type) },
		{ "unit", config_read_text, offsetof(DecodeType, unit) },
	};
	DecodeType *type = field;

	*type = (DecodeType){ "", "" };
	return config_read_fields(reader, node, CONFIG_FIELDS(fields), type);
}

static bool
profile_kinds_read_types(ConfigReader *reader, const Node *node, void *field)
{
	return config_read_items(reader, node, sizeof(DecodeType), kinds_read_type, field);
}

/* Reads one profile, starting from the default of its name. */
static bool
profile_kind_read(ConfigReader *reader, const Node *name, const Node *node, ProfileKind *kind)
{
	static const ConfigField fields[] = {
		{ "enabled", config_read_bool, offsetof(ProfileKind, enabled) },
		{ "path", config_read_text, offsetof(ProfileKind, path) },
		{ "delta", config_read_bool, offsetof(ProfileKind, delta) },
		{ "seconds", config_read_number, offsetof(ProfileKind, seconds) },
		{ "keep_sample_type", profile_kinds_read_types, offsetof(ProfileKind, keep_types) },
	};
	const ProfileKind *known = default_of(name->text);

	*kind = known != NULL ? *known : (ProfileKind){ .name = name->text, .path = "" };
	if (node_is_null(node))
		return true;
	if (!config_read_fields(reader, node, CONFIG_FIELDS(fields), kind))
		return false;
	if (kind->enabled && kind->path[0] == '\0')
		return config_fail(reader, node, "Profile \"%s\" has no path", name->text);
	if (kind->seconds > 3600)
		return config_fail(reader, node, "The limit is 3600 seconds");
	return true;
}

static void
add_enabled(ConfigList *list, const ProfileKind *kind)
{
	if (kind->enabled)
		((ProfileKind *) list->items)[list->count++] = *kind;
}

/*
 * Collects the enabled profiles: first the defaults that the settings do not mention, then the
 * profiles in the settings.
 */
static bool
read_kinds(ConfigReader *reader, const Node *node, ScrapeJob *job)
{
	size_t given = node == NULL || node_is_null(node) ? 0 : node->count;

	if (given > 0 && node->kind != NODE_MAPPING)
		return config_fail(reader, node, "Expected keys and values");
	job->profiles.items = config_alloc(reader, (given + DEFAULT_COUNT) * sizeof(ProfileKind));
	if (job->profiles.items == NULL)
		return false;
	for (size_t i = 0; i < DEFAULT_COUNT; i++)
		if (given == 0 || config_find(node, defaults[i].name) == NULL)
			add_enabled(&job->profiles, &defaults[i]);
	for (size_t i = 0; i < given; i++)
	{
		ProfileKind kind;

		if (!profile_kind_read(reader, node->items[2 * i], node->items[2 * i + 1], &kind))
			return false;
		add_enabled(&job->profiles, &kind);
	}
	return true;
}

bool
scrape_profiles_read(ConfigReader *reader, const Node *node, ScrapeJob *job)
{
	static const ConfigField fields[] = {
		{ "path_prefix", config_read_text, offsetof(ScrapeJob, path_prefix) },
		{ "pprof_config", config_read_any, 0 },
	};
	const Node *profiling = config_find(node, "profiling_config");

	if (profiling == NULL || node_is_null(profiling))
		return read_kinds(reader, NULL, job);
	return config_read_fields(reader, profiling, CONFIG_FIELDS(fields), job) &&
		   read_kinds(reader, config_find(profiling, "pprof_config"), job);
}
