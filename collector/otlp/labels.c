/*
 * labels.c
 *		Makes names of labels, and sets of labels, which are small enough for linear search.
 */
#include "otlp/labels.h"

#include <stdio.h>
#include <string.h>

#define EXPORTED "exported_"

/* Room for the suffix "_" and a number. */
#define SUFFIX_BYTES 12

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
		/* skips the comma, but not the end of the list */
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
	/* Names of labels do not begin with a digit; such a key gets a leading "_". */
	size_t lead = length > 0 && key.data[0] >= '0' && key.data[0] <= '9';
	char *name = arena_alloc(arena, lead + length + 1);

	if (name == NULL)
		return NULL;
	name[0] = '_';
	/*
	 * Each byte is one character of the name, so that a letter of two bytes in UTF-8 becomes "__".
	 */
	for (size_t i = 0; i < length; i++)
		name[lead + i] = is_name_character(key.data[i]) ? key.data[i] : '_';
	name[lead + length] = '\0';
	return name;
}

static PfsText
otlp_labels_text_of(const char *string)
{
	return (PfsText){ string, (uint32_t) strlen(string) };
}

static bool
equal(PfsText a, PfsText b)
{
	return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

const char *
attribute_labels_find(const AttributeLabels *set, const char *name)
{
	const char *found = "";

	for (uint32_t i = 0; i < set->count; i++)
	{
		if (strcmp(set->labels[i].name, name) != 0)
			continue;
		/*
		 * Of several keys with this name the key that equals it decides, because settling gives the
		 * name to that key.
		 */
		if (pfs_text_equals(set->keys[i], name))
			return set->labels[i].value;
		found = set->labels[i].value;
	}
	return found;
}

static bool
is_fixed(const AttributeLabels *set, const char *name)
{
	for (uint32_t i = 0; i < set->fixed_count; i++)
		if (strcmp(set->labels[i].name, name) == 0)
			return true;
	return false;
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

static void
otlp_labels_add_label(AttributeLabels *set, PfsText key, const char *name, const char *value)
{
	set->keys[set->count] = key;
	set->labels[set->count++] = (BatchLabel){ name, value };
	set->bytes += strlen(name) + strlen(value);
}

void
attribute_labels_fix(AttributeLabels *set, const BatchLabel *label)
{
	otlp_labels_add_label(set, otlp_labels_text_of(label->name), label->name, label->value);
	set->fixed_count = set->count;
}

bool
attribute_labels_put(AttributeLabels *set, Arena *arena, PfsText key, const char *name,
					 const char *value)
{
	/*
	 * Keys are compared, not names: http.route and http_route stay two labels until
	 * attribute_labels_settle() numbers them. The receiver's labels, at the start, are never
	 * replaced.
	 */
	for (uint32_t i = set->fixed_count; i < set->count; i++)
	{
		if (!equal(set->keys[i], key))
			continue;
		/* unsigned arithmetic; the sum is right even if the new value is shorter */
		set->bytes += strlen(value) - strlen(set->labels[i].value);
		set->labels[i].value = value;
		return true;
	}
	if (set->count == BATCH_MAX_LABELS)
		return false;
	/*
	 * a client must not choose its tenant, and names with "__" are internal to Prometheus and the
	 * receiver
	 */
	if (is_fixed(set, name) || strncmp(name, "__", 2) == 0)
		name = exported(arena, name);
	if (name != NULL)
		otlp_labels_add_label(set, key, name, value);
	return name != NULL;
}

/*
 * Returns true if label a has precedence over label b of equal name: a label whose key equals the
 * name comes first, then labels come in the order of their keys.
 */
static bool
goes_before(const AttributeLabels *set, uint32_t a, uint32_t b)
{
	bool a_is_name = pfs_text_equals(set->keys[a], set->labels[a].name);
	bool b_is_name = pfs_text_equals(set->keys[b], set->labels[b].name);
	PfsText left = set->keys[a];
	PfsText right = set->keys[b];
	uint32_t common = left.length < right.length ? left.length : right.length;
	int order = memcmp(left.data, right.data, common);

	/* at most one of the labels has a key that equals the name, because keys are distinct */
	if (a_is_name != b_is_name)
		return a_is_name;
	return order != 0 ? order < 0 : left.length < right.length;
}

/* Counts the labels of a set that have the name of a label and precedence over it. */
static uint32_t
rank_of(const AttributeLabels *set, uint32_t at)
{
	uint32_t rank = 0;

	for (uint32_t i = 0; i < set->count; i++)
		rank += i != at && strcmp(set->labels[i].name, set->labels[at].name) == 0 &&
				goes_before(set, i, at);
	return rank;
}

static bool
otlp_labels_has_name(const AttributeLabels *set, const char *name)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (strcmp(set->labels[i].name, name) == 0)
			return true;
	return false;
}

/*
 * Returns "name_2" for the first label of this name that does not own it, "name_3" for the next,
 * and so on; names that are in use are skipped.
 */
static const char *
numbered(const AttributeLabels *set, Arena *arena, const char *name, uint32_t rank)
{
	size_t room = strlen(name) + SUFFIX_BYTES;
	char *text = arena_alloc(arena, room);
	uint32_t number = 1;

	/*
	 * With rank 2 and the labels "a", "a.", "a-" and "a_2", the third label becomes "a_4", because
	 * "a_2" is in use and "a_3" belongs to rank 1.
	 */
	while (text != NULL && rank > 0)
	{
		snprintf(text, room, "%s_%u", name, ++number);
		rank -= !otlp_labels_has_name(set, text);
	}
	return text;
}

/*
 * Makes the names of labels unique. All decisions use the original names, so the result does not
 * depend on the order of arrival.
 */
static uint32_t
part_names(AttributeLabels *set, Arena *arena)
{
	const char *names[BATCH_MAX_LABELS];
	uint32_t count = 0;
	uint32_t lost;

	for (uint32_t i = 0; i < set->count; i++)
	{
		uint32_t rank = rank_of(set, i);

		/*
		 * The set keeps its original names until all new names are known, because rank_of() and
		 * numbered() compare with them.
		 */
		names[i] =
			rank == 0 ? set->labels[i].name : numbered(set, arena, set->labels[i].name, rank);
	}
	for (uint32_t i = 0; i < set->count; i++)
	{
		/* out of memory: the label is left out and counted */
		if (names[i] == NULL)
			continue;
		set->keys[count] = set->keys[i];
		set->labels[count++] = (BatchLabel){ names[i], set->labels[i].value };
	}
	lost = set->count - count;
	set->count = count;
	return lost;
}

static bool
names_meet(const AttributeLabels *set)
{
	for (uint32_t i = 1; i < set->count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(set->labels[i].name, set->labels[j].name) == 0)
				return true;
	return false;
}

uint32_t
attribute_labels_settle(AttributeLabels *to, const AttributeLabels *from, Arena *arena,
						PfsTraceIds *ids)
{
	uint32_t count = 0;

	*ids = (PfsTraceIds){ { 0 }, { 0 } };
	for (uint32_t i = 0; i < from->count; i++)
	{
		const BatchLabel *label = &from->labels[i];
		const PfsProfileLabel like = { .key = otlp_labels_text_of(label->name),
									   .text = otlp_labels_text_of(label->value) };

		/*
		 * An empty value removes the label that an outer level gave; ids of traces are stored with
		 * samples, because they would make a series each.
		 */
		if (label->value[0] == '\0' || pfs_trace_label(&like, ids))
			continue;
		/* count never exceeds i, so this works in place if to equals from */
		to->keys[count] = from->keys[i];
		to->labels[count++] = *label;
	}
	to->count = count;
	/* an upper bound suffices, because it is only used to charge work */
	to->bytes = from->bytes;
	return names_meet(to) ? part_names(to, arena) : 0;
}
