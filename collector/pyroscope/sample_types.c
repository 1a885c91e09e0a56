/*
 * sample_types.c
 *		Tables of Pyroscope's names.
 */
#include "pyroscope/sample_types.h"

#include <string.h>

#include "formats/json/json.h"

#define JSON_BYTES_MAX 65536

static const TextType text_types[] = {
	{ "cpu", "process_cpu", "cpu", "nanoseconds", true },
	{ "itimer", "process_cpu", "cpu", "nanoseconds", true },
	{ "wall", "wall", "wall", "nanoseconds", true },
	{ "inuse_objects", "memory", "inuse_objects", "count", false },
	{ "inuse_space", "memory", "inuse_space", "bytes", false },
	{ "alloc_objects", "memory", "alloc_objects", "count", false },
	{ "alloc_space", "memory", "alloc_space", "bytes", false },
	{ "alloc_in_new_tlab_objects", "memory", "alloc_in_new_tlab_objects", "count", false },
	{ "alloc_in_new_tlab_bytes", "memory", "alloc_in_new_tlab_bytes", "bytes", false },
	{ "alloc_outside_tlab_objects", "memory", "alloc_outside_tlab_objects", "count", false },
	{ "alloc_outside_tlab_bytes", "memory", "alloc_outside_tlab_bytes", "bytes", false },
	{ "live", "memory", "live", "count", false },
	{ "bytes", "memory", "samples", "bytes", false },
	{ "goroutines", "goroutine", "goroutines", "count", false },
	{ "mutex_count", "mutex", "contentions", "count", false },
	{ "mutex_duration", "mutex", "delay", "nanoseconds", false },
	{ "block_count", "block", "contentions", "count", false },
	{ "block_duration", "block", "delay", "nanoseconds", false },
	{ "lock_count", "block", "contentions", "count", false },
	{ "lock_duration", "block", "delay", "nanoseconds", false },
	{ "exceptions", "exceptions", "samples", "count", false },
};

static bool
text_contains(PfsText text, const char *part)
{
	return memmem(text.data, text.length, part, strlen(part)) != NULL;
}

static bool
text_begins(PfsText text, const char *begin)
{
	return text.length >= strlen(begin) && memcmp(text.data, begin, strlen(begin)) == 0;
}

static PfsText
types_text(const char *text)
{
	return (PfsText){ text, (uint32_t) strlen(text) };
}

/* --- names that clients display --- */

/* Reads one member: a sample type, and an object that contains its display name. */
static PfsReadStatus
read_type(PfsJson *json, SampleTypes *types)
{
	PfsJsonField fields[] = { { "display-name", SIZE_MAX } };
	PfsText type;
	PfsText display_name = { "", 0 };
	PfsReadStatus status = pfs_json_key(json, &type);
	size_t end;

	if (status == PFS_READ_OK && pfs_json_peek(json) != '{')
		return pfs_json_skip(json);
	if (status == PFS_READ_OK)
		status = pfs_json_find(json, fields, 1);
	end = json->at;
	if (status == PFS_READ_OK && fields[0].at != SIZE_MAX)
	{
		json->at = fields[0].at;
		status = pfs_json_word(json, &display_name);
		json->at = end;
	}
	if (status != PFS_READ_OK || display_name.length == 0)
		return status;
	if (types->count == SAMPLE_TYPES_MAX)
		return PFS_READ_TOO_LARGE;
	types->items[types->count].type = type;
	types->items[types->count++].display_name = display_name;
	return PFS_READ_OK;
}

const char *
sample_types_read(SampleTypes *types, Span text, PfsAllocator allocator)
{
	PfsReadError error;
	PfsJson json = { .bytes = (const char *) text.bytes,
					 .length = text.length,
					 .profile = &types->texts,
					 .error = &error };
	PfsReadStatus status;
	bool more;

	*types = (SampleTypes){ .budget = { .allocator = allocator,
										.left = pfs_profile_budget_bytes(text.length) } };
	pfs_profile_init(&types->texts, &types->budget);
	if (text.length == 0)
		return NULL;
	if (text.length > JSON_BYTES_MAX)
		return "sample_type_config is too large";
	status = pfs_json_peek(&json) == '{' ? pfs_json_begin(&json, '{', &more) : PFS_READ_MALFORMED;
	while (status == PFS_READ_OK && more)
	{
		status = read_type(&json, types);
		if (status == PFS_READ_OK)
			status = pfs_json_next(&json, '{', &more);
	}
	return status == PFS_READ_OK ? NULL : "sample_type_config is not valid JSON of sample types";
}

void
sample_types_free(SampleTypes *types)
{
	pfs_profile_fini(&types->texts);
}

/* Returns the name by which the type is classified: its display name if there is one. */
static PfsText
display_name_of(const SampleTypes *types, PfsText type)
{
	for (uint32_t i = 0; i < types->count; i++)
		if (types->items[i].type.length == type.length &&
			memcmp(types->items[i].type.data, type.data, type.length) == 0)
			return types->items[i].display_name;
	if (types->count > 0)
		return type;
	if (pfs_text_equals(type, "samples"))
		return types_text("cpu");
	if (pfs_text_equals(type, "contentions"))
		return types_text("mutex_count");
	return pfs_text_equals(type, "goroutine") ? types_text("goroutines") : type;
}

