/*
 * series_labels.c
 *		Makes names legal and unique; the label PFS_LABEL_KINDS records the changes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/memory.h"
#include "formats/series_labels.h"

#define TAKEN_PREFIX "exported_"

/* Bytes of the suffix, "_" and a number, and of the digits of a value with its sign. */
#define SUFFIX_BYTES 12
#define DIGITS_BYTES 24

/* Largest number of bytes of JSON for one byte of text. */
#define JSON_BYTES 6

void *
pfs_making_alloc(PfsMaking *making, size_t bytes)
{
	return pfs_scratch_alloc(&making->scratch, making->budget, bytes);
}

static bool
label_text_equal(PfsText a, PfsText b)
{
	return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

const PfsText *
pfs_label_find(const PfsLabels *labels, const char *name)
{
	for (uint32_t i = 0; i < labels->count; i++)
		if (pfs_text_equals(labels->labels[i].name, name))
			return &labels->labels[i].value;
	return NULL;
}

static bool
has_name(const PfsLabels *labels, PfsText name)
{
	for (uint32_t i = 0; i < labels->count; i++)
		if (label_text_equal(labels->labels[i].name, name))
			return true;
	return false;
}

static bool
is_continuation(char c)
{
	return ((uint8_t) c & 0xC0) == 0x80;
}

static bool
is_legal(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool
is_legal_name(PfsText key)
{
	for (uint32_t i = 0; i < key.length; i++)
		if (!is_legal(key.data[i]))
			return false;
	/* A name that begins with a digit would be illegal. */
	return key.length > 0 && (key.data[0] < '0' || key.data[0] > '9');
}

/*
 * Writes the key to name, with "_" for every character that a label's name must not contain.
 * Returns its length.
 */
static uint32_t
put_legal(char *name, PfsText key)
{
	uint32_t length = 0;

	if (key.length == 0 || (key.data[0] >= '0' && key.data[0] <= '9'))
		name[length++] = '_';
	for (uint32_t i = 0; i < key.length; i++)
		/* Each character becomes one "_", however many bytes it has. */
		if (!is_continuation(key.data[i]))
			name[length++] = is_legal(key.data[i]) ? key.data[i] : '_';
	return length;
}

/* The length of a name without its suffix, and the next number that is free for it. */
typedef struct Numbered
{
	uint32_t length;
	uint32_t next;
} Numbered;

/*
 * Returns the first label whose name was made from an equal text, or the current label. Many keys
 * may give one name; the label found stores the next free number, so that not each key tries all
 * numbers before it.
 */
static Numbered *
find_numbered(const PfsLabels *labels, Numbered *numbered, uint32_t at)
{
	PfsText name = labels->labels[at].name;
	uint32_t i = 0;

	/* Names are compared without their suffixes: only the length before the suffix counts. */
	while (i < labels->count && (i == at || numbered[i].length != name.length ||
								 memcmp(labels->labels[i].name.data, name.data, name.length) != 0))
		i++;
	return &numbered[i < labels->count ? i : at];
}

/*
 * Keys that are legal names keep them, the first of equal ones; the others get no name yet. So a
 * legal key keeps its meaning even if other keys would become the same name.
 */
static void
keep_legal_names(const PfsLabels *own, const PfsProfileLabel *from, const PfsLabels *labels,
				 Numbered *numbered)
{
	for (uint32_t i = 0; i < labels->count; i++)
	{
		PfsText key = from[i].key;
		/* Labels are sorted by key, so equal keys are adjacent. */
		bool is_first = i == 0 || !label_text_equal(from[i - 1].key, key);

		labels->labels[i].name = (PfsText){ "", 0 };
		/* Suffixes begin with 2: "key", "key_2", "key_3". */
		numbered[i] = (Numbered){ 0, 2 };
		if (!is_first || !is_legal_name(key) || has_name(own, key) ||
			pfs_text_equals(key, PFS_LABEL_KINDS))
			continue;
		labels->labels[i].name = key;
		numbered[i].length = key.length;
	}
}

/* Chooses a name that neither the importer's labels nor the others have. */
static bool
choose_name(PfsMaking *making, const PfsLabels *own, const PfsLabels *labels, Numbered *numbered,
			PfsText key, uint32_t at)
{
	/* Room for the prefix, the "_" before a digit, the key and the suffix. */
	char *text = pfs_making_alloc(making, strlen(TAKEN_PREFIX) + 1 + key.length + SUFFIX_BYTES);
	uint32_t prefix = (uint32_t) strlen(TAKEN_PREFIX);
	PfsText name = { text, 0 };
	uint32_t length;
	Numbered *same;

	if (text == NULL)
		return false;
	length = put_legal(text, key);
	/*
	 * The importer's label keeps its name, so the sample's label becomes "exported_key", as in
	 * Prometheus.
	 */
	if (has_name(own, (PfsText){ text, length }))
	{
		memcpy(text, TAKEN_PREFIX, prefix);
		length = prefix + put_legal(text + prefix, key);
	}
	name.length = length;
	labels->labels[at].name = name;
	numbered[at].length = length;
	same = find_numbered(labels, numbered, at);
	/* an empty name excludes the label itself from the comparison */
	labels->labels[at].name.length = 0;
	/*
	 * The number of the name grows with each attempt, so equal keys do not try the same numbers
	 * again.
	 */
	while (has_name(labels, name) || has_name(own, name) || pfs_text_equals(name, PFS_LABEL_KINDS))
		name.length =
			length + (uint32_t) snprintf(text + length, SUFFIX_BYTES, "_%u", same->next++);
	labels->labels[at].name = name;
	return true;
}

static bool
digits_of(PfsMaking *making, int64_t number, PfsText *text)
{
	char *digits = pfs_making_alloc(making, DIGITS_BYTES);

	if (digits == NULL)
		return false;
	*text = (PfsText){ digits, (uint32_t) snprintf(digits, DIGITS_BYTES, "%" PRId64, number) };
	return true;
}

static char *
put(char *at, const char *text)
{
	return (char *) memcpy(at, text, strlen(text)) + strlen(text);
}

/* Writes a text in JSON as PostgreSQL does. */
static char *
put_json(char *at, PfsText text)
{
	static const char escaped[] = "\b\f\n\r\t\"\\";
	static const char letters[] = "bfnrt\"\\";

	*at++ = '"';
	for (uint32_t i = 0; i < text.length; i++)
	{
		char c = text.data[i];
		const char *found = memchr(escaped, c, sizeof(escaped) - 1);

		if (found != NULL)
		{
			*at++ = '\\';
			*at++ = letters[found - escaped];
		}
		else if ((uint8_t) c < ' ')
			at += sprintf(at, "\\u%04x", (unsigned) c);
		else
			*at++ = c;
	}
	*at++ = '"';
	return at;
}

/* Writes the entry of one label in PFS_LABEL_KINDS; nothing if its name and text are unchanged. */
static char *
put_kind(char *at, bool is_first, PfsText name, const PfsProfileLabel *label)
{
	bool renamed = !label_text_equal(label->key, name);

	if (!renamed && !label->numeric)
		return at;
	*at++ = is_first ? '{' : ',';
	at = put(put_json(at, name), ":{");
	if (renamed)
		at = put_json(put(at, "\"key\":"), label->key);
	if (label->numeric)
		at = put_json(put(at, renamed ? ",\"unit\":" : "\"unit\":"), label->text);
	*at++ = '}';
	return at;
}

/* Adds PFS_LABEL_KINDS if any label was changed. */
static bool
add_kinds(PfsMaking *making, const PfsProfileLabel *labels, uint32_t count, PfsLabels *result)
{
	/* The longest frame of an entry, with a comma or brace before it. */
	static const char frame[] = ",\"\":{\"key\":\"\",\"unit\":\"\"}";
	size_t room = 1;
	char *begin;
	char *at;

	/*
	 * Each byte of a text takes at most JSON_BYTES bytes in JSON; names are legal and need no
	 * escape.
	 */
	for (uint32_t i = 0; i < count; i++)
		room += sizeof(frame) + result->labels[i].name.length +
				JSON_BYTES * ((size_t) labels[i].key.length + labels[i].text.length);
	begin = at = pfs_making_alloc(making, room);
	if (begin == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++)
		at = put_kind(at, at == begin, result->labels[i].name, &labels[i]);
	/* No label was changed, so the series needs no label about kinds. */
	if (at == begin)
		return true;
	*at++ = '}';
	result->labels[result->count++] =
		(PfsLabel){ { PFS_LABEL_KINDS, (uint32_t) strlen(PFS_LABEL_KINDS) },
					{ begin, (uint32_t) (at - begin) } };
	return true;
}

bool
pfs_labels_of_sample(PfsMaking *making, const PfsLabels *own, const PfsProfileLabel *labels,
					 uint32_t count, PfsLabels *result)
{
	/* One entry more for the label PFS_LABEL_KINDS. */
	Numbered *numbered = pfs_making_alloc(making, (count + 1) * sizeof(Numbered));

	*result = (PfsLabels){ pfs_making_alloc(making, (count + 1) * sizeof(PfsLabel)), count };
	if (result->labels == NULL || numbered == NULL)
		return false;
	/* 1. Legal keys take their names; 2. the others choose among the remaining ones. */
	keep_legal_names(own, labels, result, numbered);
	for (uint32_t i = 0; i < count; i++)
	{
		result->labels[i].value = labels[i].text;
		if ((result->labels[i].name.length == 0 &&
			 !choose_name(making, own, result, numbered, labels[i].key, i)) ||
			(labels[i].numeric && !digits_of(making, labels[i].number, &result->labels[i].value)))
			return false;
	}
	return add_kinds(making, labels, count, result);
}
