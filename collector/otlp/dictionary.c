/*
 * dictionary.c
 *		At first the tables are lists of positions; an item is read when another item refers to it.
 */
#include "otlp/dictionary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "formats/clean_text.h"
#include "otlp/fields.h"

#define FRAME_TYPE_KEY	  "profile.frame.type"
#define BUILD_ID_KEY	  "process.executable.build_id.gnu"
#define BUILD_ID_GO_KEY	  "process.executable.build_id.go"
#define BUILD_ID_HASH_KEY "process.executable.build_id.htlhash"
#define NUMBER_TEXT_MAX	  32
#define VALUE_DEPTH_MAX	  2 /* values that are nested deeper are not put into labels */

/* --- opening --- */

typedef struct TableCounts
{
	size_t strings;
	size_t functions;
	size_t locations;
	size_t mappings;
	size_t stacks;
	size_t attributes;
	size_t links;
} TableCounts;

/*
 * Counts an item of the dictionary, or places it at the index by which the first pass counted it.
 */
static void
dictionary_add_item(OtlpDictionary *dictionary, const PfsWireField *field, TableCounts *at,
					bool is_counting)
{
	Span span = field_span(field);

	/*
	 * Both passes skip the same fields, so each item is placed at the index by which it was
	 * counted.
	 */
	if (field->wire_type != PFS_WIRE_BYTES)
		return;
	switch (field->number)
	{
		case DICTIONARY_STRINGS:
			if (!is_counting)
				dictionary->strings[at->strings] =
					(PfsText){ (const char *) span.bytes, (uint32_t) span.length };
			at->strings++;
			break;
		case DICTIONARY_FUNCTIONS:
			if (!is_counting)
				dictionary->functions[at->functions] = (OtlpItem){ span, NOT_ADDED };
			at->functions++;
			break;
		case DICTIONARY_LOCATIONS:
			if (!is_counting)
				dictionary->locations[at->locations] = (OtlpItem){ span, NOT_ADDED };
			at->locations++;
			break;
		case DICTIONARY_MAPPINGS:
			if (!is_counting)
				dictionary->mappings[at->mappings] =
					(OtlpMapping){ .span = span, .added = NOT_ADDED };
			at->mappings++;
			break;
		case DICTIONARY_STACKS:
			if (!is_counting)
				dictionary->stacks[at->stacks] = (OtlpStack){ .span = span };
			at->stacks++;
			break;
		case DICTIONARY_ATTRIBUTES:
			if (!is_counting)
				dictionary->attributes[at->attributes] = (OtlpAttribute){ .span = span };
			at->attributes++;
			break;
		case DICTIONARY_LINKS:
			if (!is_counting)
				dictionary->links[at->links] = span;
			at->links++;
			break;
		/* a table of a later version */
		default:
			break;
	}
}

/*
 * Visits all items of all dictionaries. There may be several, because a protobuf message may be
 * split into parts.
 */
static const char *
walk_items(OtlpDictionary *dictionary, Span request, TableCounts *counts, bool is_counting)
{
	Message message = message_of(request);

	while (message_next(&message))
	{
		Message items;

		if (!field_is_message(&message.field, REQUEST_DICTIONARY))
			continue;
		items = message_of(field_span(&message.field));
		while (message_next(&items))
			dictionary_add_item(dictionary, &items.field, counts, is_counting);
		if (items.error != NULL)
			return items.error;
	}
	return message.error;
}

static void *
table(OtlpDictionary *dictionary, size_t count, size_t item_bytes)
{
	size_t bytes;

	/*
	 * Indexes must be below NOT_ADDED. One item more than needed, because index 0 is used even if
	 * the table is empty.
	 */
	if (count >= NOT_ADDED || __builtin_mul_overflow(count + 1, item_bytes, &bytes))
		return NULL;
	return arena_alloc(dictionary->arena, bytes);
}

/* Allocates the tables. Returns false if there is no room. */
static bool
make_tables(OtlpDictionary *dictionary, const TableCounts *counts)
{
	dictionary->strings = table(dictionary, counts->strings, sizeof(PfsText));
	dictionary->texts = table(dictionary, counts->strings, sizeof(char *));
	dictionary->functions = table(dictionary, counts->functions, sizeof(OtlpItem));
	dictionary->locations = table(dictionary, counts->locations, sizeof(OtlpItem));
	dictionary->mappings = table(dictionary, counts->mappings, sizeof(OtlpMapping));
	dictionary->stacks = table(dictionary, counts->stacks, sizeof(OtlpStack));
	dictionary->attributes = table(dictionary, counts->attributes, sizeof(OtlpAttribute));
	dictionary->links = table(dictionary, counts->links, sizeof(Span));
	dictionary->frames = table(dictionary, OTLP_DEPTH_MAX, sizeof(uint32_t));
	dictionary->lines = table(dictionary, OTLP_LINES_MAX, sizeof(BatchLine));
	if (dictionary->strings == NULL || dictionary->texts == NULL || dictionary->functions == NULL ||
		dictionary->locations == NULL || dictionary->mappings == NULL ||
		dictionary->stacks == NULL || dictionary->attributes == NULL || dictionary->links == NULL ||
		dictionary->frames == NULL || dictionary->lines == NULL)
		return false;
	/* The second pass of dictionary_open() fills the other tables; arena memory is not zeroed. */
	memset(dictionary->texts, 0, (counts->strings + 1) * sizeof(char *));
	dictionary->string_count = (uint32_t) counts->strings;
	dictionary->function_count = (uint32_t) counts->functions;
	dictionary->location_count = (uint32_t) counts->locations;
	dictionary->mapping_count = (uint32_t) counts->mappings;
	dictionary->stack_count = (uint32_t) counts->stacks;
	dictionary->attribute_count = (uint32_t) counts->attributes;
	dictionary->link_count = (uint32_t) counts->links;
	return true;
}

