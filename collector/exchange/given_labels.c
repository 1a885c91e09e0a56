/*
 * given_labels.c
 *		An array that is searched linearly, because imports have few labels.
 */
#include "exchange/given_labels.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 8

void
given_labels_reset(GivenLabels *list)
{
	for (size_t i = 0; i < list->count; i++)
	{
		free((char *) (uintptr_t) list->labels[i].name);
		free((char *) (uintptr_t) list->labels[i].value);
	}
	list->count = 0;
}

void
given_labels_free(GivenLabels *list)
{
	given_labels_reset(list);
	free(list->labels);
	*list = (GivenLabels){ NULL };
}

/*
 * Returns the label with this name, adding one whose name and value are NULL if needed; NULL on out
 * of memory.
 */
static BatchLabel *
given_find_or_add(GivenLabels *list, const char *name, size_t length)
{
	size_t capacity = list->capacity ? list->capacity * 2 : CAPACITY_MIN;
	BatchLabel *labels;

	for (size_t i = 0; i < list->count; i++)
		if (strncmp(list->labels[i].name, name, length) == 0 &&
			list->labels[i].name[length] == '\0')
			return &list->labels[i];
	if (list->count == list->capacity)
	{
		labels = realloc(list->labels, capacity * sizeof(labels[0]));
		if (labels == NULL)
			return NULL;
		list->labels = labels;
		list->capacity = capacity;
	}
	list->labels[list->count] = (BatchLabel){ NULL, NULL };
	return &list->labels[list->count++];
}

bool
given_labels_set(GivenLabels *list, const char *name, size_t name_length, const char *value,
				 size_t value_length)
{
	char *own_name = strndup(name, name_length);
	char *own_value = strndup(value, value_length);
	BatchLabel *label =
		own_name && own_value ? given_find_or_add(list, own_name, name_length) : NULL;

	if (label == NULL)
	{
		free(own_name);
		free(own_value);
		return false;
	}
	free((char *) (uintptr_t) label->name);
	free((char *) (uintptr_t) label->value);
	*label = (BatchLabel){ own_name, own_value };
	return true;
}

bool
given_labels_set_all(GivenLabels *list, const GivenLabels *from)
{
	for (size_t i = 0; i < from->count; i++)
	{
		const BatchLabel *label = &from->labels[i];

		if (!given_labels_set(list, label->name, strlen(label->name), label->value,
							  strlen(label->value)))
			return false;
	}
	return true;
}

bool
label_name_is_valid(const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
	{
		char c = name[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
			  (i > 0 && c >= '0' && c <= '9')))
			return false;
	}
	return length > 0;
}

ExitCode
given_labels_parse(GivenLabels *list, const char *text, Failure *failure)
{
	for (const char *at = text; *at != '\0';)
	{
		size_t length = strcspn(at, ",");
		const char *equals = memchr(at, '=', length);

		if (equals == NULL || !label_name_is_valid(at, (size_t) (equals - at)))
		{
			failure_set(failure, EXIT_CONFIG, "invalid value of a flag");
			failure_detail(failure, "--labels does not accept \"%.*s\".", (int) length, at);
			failure_hint(failure, "Use a list such as service=api,version=1.2. A label's "
								  "name consists of letters, digits and underscores.");
			return failure->code;
		}
		if (!given_labels_set(list, at, (size_t) (equals - at), equals + 1,
							  length - (size_t) (equals + 1 - at)))
			return failure_out_of_memory(failure);
		at += length + (at[length] == ',');
	}
	return EXIT_OK;
}

void
given_labels_json(const GivenLabels *list, Buffer *json)
{
	buffer_reset(json);
	wire_json_labels(json, list->labels, list->count);
}
