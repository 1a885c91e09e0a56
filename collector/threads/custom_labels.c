/*
 * custom_labels.c
 *		Parses the list of wanted keys, and reads their values from a record.
 */
#include "threads/custom_labels.h"

#include <string.h>

#include "base/utf8.h"
#include "labels/label_builder.h"
#include "labels/own_labels.h"

/* Adds a key. Returns NULL, or the reason why it is refused. */
static const char *
add_key(CustomLabels *wanted, const char *key, size_t length)
{
	char *name = wanted->names[wanted->count];

	if (wanted->count == CUSTOM_LABELS_MAX)
		return "There are more than 8 keys.";
	if (length == 0)
		return "A key is empty.";
	if (length > PFS_LABEL_KEY_BYTES)
		return "A key is longer than 28 bytes.";
	memcpy(wanted->keys[wanted->count], key, length);
	wanted->keys[wanted->count][length] = '\0';
	strcpy(name, wanted->keys[wanted->count]);
	label_name_make_plain(name);
	if (own_label_is_reserved(name))
		return "A key is the name of a label that the agent or the database sets.";
	for (uint32_t i = 0; i < wanted->count; i++)
	{
		if (strcmp(wanted->names[i], name) == 0)
			return "Two keys have the same name.";
	}
	wanted->count++;
	return NULL;
}

bool
custom_labels_parse(const char *text, CustomLabels *wanted, const char **problem)
{
	memset(wanted, 0, sizeof(*wanted));
	for (;;)
	{
		size_t length = strcspn(text, ",");

		*problem = add_key(wanted, text, length);
		if (*problem != NULL)
			return false;
		if (text[length] == '\0')
			return true;
		text += length + 1;
	}
}

/* Copies a value as text: U+FFFD replaces each invalid byte and each NUL. */
static void
custom_labels_copy_text(const char *bytes, size_t length, char text[CUSTOM_LABEL_TEXT_BYTES])
{
	char plain[PFS_LABEL_VALUE_BYTES + 1];
	size_t to = 0;

	memcpy(plain, bytes, length);
	plain[length] = '\0';
	for (size_t at = 0; at < length;)
	{
		size_t character = plain[at] == '\0' ? 0 : utf8_length(plain + at);

		if (character == 0)
		{
			memcpy(text + to, UTF8_REPLACEMENT, 3);
			to += 3;
			at++;
			continue;
		}
		memcpy(text + to, plain + at, character);
		to += character;
		at += character;
	}
	text[to] = '\0';
}

static const struct pfs_label *
find_label(const struct pfs_labels *labels, const char *key)
{
	size_t length = strlen(key);

	for (uint32_t i = 0; i < labels->count; i++)
	{
		if (labels->labels[i].key_length == length &&
			memcmp(labels->labels[i].key, key, length) == 0)
			return &labels->labels[i];
	}
	return NULL;
}

static bool
is_id(const char *name, const struct pfs_label *label, PfsTraceIds *ids)
{
	const PfsProfileLabel like = { .key = { name, (uint32_t) strlen(name) },
								   .text = { label->value, label->value_length } };

	return pfs_trace_label(&like, ids);
}

void
custom_labels_pick(const CustomLabels *wanted, const struct pfs_labels *labels,
				   CustomValues *values)
{
	values->count = 0;
	values->ids = (PfsTraceIds){ { 0 }, { 0 } };
	for (uint32_t i = 0; i < wanted->count; i++)
	{
		const struct pfs_label *label = find_label(labels, wanted->keys[i]);

		if (label == NULL || label->value_length == 0 ||
			is_id(wanted->names[i], label, &values->ids))
			continue;
		custom_labels_copy_text(label->value, label->value_length, values->values[values->count]);
		values->labels[values->count] =
			(BatchLabel){ .name = wanted->names[i], .value = values->values[values->count] };
		values->count++;
	}
}