OtlpFault
dictionary_open(OtlpDictionary *dictionary, Span request, const char **error)
{
	TableCounts counts = { 0 };
	TableCounts at = { 0 };

	/*
	 * Count, allocate, place: tables of known size need no growth, which would double the memory of
	 * a large request.
	 */
	*error = walk_items(dictionary, request, &counts, true);
	if (*error != NULL)
		return FAULT_PROFILE;
	if (!make_tables(dictionary, &counts))
		return FAULT_ROOM;
	*error = walk_items(dictionary, request, &at, false);
	return *error == NULL ? FAULT_NONE : FAULT_PROFILE;
}

OtlpFault
dictionary_work(OtlpDictionary *dictionary, size_t steps)
{
	/*
	 * The limit of CPU time is that of the request; it may end before work_left, for example on a
	 * slow machine.
	 */
	if (!work_limit_allows(dictionary->limit, steps))
	{
		dictionary->is_late = true;
		return FAULT_WORK;
	}
	if (dictionary->work_left < (int64_t) steps)
		return FAULT_WORK;
	dictionary->work_left -= (int64_t) steps;
	return FAULT_NONE;
}

/*
 * Returns the fault of an item whose message was read; an item that is not protobuf is invalid, so
 * that a part of it is never stored as the whole.
 */
static OtlpFault
fault_of_message(const Message *message, OtlpFault fault, const char **error)
{
	if (fault != FAULT_NONE || message->error == NULL)
		return fault;
	*error = message->error;
	return FAULT_PROFILE;
}

/* --- texts --- */

OtlpFault
dictionary_string(const OtlpDictionary *dictionary, uint64_t index, PfsText *text,
				  const char **error)
{
	*text = (PfsText){ "", 0 };
	/* Index 0 means "no text" in all messages, and is valid without a table. */
	if (index >= dictionary->string_count && index != 0)
	{
		*error = "an index is beyond the string table";
		return FAULT_PROFILE;
	}
	if (index < dictionary->string_count)
		*text = dictionary->strings[index];
	return FAULT_NONE;
}

/* Copies a text; U+FFFD replaces zero bytes and invalid UTF-8. */
static OtlpFault
own_with_zeros(OtlpDictionary *dictionary, PfsText text, const char **own)
{
	/* room for the worst case: each byte becomes a U+FFFD */
	char *copy = arena_alloc(dictionary->arena, (size_t) text.length * PFS_REPLACEMENT_BYTES);

	if (copy == NULL)
		return FAULT_ROOM;
	*own = batch_text(dictionary->batch, copy, pfs_zeros_replace(copy, text.data, text.length));
	return *own != NULL ? FAULT_NONE : FAULT_ROOM;
}

OtlpFault
dictionary_own(OtlpDictionary *dictionary, PfsText text, const char **own)
{
	if (text.length > 0 && memchr(text.data, '\0', text.length) != NULL)
		return own_with_zeros(dictionary, text, own);
	*own = batch_text(dictionary->batch, text.length > 0 ? text.data : "", text.length);
	return *own != NULL ? FAULT_NONE : FAULT_ROOM;
}

/* Returns the batch's copy of an indexed text, which is made on first use. */
static OtlpFault
own_string(OtlpDictionary *dictionary, uint64_t index, const char **own, const char **error)
{
	PfsText text;
	OtlpFault fault = dictionary_string(dictionary, index, &text, error);

	/* The text is copied once, although many functions and mappings refer to it. */
	if (fault == FAULT_NONE && dictionary->texts[index] == NULL)
		fault = dictionary_own(dictionary, text, &dictionary->texts[index]);
	*own = fault == FAULT_NONE ? dictionary->texts[index] : "";
	return fault;
}

/* --- attributes --- */

/* A value as text; "" if the value is absent or no scalar. */
typedef struct ValueText
{
	PfsText text;
	char number[NUMBER_TEXT_MAX];
} ValueText;

/*
 * Converts a field of a value to text: a text, a truth value, or a number; "" for any other field.
 */
