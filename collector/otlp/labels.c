/*
 * labels.c
 *		Names, and sets of labels small enough to be searched one by one.
 */
#include "otlp/labels.h"

#include <string.h>

#define EXPORTED "exported_"

static bool
key_matches(PfsText key, const char *pattern, size_t length)
{
	if (length > 0 && pattern[length - 1] == '*')
		return key.length >= length - 1 && memcmp(key.data, pattern, length - 1) == 0;
	return key.length == length && memcmp(key.data, pattern, length) == 0;
}

bool
attribute_rule_keeps(const AttributeRule *rule, PfsText key)
{
	const char *at = rule->dropped;

	if (key.length == 0)
		return false;
	while (*at != '\0')
	{
		size_t length = strcspn(at, ",");

		if (length > 0 && key_matches(key, at, length))
			return false;
		at += length + (at[length] == ',');
	}
	return true;
}

static bool
is_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

const char *
label_name(Arena *arena, PfsText key)
{
	size_t length = key.length < LABEL_NAME_MAX ? key.length : LABEL_NAME_MAX;
	size_t lead = length > 0 && key.data[0] >= '0' && key.data[0] <= '9';
	char *name = arena_alloc(arena, lead + length + 1);

	if (name == NULL)
		return NULL;
	name[0] = '_';
	for (size_t i = 0; i < length; i++)
		name[lead + i] = is_name_character(key.data[i]) ? key.data[i] : '_';
	name[lead + length] = '\0';
	return name;
}

static int
find(const AttributeLabels *set, const char *name)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (strcmp(set->labels[i].name, name) == 0)
			return (int) i;
	return -1;
}

const char *
attribute_labels_find(const AttributeLabels *set, const char *name)
{
	int at = find(set, name);

	return at >= 0 ? set->labels[at].value : "";
}

static const char *
exported(Arena *arena, const char *name)
{
	char *copy = arena_alloc(arena, sizeof(EXPORTED) + strlen(name));

	if (copy != NULL)
	{
		memcpy(copy, EXPORTED, sizeof(EXPORTED) - 1);
		strcpy(copy + sizeof(EXPORTED) - 1, name);
	}
	return copy;
}

bool
attribute_labels_put(AttributeLabels *set, Arena *arena, const char *name, const char *value)
{
	int at = find(set, name);

	if ((at >= 0 && (uint32_t) at < set->fixed_count) || strncmp(name, "__", 2) == 0)
	{
		name = exported(arena, name);
		if (name == NULL)
			return false;
		at = find(set, name);
	}
	if (at < 0)
	{
		if (set->count == BATCH_MAX_LABELS)
			return false;
		at = (int) set->count++;
		set->labels[at].name = name;
		set->bytes += strlen(name);
	}
	else
		set->bytes -= strlen(set->labels[at].value);
	set->labels[at].value = value;
	set->bytes += strlen(value);
	return true;
}

static PfsText
text_of(const char *string)
{
	return (PfsText){ string, (uint32_t) strlen(string) };
}

void
attribute_labels_settle(AttributeLabels *to, const AttributeLabels *from, PfsTraceIds *ids)
{
	uint32_t count = 0;

	*ids = (PfsTraceIds){ { 0 }, { 0 } };
	for (uint32_t i = 0; i < from->count; i++)
	{
		const BatchLabel *label = &from->labels[i];
		const PfsProfileLabel like = { .key = text_of(label->name), .text = text_of(label->value) };

		if (label->value[0] != '\0' && !pfs_trace_label(&like, ids))
			to->labels[count++] = *label;
	}
	to->count = count;
	to->bytes = from->bytes;
}