/* Returns the name of profile types with this display name; NULL if it is not a known one. */
static const char *
name_of_display(PfsText display)
{
	static const struct
	{
		const char *part;
		const char *name;
	} names[] = {
		{ "cpu", "process_cpu" }, { "alloc_", "memory" }, { "inuse_", "memory" },
		{ "mutex_", "mutex" },	  { "block_", "block" },  { "goroutines", "goroutines" }
	};

	if (pfs_text_equals(display, "space") || pfs_text_equals(display, "objects"))
		return "memory";
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (text_contains(display, names[i].part))
			return names[i].name;
	return NULL;
}

PfsText
pprof_type_name(const PfsProfile *profile, const SampleTypes *types)
{
	for (uint32_t i = 0; i < profile->type_count; i++)
		if (pfs_text_equals(profile->types[i].type, "wall"))
			return profile->types[i].type;
	for (uint32_t i = 0; i < profile->type_count; i++)
	{
		const char *name = name_of_display(display_name_of(types, profile->types[i].type));

		if (name != NULL)
			return types_text(name);
	}
	return display_name_of(types, profile->types[profile->type_count - 1].type);
}

PfsText
viewer_type_name(PfsText type)
{
	if (pfs_text_equals(type, "time"))
		return types_text("wall");
	return types_text(pfs_text_equals(type, "space") ? "memory" : "process_cpu");
}

void
recording_name_type(PfsTypeParts *parts)
{
	static const struct
	{
		const char *begin; /* first characters of the name that the recording's reader gives */
		const char *name;
		const char *type; /* NULL: the reader's type stays */
		const char *period_type;
		const char *period_unit;
	} types[] = { { "cpu", "process_cpu", NULL, "cpu", "nanoseconds" },
				  { "wall", "wall", NULL, "wall", "nanoseconds" },
				  { "alloc_", "memory", NULL, "space", "bytes" },
				  { "live", "memory", NULL, "objects", "count" },
				  { "malloc_", "memory", NULL, "", "" },
				  { "contentions", "mutex", NULL, "mutex", "count" },
				  { "delay", "mutex", NULL, "mutex", "count" },
				  { "parks", "block", "contentions", "block", "count" },
				  { "park_time", "block", "delay", "block", "count" } };

	parts->name = types_text("process_cpu"); /* counters, such as cache-misses */
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
	{
		if (!text_begins(parts->sample_type, types[i].begin))
			continue;
		parts->name = types_text(types[i].name);
		parts->period_type = types_text(types[i].period_type);
		parts->period_unit = types_text(types[i].period_unit);
		if (types[i].type != NULL)
			parts->sample_type = types_text(types[i].type);
		return;
	}
}

void
datadog_name_type(PfsTypeParts *parts)
{
	static const struct
	{
		const char *given;
		const char *name;
		const char *type;
		const char *period_type;
		const char *period_unit;
	} types[] = { { "cpu-time", "process_cpu", "cpu", "cpu", "nanoseconds" },
				  { "cpu-samples", "process_cpu", "samples", "cpu", "nanoseconds" },
				  { "wall-time", "wall", "wall", "wall", "nanoseconds" },
				  { "wall-samples", "wall", "samples", "wall", "nanoseconds" },
				  { "alloc-space", "memory", "alloc_space", "space", "bytes" },
				  { "alloc-size", "memory", "alloc_space", "space", "bytes" },
				  { "alloc-samples", "memory", "alloc_objects", "space", "bytes" },
				  { "heap-space", "memory", "inuse_space", "space", "bytes" },
				  { "heap-live-size", "memory", "inuse_space", "space", "bytes" },
				  { "heap-live-samples", "memory", "inuse_objects", "space", "bytes" },
				  { "lock-acquire-wait", "mutex", "delay", "contentions", "count" },
				  { "lock-acquire", "mutex", "contentions", "contentions", "count" },
				  { "lock-release-hold", "mutex", "hold", "contentions", "count" },
				  { "lock-release", "mutex", "releases", "contentions", "count" },
				  { "exception-samples", "exceptions", "samples", "exceptions", "count" } };
	const char *dash;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
	{
		if (!pfs_text_equals(parts->sample_type, types[i].given))
			continue;
		parts->name = types_text(types[i].name);
		parts->sample_type = types_text(types[i].type);
		parts->period_type = types_text(types[i].period_type);
		parts->period_unit = types_text(types[i].period_unit);
		return;
	}
	dash = memchr(parts->sample_type.data, '-', parts->sample_type.length);
	if (dash != NULL)
		parts->name =
			(PfsText){ parts->sample_type.data, (uint32_t) (dash - parts->sample_type.data) };
}

bool
is_level_type(PfsText type)
{
	return text_begins(type, "inuse_") || text_begins(type, "goroutine") ||
		   text_begins(type, "live") || text_begins(type, "heap-");
}

const TextType *
text_type_of(PfsText *app)
{
	const char *dot = memrchr(app->data, '.', app->length);
	PfsText suffix;

	if (dot == NULL)
		return &text_types[0];
	suffix = (PfsText){ dot + 1, (uint32_t) (app->data + app->length - dot - 1) };
	for (size_t i = 0; i < sizeof(text_types) / sizeof(text_types[0]); i++)
		if (pfs_text_equals(suffix, text_types[i].suffix))
		{
			app->length = (uint32_t) (dot - app->data);
			return &text_types[i];
		}
	return NULL;
}