static OtlpFault
scalar_text(const OtlpDictionary *dictionary, const PfsWireField *field, ValueText *value,
			const char **error)
{
	int length = 0;
	double real;

	value->text = (PfsText){ "", 0 };
	switch (field->number)
	{
		case ANY_STRING:
			if (field->wire_type == PFS_WIRE_BYTES)
				value->text = (PfsText){ (const char *) field->bytes, (uint32_t) field->length };
			return FAULT_NONE;
		case ANY_STRING_INDEX:
			return field->wire_type == PFS_WIRE_VARINT
					   ? dictionary_string(dictionary, field->value, &value->text, error)
					   : FAULT_NONE;
		case ANY_BOOL:
			if (field->wire_type == PFS_WIRE_VARINT)
				length = snprintf(value->number, sizeof(value->number), "%s",
								  field->value != 0 ? "true" : "false");
			break;
		case ANY_INT:
			if (field->wire_type == PFS_WIRE_VARINT)
				length = snprintf(value->number, sizeof(value->number), "%lld",
								  (long long) field->value);
			break;
		case ANY_DOUBLE:
			if (field->wire_type == PFS_WIRE_64_BITS)
			{
				uint64_t bits = little_endian_64(field->bytes);

				memcpy(&real, &bits, sizeof(real));
				length = snprintf(value->number, sizeof(value->number), "%.15g", real);
			}
			break;
		default:
			break;
	}
	/* also the empty text, for a field that is no scalar */
	value->text = (PfsText){ value->number, (uint32_t) length };
	return FAULT_NONE;
}

/* The value of a label while texts are appended; it is cut between two characters at its limit. */
typedef struct LabelText
{
	char bytes[LABEL_VALUE_MAX];
	size_t length;
	bool is_cut;
} LabelText;

static void
dictionary_put_text(LabelText *to, PfsText text)
{
	size_t room = sizeof(to->bytes) - to->length;
	size_t length = text.length;

	if (length > room)
	{
		length = room;
		/* The first byte left out must begin a character. Bytes 0x80 to 0xBF continue one. */
		while (length > 0 && ((uint8_t) text.data[length] & 0xC0) == 0x80)
			length--;
		to->is_cut = true;
	}
	memcpy(to->bytes + to->length, text.data, length);
	to->length += length;
}

static OtlpFault put_value(OtlpDictionary *dictionary, Span any, int depth, LabelText *to,
						   const char **error);

static OtlpFault
put_list(OtlpDictionary *dictionary, Span list, int depth, LabelText *to, const char **error)
{
	Message message = message_of(list);
	OtlpFault fault = FAULT_NONE;

	while (fault == FAULT_NONE && !to->is_cut && message_next(&message))
	{
		if (!field_is_message(&message.field, ARRAY_VALUES))
			continue;
		/* no comma before the first element, or after elements that were empty so far */
		if (to->length > 0)
			dictionary_put_text(to, (PfsText){ ",", 1 });
		fault = put_value(dictionary, field_span(&message.field), depth + 1, to, error);
	}
	return fault_of_message(&message, fault, error);
}

/*
 * Appends a value to the text of a label; the elements of a list are joined. Lists nested deeper
 * than VALUE_DEPTH_MAX are left out.
 */
static OtlpFault
put_value(OtlpDictionary *dictionary, Span any, int depth, LabelText *to, const char **error)
{
	Message message = message_of(any);
	OtlpFault fault = FAULT_NONE;
	ValueText value;

	while (fault == FAULT_NONE && message_next(&message))
	{
		if (field_is_message(&message.field, ANY_ARRAY) && depth + 1 < VALUE_DEPTH_MAX)
			fault = put_list(dictionary, field_span(&message.field), depth, to, error);
		else
		{
			fault = scalar_text(dictionary, &message.field, &value, error);
			if (fault == FAULT_NONE)
				dictionary_put_text(to, value.text);
		}
	}
	return fault_of_message(&message, fault, error);
}

/*
 * Appends the text of a value other than a list to a note; marks the attribute as unfit if the
 * value has no text.
 */
static OtlpFault
put_note_text(OtlpDictionary *dictionary, Span any, OtlpAttribute *attribute, const char **texts,
			  const char **error)
{
	Message message = message_of(any);
	ValueText value = { .text = { "", 0 } };
	OtlpFault fault = FAULT_NONE;

	while (fault == FAULT_NONE && message_next(&message))
		fault = scalar_text(dictionary, &message.field, &value, error);
	fault = fault_of_message(&message, fault, error);
	if (fault != FAULT_NONE)
		return fault;
	/*
	 * an empty text, a list in the list, or a map: the note does without it, and the attribute is
	 * counted
	 */
	if (value.text.length == 0)
	{
		attribute->is_unfit = true;
		return FAULT_NONE;
	}
	return dictionary_own(dictionary, value.text, &texts[attribute->text_count++]);
}

static size_t
count_fields(Span span, unsigned number)
{
	Message message = message_of(span);
	size_t count = 0;

	while (message_next(&message))
		count += field_is_message(&message.field, number);
	return count;
}

