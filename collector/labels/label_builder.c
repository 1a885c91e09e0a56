/*
 * label_builder.c
 *		An array that is searched linearly, because sets have only a few dozen labels.
 */
#include "labels/label_builder.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Limit of the texts that rules make for one target. */
#define BYTES_MAX ((size_t) 16 * 1024 * 1024)

void
label_builder_init(LabelBuilder *builder)
{
	*builder = (LabelBuilder){ .budget.limit_bytes = BYTES_MAX };
	arena_init(&builder->arena, &builder->budget);
}

void
label_builder_reset(LabelBuilder *builder)
{
	arena_fini(&builder->arena);
	builder->count = 0;
	builder->sorted_count = 0;
	builder->failed = false;
}

void
label_builder_fini(LabelBuilder *builder)
{
	arena_fini(&builder->arena);
	free(builder->labels);
	builder->labels = NULL;
}

static size_t
label_builder_find(const LabelBuilder *builder, const char *name)
{
	size_t at = 0;

	while (at < builder->count && strcmp(builder->labels[at].name, name) != 0)
		at++;
	return at;
}

const char *
label_builder_get(const LabelBuilder *builder, const char *name)
{
	size_t at = label_builder_find(builder, name);

	return at < builder->count ? builder->labels[at].value : "";
}

static void
label_builder_remove_at(LabelBuilder *builder, size_t at)
{
	/* The removed label may be one of the sorted ones. */
	builder->count--;
	builder->sorted_count -= at < builder->sorted_count;
	memmove(&builder->labels[at], &builder->labels[at + 1],
			(builder->count - at) * sizeof(BatchLabel));
}

void
label_builder_remove(LabelBuilder *builder, const char *name)
{
	size_t at = label_builder_find(builder, name);

	if (at < builder->count)
		label_builder_remove_at(builder, at);
}

void
label_builder_set(LabelBuilder *builder, const char *name, const char *value)
{
	size_t at = label_builder_find(builder, name);

	if (at < builder->count && (at < builder->sorted_count || value[0] == '\0'))
	{
		label_builder_remove_at(builder, at);
		at = builder->count;
	}
	/* An empty value means that the label does not exist. */
	if (value[0] == '\0')
		return;
	if (at == builder->count)
	{
		if (grow_array(&builder->labels, &builder->capacity, builder->count, sizeof(BatchLabel)) !=
			0)
		{
			builder->failed = true;
			return;
		}
		builder->count++;
	}
	builder->labels[at] = (BatchLabel){ name, value };
}

char *
label_builder_alloc(LabelBuilder *builder, size_t bytes)
{
	char *memory = arena_alloc(&builder->arena, bytes);

	/* Callers check this once, after the last rule. */
	builder->failed |= memory == NULL;
	return memory;
}

char *
label_builder_copy(LabelBuilder *builder, const char *text)
{
	char *copy = label_builder_alloc(builder, strlen(text) + 1);

	return copy == NULL ? NULL : strcpy(copy, text);
}

static int
labels_compare(const void *a, const void *b)
{
	return strcmp(((const BatchLabel *) a)->name, ((const BatchLabel *) b)->name);
}

void
label_builder_sort(LabelBuilder *builder)
{
	/* An empty builder may have no array, and qsort() must not be called with NULL. */
	if (builder->count > 1)
		qsort(builder->labels, builder->count, sizeof(BatchLabel), labels_compare);
	builder->sorted_count = builder->count;
}

void
label_name_make_plain(char *name)
{
	for (char *at = name; *at != '\0'; at++)
		if (!isalnum((unsigned char) *at) && *at != '_')
			*at = '_';
	/* A label name must not begin with a digit. */
	if (isdigit((unsigned char) name[0]))
		name[0] = '_';
}
