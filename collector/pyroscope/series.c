/*
 * series.c
 *		Sets of labels, made with the functions for OTLP's attributes.
 */
#include "pyroscope/series.h"

#include <string.h>

#define RESERVED	 "__"
#define TYPE_NAME	 "__name__"
#define TENANT		 "tenant"
#define SCOPE_HEADER "X-Scope-OrgID" /* key of the label for a tenant that a client claims to be */

static PfsText
series_text(const char *text)
{
	return (PfsText){ text, (uint32_t) strlen(text) };
}

/* Returns a terminated copy; NULL on out of memory, or if the text contains a zero byte. */
static const char *
series_copy(Arena *arena, PfsText text)
{
	char *copy = memchr(text.data, '\0', text.length) == NULL
					 ? arena_alloc(arena, (size_t) text.length + 1)
					 : NULL;

	if (copy == NULL)
		return NULL;
	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	return copy;
}

bool
is_protocol_key(PfsText key)
{
	return key.length >= strlen(RESERVED) && memcmp(key.data, RESERVED, strlen(RESERVED)) == 0;
}

bool
is_span_id(PfsText text)
{
	const PfsProfileLabel label = { .key = { "span_id", 7 }, .text = text };
	PfsTraceIds ids = { { 0 }, { 0 } };

	return pfs_trace_label(&label, &ids);
}

void
series_begin(PyroscopeSeries *series, Arena *arena, const char *tenant, const char *scope)
{
	const BatchLabel fixed = { TENANT, tenant };

	*series = (PyroscopeSeries){ .tenant = tenant };
	attribute_labels_fix(&series->set, &fixed);
	if (scope[0] != '\0' &&
		!attribute_labels_put(&series->set, arena, series_text(SCOPE_HEADER), TENANT, scope))
		series->skipped++;
}

void
series_put(PyroscopeSeries *series, Arena *arena, const AttributeRule *rule, PfsText key,
		   PfsText value)
{
	const char *copy;
	const char *name;

	if (value.length == 0 || key.length == 0)
		return; /* an empty value means that the label is absent */
	if (value.length > LABEL_VALUE_MAX || key.length > LABEL_NAME_MAX)
		series->skipped++;
	value.length = value.length > LABEL_VALUE_MAX ? LABEL_VALUE_MAX : value.length;
	copy = series_copy(arena, value);
	if (copy != NULL && pfs_text_equals(key, TYPE_NAME))
	{
		series->type_name = copy;
		return;
	}
	if (is_protocol_key(key))
		return;
	if (pfs_text_equals(key, PROFILE_ID) && is_span_id(value))
		key = series_text("span_id");
	name = label_name(arena, key);
	if (name != NULL && !attribute_rule_keeps(rule, series_text(name)))
		return;
	if (copy == NULL || name == NULL || !attribute_labels_put(&series->set, arena, key, name, copy))
		series->skipped++;
}

void
series_put_default(PyroscopeSeries *series, Arena *arena, const char *name, PfsText value)
{
	static const AttributeRule no_rule = { "" };

	if (attribute_labels_find(&series->set, name)[0] == '\0')
		series_put(series, arena, &no_rule, series_text(name), value);
}

void
series_end(PyroscopeSeries *series, Arena *arena)
{
	series->skipped += attribute_labels_settle(&series->set, &series->set, arena, &series->ids);
	series->labels[series->label_count++] = (BatchLabel){ TENANT, series->tenant };
	for (uint32_t i = 0; i < series->set.count; i++)
		if (strcmp(series->set.labels[i].name, TENANT) != 0)
			series->labels[series->label_count++] = series->set.labels[i];
}