/* Reads a note's value: a text, or a list of texts. */
static OtlpFault
read_note(OtlpDictionary *dictionary, Span value, OtlpAttribute *attribute, const char **error)
{
	Message message = message_of(value);
	Span list = { NULL, 0 };
	const char **texts;
	/* The value is read twice: to count its texts, and to copy them. */
	OtlpFault fault = dictionary_work(dictionary, 2 * value.length);

	if (fault != FAULT_NONE)
		return fault;
	while (message_next(&message))
		if (field_is_message(&message.field, ANY_ARRAY))
			list = field_span(&message.field);
	fault = fault_of_message(&message, fault, error);
	if (fault != FAULT_NONE)
		return fault;
	texts =
		arena_alloc(dictionary->arena, sizeof(texts[0]) * (count_fields(list, ARRAY_VALUES) + 1));
	if (texts == NULL)
		return FAULT_ROOM;
	attribute->texts = texts;
	/* One text and a list of texts are read alike; a value has one of the two. */
	if (count_fields(value, ANY_ARRAY) == 0)
		fault = put_note_text(dictionary, value, attribute, texts, error);
	message = message_of(list);
	while (fault == FAULT_NONE && message_next(&message))
		if (field_is_message(&message.field, ARRAY_VALUES))
			fault = put_note_text(dictionary, field_span(&message.field), attribute, texts, error);
	attribute->is_unfit |=
		attribute->text_count == 0 || attribute->text_count > note_texts_max(attribute->note);
	return fault_of_message(&message, fault, error);
}

OtlpFault
dictionary_add_comments(OtlpDictionary *dictionary, const PfsWireField *indexes, BatchNote *note,
						const char **error)
{
	const bool is_one = indexes->wire_type == PFS_WIRE_VARINT;
	const size_t room = note->comment_count + (is_one ? 1 : packed_count(indexes, false));
	const char **texts = arena_alloc(dictionary->arena, sizeof(texts[0]) * (room + 1));
	uint32_t count = note->comment_count;
	uint64_t index = indexes->value;
	OtlpFault fault = dictionary_work(dictionary, sizeof(texts[0]) * room);
	const char *problem = NULL;
	size_t at = 0;

	if (texts == NULL)
		return FAULT_ROOM;
	/* 1.8 may have comments in several fields, which are appended. */
	if (count > 0)
		memcpy(texts, note->comments, sizeof(texts[0]) * count);
	if (is_one && fault == FAULT_NONE)
		fault = own_string(dictionary, index, &texts[count++], error);
	while (!is_one && fault == FAULT_NONE && packed_next(indexes, false, &at, &index, &problem))
		fault = own_string(dictionary, index, &texts[count++], error);
	note_put(note, NOTE_COMMENTS, texts, count);
	if (fault != FAULT_NONE || problem == NULL)
		return fault;
	*error = problem;
	return FAULT_PROFILE;
}

/* Turns key and value into a label if the rule keeps the key. */
static OtlpFault
dictionary_read_label(OtlpDictionary *dictionary, Span value, OtlpAttribute *attribute,
					  const char **error)
{
	LabelText text = { .length = 0 };
	OtlpFault fault;

	/* An attribute whose reading failed is read again by the next profile that refers to it. */
	attribute->is_kept = false;
	attribute->is_unfit = false;
	attribute->note = NOTE_NONE;
	attribute->text_count = 0;
	if (!attribute_rule_keeps(dictionary->rule, attribute->key))
		return FAULT_NONE;
	attribute->note = note_kind(attribute->key);
	if (attribute->note != NOTE_NONE)
		return read_note(dictionary, value, attribute, error);
	/*
	 * charges the name's copies and comparisons, and the label's value at a quarter of its limit,
	 * because most are short
	 */
	fault = dictionary_work(dictionary, 4 * attribute->key.length + LABEL_VALUE_MAX / 4);
	if (fault == FAULT_NONE)
		fault = put_value(dictionary, value, 0, &text, error);
	if (fault != FAULT_NONE)
		return fault;
	/* A value that was cut becomes a label, an empty one does not; both are counted. */
	attribute->is_unfit = text.length == 0 || text.is_cut;
	if (text.length == 0)
		return FAULT_NONE;
	attribute->name = label_name(dictionary->arena, attribute->key);
	if (attribute->name == NULL)
		return FAULT_ROOM;
	attribute->is_kept = true;
	return dictionary_own(dictionary, (PfsText){ text.bytes, (uint32_t) text.length },
						  &attribute->value);
}

/*
 * Copies an id of the given length; an absent id becomes zeros. Returns false for any other length.
 */
static bool
take_id(const PfsWireField *field, uint8_t *id, size_t count)
{
	if (field->length == count)
		memcpy(id, field->bytes, count);
	return field->length == count || field->length == 0;
}

OtlpFault
dictionary_link(OtlpDictionary *dictionary, uint64_t index, PfsTraceIds *ids, const char **error)
{
	const char *problem = NULL;
	Message message;
	OtlpFault fault;

	*ids = (PfsTraceIds){ { 0 }, { 0 } };
	/* element 0 of the table is empty: the sample has no link */
	if (index == 0)
		return FAULT_NONE;
	if (index >= dictionary->link_count)
	{
		*error = "an index is beyond the link table";
		return FAULT_PROFILE;
	}
	fault = dictionary_work(dictionary, dictionary->links[index].length);
	if (fault != FAULT_NONE)
		return fault;
	message = message_of(dictionary->links[index]);
	while (problem == NULL && message_next(&message))
	{
		const PfsWireField *field = &message.field;

		if (field_is_message(field, LINK_TRACE) && !take_id(field, ids->trace, PFS_TRACE_BYTES))
			problem = "a trace id does not have 16 bytes";
		else if (field_is_message(field, LINK_SPAN) && !take_id(field, ids->span, PFS_SPAN_BYTES))
			problem = "a span id does not have 8 bytes";
	}
	*error = problem != NULL ? problem : message.error;
	return *error == NULL ? FAULT_NONE : FAULT_PROFILE;
}

