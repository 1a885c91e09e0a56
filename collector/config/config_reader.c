/*
 * config_reader.c
 *		Reads typed values of a document.
 */
#include "config/config_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "program/flags.h"

#define NAMES_MAX 64

bool
config_fail(ConfigReader *reader, const Node *node, const char *format, ...)
{
	char reason[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	failure_set(reader->failure, EXIT_CONFIG, "could not read the configuration");
	failure_detail(reader->failure, "\"%s\", line %u, column %u: %s.", reader->document->path,
				   node->line, node->column, reason);
	return false;
}

bool
config_no_memory(ConfigReader *reader)
{
	failure_set(reader->failure, EXIT_CONFIG, "could not read the configuration");
	failure_detail(reader->failure, "Reading \"%s\" takes too much memory.",
				   reader->document->path);
	return false;
}

void *
config_alloc(ConfigReader *reader, size_t bytes)
{
	void *memory = arena_alloc(&reader->document->arena, bytes);

	if (memory == NULL)
		config_no_memory(reader);
	else
		memset(memory, 0, bytes);
	return memory;
}

const Node *
config_find(const Node *mapping, const char *key)
{
	for (size_t i = 0; mapping->kind == NODE_MAPPING && i < mapping->count; i++)
		if (strcmp(mapping->items[2 * i]->text, key) == 0)
			return mapping->items[2 * i + 1];
	return NULL;
}

/* Reports an unknown key; the hint names the most similar key. */
static bool
no_such_key(ConfigReader *reader, const Node *key, const ConfigField *fields, size_t count)
{
	const char *names[NAMES_MAX + 1] = { NULL };
	const char *nearest;

	for (size_t i = 0; i < count && i < NAMES_MAX; i++)
		names[i] = fields[i].name;
	config_fail(reader, key, "There is no setting \"%.100s\" here", key->text);
	nearest = flags_nearest(key->text, names);
	if (nearest != NULL)
		failure_hint(reader->failure, "Perhaps you meant \"%s\".", nearest);
	return false;
}

static bool
config_read_field(ConfigReader *reader, const Node *key, const Node *value,
				  const ConfigField *field, void *object)
{
	if (field->read == NULL)
	{
		log_event(LOG_INFO, "config", "ignoring a setting that has no effect here",
				  log_text("file", reader->document->path), log_number("line", key->line),
				  log_text("setting", key->text));
		return true;
	}
	return node_is_null(value) || field->read(reader, value, (char *) object + field->offset);
}

bool
config_read_fields(ConfigReader *reader, const Node *node, const ConfigField *fields, size_t count,
				   void *object)
{
	if (node->kind != NODE_MAPPING)
		return config_fail(reader, node, "Expected keys and values");
	for (size_t i = 0; i < node->count; i++)
	{
		const Node *key = node->items[2 * i];
		size_t at = 0;

		while (at < count && strcmp(fields[at].name, key->text) != 0)
			at++;
		if (at == count)
			return no_such_key(reader, key, fields, count);
		if (!config_read_field(reader, key, node->items[2 * i + 1], &fields[at], object))
			return false;
	}
	return true;
}

bool
config_read_items(ConfigReader *reader, const Node *node, size_t item_bytes, ConfigRead read_item,
				  ConfigList *list)
{
	char *items;

	if (node->kind != NODE_SEQUENCE)
		return config_fail(reader, node, "Expected a list");
	items = config_alloc(reader, (node->count + 1) * item_bytes);
	if (items == NULL)
		return false;
	for (size_t i = 0; i < node->count; i++)
	{
		if (node_is_null(node->items[i]))
			return config_fail(reader, node->items[i], "An item of a list is empty");
		if (!read_item(reader, node->items[i], items + i * item_bytes))
			return false;
	}
	*list = (ConfigList){ items, node->count };
	return true;
}

bool
config_read_any(ConfigReader *reader, const Node *node, void *field)
{
	return true;
}

bool
config_refuse(ConfigReader *reader, const Node *node, void *field)
{
	return config_fail(reader, node, "The setting is not supported");
}

static bool
config_is_text(ConfigReader *reader, const Node *node)
{
	return node->kind == NODE_SCALAR || config_fail(reader, node, "Expected a string");
}

bool
config_read_text(ConfigReader *reader, const Node *node, void *field)
{
	if (!config_is_text(reader, node))
		return false;
	*(const char **) field = node->text;
	return true;
}

bool
config_read_path(ConfigReader *reader, const Node *node, void *field)
{
	size_t bytes;
	char *path;

	if (!config_is_text(reader, node))
		return false;
	if (node->text[0] == '/' || node->text[0] == '\0' || reader->directory[0] == '\0')
		return config_read_text(reader, node, field);
	bytes = strlen(reader->directory) + strlen(node->text) + 2;
	path = config_alloc(reader, bytes);
	if (path == NULL)
		return false;
	snprintf(path, bytes, "%s/%s", reader->directory, node->text);
	*(const char **) field = path;
	return true;
}

static bool
is_one_of(const char *text, const char *const *words)
{
	while (*words != NULL && strcmp(*words, text) != 0)
		words++;
	return *words != NULL;
}

bool
config_read_bool(ConfigReader *reader, const Node *node, void *field)
{
	static const char *const yes[] = { "true", "True", "TRUE", "yes", "Yes", "YES",
									   "on",   "On",   "ON",   "y",	  "Y",	 NULL };
	static const char *const no[] = { "false", "False", "FALSE", "no", "No", "NO",
									  "off",   "Off",	"OFF",	 "n",  "N",	 NULL };

	if (node->kind != NODE_SCALAR || !node->plain ||
		(!is_one_of(node->text, yes) && !is_one_of(node->text, no)))
		return config_fail(reader, node, "Expected true or false");
	*(bool *) field = is_one_of(node->text, yes);
	return true;
}

bool
config_read_number(ConfigReader *reader, const Node *node, void *field)
{
	char *end = NULL;
	long long value = 0;

	errno = 0;
	if (node->kind == NODE_SCALAR && node->text[0] >= '0' && node->text[0] <= '9')
		value = strtoll(node->text, &end, 10);
	if (end == NULL || *end != '\0' || errno != 0)
		return config_fail(reader, node, "Expected a whole number, not below 0");
	*(int64_t *) field = value;
	return true;
}

bool
config_parse_duration(const char *text, int64_t *ms)
{
	static const struct
	{
		const char *unit;
		int64_t ms;
	} units[] = { { "y", INT64_C(31536000000) },
				  { "w", INT64_C(604800000) },
				  { "d", INT64_C(86400000) },
				  { "h", 3600000 },
				  { "ms", 1 }, /* before "m", because the first unit that matches is taken */
				  { "m", 60000 },
				  { "s", 1000 } };
	int64_t last_ms = INT64_MAX;
	int64_t total = 0;

	if (strcmp(text, "0") == 0)
	{
		*ms = 0;
		return true;
	}
	while (*text >= '0' && *text <= '9')
	{
		char *end;
		long long number = strtoll(text, &end, 10);
		size_t at = 0;
		int64_t part;

		while (at < sizeof(units) / sizeof(units[0]) &&
			   strncmp(end, units[at].unit, strlen(units[at].unit)) != 0)
			at++;
		if (at == sizeof(units) / sizeof(units[0]) || units[at].ms >= last_ms ||
			__builtin_mul_overflow(number, units[at].ms, &part) ||
			__builtin_add_overflow(total, part, &total))
			return false;
		last_ms = units[at].ms;
		text = end + strlen(units[at].unit);
	}
	if (*text != '\0' || last_ms == INT64_MAX)
		return false;
	*ms = total;
	return true;
}

bool
config_read_duration(ConfigReader *reader, const Node *node, void *field)
{
	if (node->kind != NODE_SCALAR || !config_parse_duration(node->text, field))
		return config_fail(reader, node, "Expected a duration, such as 10s or 1m30s");
	return true;
}

bool
config_read_texts(ConfigReader *reader, const Node *node, void *field)
{
	return config_read_items(reader, node, sizeof(const char *), config_read_text, field);
}

bool
config_read_pairs(ConfigReader *reader, const Node *node, void *field)
{
	ConfigPair *pairs;

	if (node->kind != NODE_MAPPING)
		return config_fail(reader, node, "Expected keys and values");
	pairs = config_alloc(reader, (node->count + 1) * sizeof(ConfigPair));
	for (size_t i = 0; pairs != NULL && i < node->count; i++)
	{
		pairs[i].name = node->items[2 * i]->text;
		if (!config_read_text(reader, node->items[2 * i + 1], &pairs[i].value))
			return false;
	}
	*(ConfigList *) field = (ConfigList){ pairs, node->count };
	return pairs != NULL;
}