OtlpFault
dictionary_attribute(OtlpDictionary *dictionary, uint64_t index, const OtlpAttribute **attribute,
					 const char **error)
{
	OtlpAttribute *item;
	Span value = { NULL, 0 };
	Message message;
	OtlpFault fault;

	if (index >= dictionary->attribute_count)
	{
		*error = "an index is beyond the attribute table";
		return FAULT_PROFILE;
	}
	*attribute = item = &dictionary->attributes[index];
	if (item->is_read)
		return FAULT_NONE;
	fault = dictionary_work(dictionary, item->span.length);
	message = message_of(item->span);
	while (fault == FAULT_NONE && message_next(&message))
	{
		if (field_is_number(&message.field, ATTRIBUTE_KEY))
			fault = dictionary_string(dictionary, message.field.value, &item->key, error);
		else if (field_is_message(&message.field, ATTRIBUTE_VALUE))
			value = field_span(&message.field);
	}
	fault = fault_of_message(&message, fault, error);
	if (fault == FAULT_NONE)
		fault = dictionary_read_label(dictionary, value, item, error);
	/* A faulty attribute stays unread, so that each profile that refers to it reports the fault. */
	item->is_read = fault == FAULT_NONE;
	return fault;
}

OtlpFault
dictionary_key_value(OtlpDictionary *dictionary, Span span, OtlpAttribute *attribute,
					 const char **error)
{
	Message message = message_of(span);
	Span value = { NULL, 0 };
	uint64_t key_index = 0;
	OtlpFault fault = FAULT_NONE;

	*attribute = (OtlpAttribute){ .key = { "", 0 } };
	while (message_next(&message))
	{
		if (field_is_message(&message.field, KEY_VALUE_KEY))
			attribute->key =
				(PfsText){ (const char *) message.field.bytes, (uint32_t) message.field.length };
		else if (field_is_number(&message.field, KEY_VALUE_KEY_INDEX))
			key_index = message.field.value;
		else if (field_is_message(&message.field, KEY_VALUE_VALUE))
			value = field_span(&message.field);
	}
	fault = fault_of_message(&message, fault, error);
	/*
	 * Since 1.10 the key may be an index into the table of texts. Index 0 is the empty key, which
	 * attribute_rule_keeps() drops.
	 */
	if (fault == FAULT_NONE && attribute->key.length == 0)
		fault = dictionary_string(dictionary, key_index, &attribute->key, error);
	return fault == FAULT_NONE ? dictionary_read_label(dictionary, value, attribute, error) : fault;
}

/*
 * Finds the text value of one attribute of the table. Sets *is_there if the attribute has that key.
 */
static OtlpFault
text_of_key(OtlpDictionary *dictionary, uint64_t index, const char *key, PfsText *text,
			bool *is_there, const char **error)
{
	Message message;
	PfsText found = { "", 0 };
	ValueText value = { .text = { "", 0 } };
	OtlpFault fault;

	*is_there = false;
	if (index >= dictionary->attribute_count)
	{
		*error = "an index is beyond the attribute table";
		return FAULT_PROFILE;
	}
	/*
	 * The messages that were read are not kept, so each read is charged. Otherwise 5,000 mappings
	 * with one large attribute would be cheap to send and expensive to read.
	 */
	fault = dictionary_work(dictionary, dictionary->attributes[index].span.length);
	message = message_of(dictionary->attributes[index].span);
	while (fault == FAULT_NONE && message_next(&message))
	{
		if (field_is_number(&message.field, ATTRIBUTE_KEY))
			fault = dictionary_string(dictionary, message.field.value, &found, error);
		else if (field_is_message(&message.field, ATTRIBUTE_VALUE))
		{
			Message any = message_of(field_span(&message.field));

			/* build IDs and frame types are texts; other values count as absent */
			while (fault == FAULT_NONE && message_next(&any))
				if (any.field.number == ANY_STRING || any.field.number == ANY_STRING_INDEX)
					fault = scalar_text(dictionary, &any.field, &value, error);
			fault = fault_of_message(&any, fault, error);
		}
	}
	fault = fault_of_message(&message, fault, error);
	if (fault == FAULT_NONE && pfs_text_equals(found, key))
	{
		*text = value.text;
		*is_there = true;
	}
	return fault;
}

/* Searches a list of attributes, given by their indexes, for a key. */
static OtlpFault
find_text(OtlpDictionary *dictionary, const PfsWireField *indexes, const char *key, PfsText *text,
		  const char **error)
{
	const PfsWireField one = *indexes;
	size_t at = 0;
	uint64_t index = one.value;
	bool is_there;
	const char *problem = NULL;
	OtlpFault fault = FAULT_NONE;

	/* one index that is not in a packed list */
	if (one.wire_type == PFS_WIRE_VARINT)
		return text_of_key(dictionary, index, key, text, &is_there, error);
	while (fault == FAULT_NONE && packed_next(&one, false, &at, &index, &problem))
	{
		fault = dictionary_work(dictionary, 16);
		if (fault == FAULT_NONE)
			fault = text_of_key(dictionary, index, key, text, &is_there, error);
	}
	if (fault != FAULT_NONE || problem == NULL)
		return fault;
	*error = problem;
	return FAULT_PROFILE;
}

/* --- mappings --- */

/*
 * Reads a mapping at its first use. If several attributes have a build ID, the key that comes last
 * in the list of keys has precedence.
 */
static OtlpFault
otlp_mapping_read(OtlpDictionary *dictionary, OtlpMapping *mapping, const char **error)
{
	/*
	 * find_text() leaves build_id alone if the list lacks the key, so the last key that is found
	 * wins.
	 */
	static const char *const keys[] = { BUILD_ID_HASH_KEY, BUILD_ID_GO_KEY, BUILD_ID_KEY };
	Message message = message_of(mapping->span);
	OtlpFault fault = dictionary_work(dictionary, mapping->span.length);

	while (fault == FAULT_NONE && message_next(&message))
	{
		const PfsWireField *field = &message.field;

		if (field_is_number(field, MAPPING_START))
			mapping->start = field->value;
		else if (field_is_number(field, MAPPING_LIMIT))
			mapping->limit = field->value;
		else if (field_is_number(field, MAPPING_OFFSET))
			mapping->offset = field->value;
		else if (field_is_number(field, MAPPING_FILENAME))
			fault = dictionary_string(dictionary, field->value, &mapping->file, error);
		else if (field_has_indexes(field, MAPPING_ATTRIBUTES))
			for (size_t i = 0; fault == FAULT_NONE && i < sizeof(keys) / sizeof(keys[0]); i++)
				fault = find_text(dictionary, field, keys[i], &mapping->build_id, error);
	}
	fault = fault_of_message(&message, fault, error);
	mapping->is_read = fault == FAULT_NONE;
	return fault;
}

static OtlpFault
find_mapping(OtlpDictionary *dictionary, uint64_t index, OtlpMapping **mapping, const char **error)
{
	if (index >= dictionary->mapping_count)
	{
		*error = "an index is beyond the mapping table";
		return FAULT_PROFILE;
	}
	*mapping = &dictionary->mappings[index];
	return (*mapping)->is_read ? FAULT_NONE : otlp_mapping_read(dictionary, *mapping, error);
}

static OtlpFault
outcome(int err, const char **error)
{
	if (err == 0)
		return FAULT_NONE;
	if (err == -ENOMEM)
		return FAULT_ROOM;
	/* the batch refuses texts and numbers that the database could not store */
	*error = "an item exceeds a limit of the database";
	return FAULT_PROFILE;
}

static OtlpFault
dictionary_add_mapping(OtlpDictionary *dictionary, OtlpMapping *mapping, const char **error)
{
	BatchMapping item;
	OtlpFault fault;

	if (mapping->added != NOT_ADDED)
		return FAULT_NONE;
	fault = dictionary_own(dictionary, mapping->build_id, &item.build_id);
	if (fault == FAULT_NONE)
		fault = dictionary_own(dictionary, mapping->file, &item.file);
	return fault == FAULT_NONE
			   ? outcome(batch_add_mapping(dictionary->batch, &item, &mapping->added), error)
			   : fault;
}

/*
 * Adds a mapping for frames without a file, named after the frame type, such as [jvm]. Kernel
 * frames get the mapping that the agent uses for them.
 */
static OtlpFault
add_type_mapping(OtlpDictionary *dictionary, PfsText type, uint32_t *added, const char **error)
{
	char file[64];
	BatchMapping item = { .build_id = "" };
	OtlpFault fault;
	/* file has room for 60 bytes of the type and the brackets; longer types are cut */
	int length = pfs_text_equals(type, "kernel") ? snprintf(file, sizeof(file), "[kernel.kallsyms]")
												 : snprintf(file, sizeof(file), "[%.*s]",
															(int) MIN(type.length, 60), type.data);

	fault = dictionary_own(dictionary, (PfsText){ file, (uint32_t) length }, &item.file);
	return fault == FAULT_NONE ? outcome(batch_add_mapping(dictionary->batch, &item, added), error)
							   : fault;
}

/* --- locations --- */

static int32_t
clamp(int64_t number)
{
	return (int32_t) (number < 0 ? 0 : number > INT32_MAX ? INT32_MAX : number);
}

/* Adds a function to the batch on first use. */
static OtlpFault
dictionary_add_function(OtlpDictionary *dictionary, uint64_t index, uint32_t *added,
						const char **error)
{
	OtlpItem *item;
	BatchFunction function = { "", "", "", 0 };
	Message message;
	OtlpFault fault;

	if (index >= dictionary->function_count)
	{
		*error = "an index is beyond the function table";
		return FAULT_PROFILE;
	}
	item = &dictionary->functions[index];
	*added = item->added;
	if (item->added != NOT_ADDED)
		return FAULT_NONE;
	fault = dictionary_work(dictionary, item->span.length);
	message = message_of(item->span);
	while (fault == FAULT_NONE && message_next(&message))
	{
		const PfsWireField *field = &message.field;

		if (field_is_number(field, FUNCTION_NAME))
			fault = own_string(dictionary, field->value, &function.name, error);
		else if (field_is_number(field, FUNCTION_SYSTEM_NAME))
			fault = own_string(dictionary, field->value, &function.system_name, error);
		else if (field_is_number(field, FUNCTION_FILENAME))
			fault = own_string(dictionary, field->value, &function.filename, error);
		else if (field_is_number(field, FUNCTION_START_LINE))
			function.start_line = clamp((int64_t) field->value);
	}
	fault = fault_of_message(&message, fault, error);
	if (fault == FAULT_NONE)
	{
		/*
		 * The database expects a system name, as pprof files have; without one both names are
		 * equal.
		 */
		if (function.system_name[0] == '\0')
			function.system_name = function.name;
		fault = outcome(batch_add_function(dictionary->batch, &function, &item->added), error);
	}
	*added = item->added;
	return fault;
}

/* Reads a line of a location, and adds its function to the batch. */
static OtlpFault
dictionary_read_line(OtlpDictionary *dictionary, Span span, BatchLine *line, const char **error)
{
	Message message = message_of(span);
	/* function 0 is the empty element, for a line without a function */
	uint64_t function = 0;
	OtlpFault fault;

	*line = (BatchLine){ 0 };
	while (message_next(&message))
	{
		if (field_is_number(&message.field, LINE_FUNCTION))
			function = message.field.value;
		else if (field_is_number(&message.field, LINE_LINE))
			line->line = clamp((int64_t) message.field.value);
	}
	fault = fault_of_message(&message, FAULT_NONE, error);
	return fault == FAULT_NONE
			   ? dictionary_add_function(dictionary, function, &line->function, error)
			   : fault;
}

typedef struct LocationParts
{
	uint64_t mapping;
	uint64_t address;
	uint32_t line_count;
	PfsText type;
} LocationParts;

/* Reads the parts of a location; its lines become dictionary->lines. */
static OtlpFault
otlp_location_read(OtlpDictionary *dictionary, Span span, LocationParts *parts, const char **error)
{
	Message message = message_of(span);
	OtlpFault fault = FAULT_NONE;

	while (fault == FAULT_NONE && message_next(&message))
	{
		const PfsWireField *field = &message.field;

		if (field_is_number(field, LOCATION_MAPPING))
			parts->mapping = field->value;
		else if (field_is_number(field, LOCATION_ADDRESS))
			parts->address = field->value;
		else if (field_has_indexes(field, LOCATION_ATTRIBUTES))
			fault = find_text(dictionary, field, FRAME_TYPE_KEY, &parts->type, error);
		else if (field_is_message(field, LOCATION_LINES))
		{
			/* dictionary->lines has room for OTLP_LINES_MAX lines; no compiler inlines so deep */
			if (parts->line_count == OTLP_LINES_MAX)
			{
				*error = "a location has too many lines";
				return FAULT_PROFILE;
			}
			fault = dictionary_read_line(dictionary, field_span(field),
										 &dictionary->lines[parts->line_count++], error);
		}
	}
	return fault_of_message(&message, fault, error);
}

/* Returns false for frames of interpreters, which have a line number in place of an address. */
static bool
has_machine_address(PfsText type)
{
	return type.length == 0 || pfs_text_equals(type, "native") || pfs_text_equals(type, "kernel") ||
		   pfs_text_equals(type, "go") || pfs_text_equals(type, "rust");
}

/*
 * Sets a location's mapping and address. If the location has a mapping, the address is in its file;
 * otherwise the mapping stands for the frame type, and an address that is a line number is dropped.
 */
static OtlpFault
otlp_location_place(OtlpDictionary *dictionary, LocationParts *parts, BatchLocation *location,
					const char **error)
{
	OtlpMapping *mapping = NULL;
	OtlpFault fault = FAULT_NONE;

	location->mapping = BATCH_NO_MAPPING;
	if (parts->mapping != 0)
		fault = find_mapping(dictionary, parts->mapping, &mapping, error);
	if (fault != FAULT_NONE)
		return fault;
	/* a mapping without file and build ID identifies nothing, so the frame type names one */
	if (mapping != NULL && (mapping->file.length > 0 || mapping->build_id.length > 0))
	{
		fault = dictionary_add_mapping(dictionary, mapping, error);
		location->mapping = mapping->added;
		location->address =
			pfs_file_address(parts->address, mapping->start, mapping->limit, mapping->offset);
	}
	else
	{
		if (parts->type.length > 0)
			fault = add_type_mapping(dictionary, parts->type, &location->mapping, error);
		location->address = parts->address;
	}
	/*
	 * An interpreter's frame has its line number as address. The line has that number already, and
	 * as an address it would be taken for machine code.
	 */
	if (!has_machine_address(parts->type) && parts->line_count > 0)
		location->address = 0;
	return fault;
}

/* Adds a location to the batch on first use. */
static OtlpFault
dictionary_add_location(OtlpDictionary *dictionary, uint64_t index, uint32_t *added,
						const char **error)
{
	OtlpItem *item;
	LocationParts parts = { .type = { "", 0 } };
	/* dictionary->lines is scratch space; batch_add_location() copies the lines */
	BatchLocation location = { .lines = dictionary->lines };
	OtlpFault fault;

	if (index >= dictionary->location_count)
	{
		*error = "an index is beyond the location table";
		return FAULT_PROFILE;
	}
	item = &dictionary->locations[index];
	if (item->added == NOT_ADDED)
	{
		fault = dictionary_work(dictionary, item->span.length);
		if (fault == FAULT_NONE)
			fault = otlp_location_read(dictionary, item->span, &parts, error);
		location.line_count = parts.line_count;
		if (fault == FAULT_NONE)
			fault = otlp_location_place(dictionary, &parts, &location, error);
		if (fault == FAULT_NONE)
			fault = outcome(batch_add_location(dictionary->batch, &location, &item->added), error);
		if (fault != FAULT_NONE)
			return fault;
	}
	*added = item->added;
	return FAULT_NONE;
}

/* --- stacks --- */

static OtlpFault
add_frame(OtlpDictionary *dictionary, uint64_t index, uint32_t *depth, const char **error)
{
	if (*depth == OTLP_DEPTH_MAX)
	{
		*error = "a stack is too deep";
		return FAULT_PROFILE;
	}
	return dictionary_add_location(dictionary, index, &dictionary->frames[(*depth)++], error);
}

/* Reads the indexes of a stack's locations, packed or not, and adds the locations to the batch. */
static OtlpFault
read_stack(OtlpDictionary *dictionary, Span span, uint32_t *depth, const char **error)
{
	Message message = message_of(span);
	OtlpFault fault = FAULT_NONE;

	while (fault == FAULT_NONE && message_next(&message))
	{
		PfsWireField list = message.field;
		const char *problem = NULL;
		size_t at = 0;
		uint64_t index;

		/* one index that is not in a packed list; the first location is the leaf in both forms */
		if (field_is_number(&list, STACK_LOCATIONS))
			fault = add_frame(dictionary, list.value, depth, error);
		if (!field_is_message(&list, STACK_LOCATIONS))
			continue;
		while (fault == FAULT_NONE && packed_next(&list, false, &at, &index, &problem))
			fault = add_frame(dictionary, index, depth, error);
		if (fault == FAULT_NONE && problem != NULL)
		{
			*error = problem;
			fault = FAULT_PROFILE;
		}
	}
	return fault_of_message(&message, fault, error);
}

OtlpFault
dictionary_stack(OtlpDictionary *dictionary, uint64_t index, const char *partition, uint32_t *added,
				 const char **error)
{
	OtlpStack empty = { .span = { NULL, 0 } };
	OtlpStack *stack = &empty;
	BatchStack item = { .partition = partition, .locations = dictionary->frames };
	OtlpFault fault;

	if (index >= dictionary->stack_count && index != 0)
	{
		*error = "an index is beyond the stack table";
		return FAULT_PROFILE;
	}
	if (index < dictionary->stack_count)
		stack = &dictionary->stacks[index];
	/*
	 * The batch keeps each text once, so equal partitions have equal pointers. A stack that two
	 * partitions use in turn is read again at each change.
	 */
	if (stack->partition != partition)
	{
		fault = dictionary_work(dictionary, 64 + 4 * stack->span.length);
		if (fault == FAULT_NONE)
			fault = read_stack(dictionary, stack->span, &item.depth, error);
		if (fault == FAULT_NONE)
			fault = outcome(batch_add_stack(dictionary->batch, &item, &stack->added), error);
		if (fault != FAULT_NONE)
			return fault;
		stack->partition = partition;
	}
	*added = stack->added;
	return FAULT_NONE;
}

static PfsText
last_part(PfsText path)
{
	for (uint32_t i = path.length; i > 0; i--)
		if (path.data[i - 1] == '/')
			return (PfsText){ path.data + i, path.length - i };
	return path;
}

OtlpFault
dictionary_build_id(OtlpDictionary *dictionary, const char *file, PfsText *build_id,
					const char **error)
{
	OtlpFault fault = FAULT_NONE;

	*build_id = (PfsText){ "", 0 };
	if (file[0] == '\0')
		return FAULT_NONE;
	/* element 0 of the table is empty */
	for (uint32_t i = 1; fault == FAULT_NONE && i < dictionary->mapping_count; i++)
	{
		OtlpMapping *mapping = &dictionary->mappings[i];

		fault = dictionary_work(dictionary, 8);
		if (fault == FAULT_NONE && !mapping->is_read)
			fault = otlp_mapping_read(dictionary, mapping, error);
		/* The resource names the program without its directory, the mapping with it. */
		if (fault == FAULT_NONE && mapping->build_id.length > 0 &&
			pfs_text_equals(last_part(mapping->file), file))
		{
			*build_id = mapping->build_id;
			return FAULT_NONE;
		}
	}
	return fault;
}
