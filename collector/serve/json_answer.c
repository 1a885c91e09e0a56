/*
 * json_answer.c
 *		Converts protobuf to JSON, with the schemas that are also used to read requests.
 */
#include "serve/json_answer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"

static void
json_put(Buffer *out, const char *text)
{
	buffer_put_bytes(out, text, strlen(text));
}

void
json_put_text(Buffer *out, Span text)
{
	char escape[JSON_ESCAPE_BYTES];
	size_t plain = 0; /* start of the bytes that need no escape */

	json_put(out, "\"");
	for (size_t i = 0; i < text.length; i++)
	{
		if (!json_escape(text.bytes[i], escape))
			continue;
		buffer_put_bytes(out, text.bytes + plain, i - plain);
		json_put(out, escape);
		plain = i + 1;
	}
	if (plain < text.length)
		buffer_put_bytes(out, text.bytes + plain, text.length - plain);
	json_put(out, "\"");
}

static void
json_put_number(Buffer *out, const JsonField *field, uint64_t value)
{
	char text[32];

	/* Numbers of 64 bits are written as texts, because readers of JSON may have doubles only. */
	if (field->kind == JSON_BOOL)
		snprintf(text, sizeof(text), "%s", value != 0 ? "true" : "false");
	else if (field->kind == JSON_UNSIGNED)
		snprintf(text, sizeof(text), "\"%" PRIu64 "\"", value);
	else
		snprintf(text, sizeof(text), "\"%" PRId64 "\"", (int64_t) value);
	json_put(out, text);
}

static void
json_put_double(Buffer *out, uint64_t bits)
{
	char text[32];
	double value;

	memcpy(&value, &bits, sizeof(value));
	/* JSON has no such numbers, so protobuf's mapping writes them as texts. */
	if (isfinite(value))
		snprintf(text, sizeof(text), "%.17g", value);
	else
		snprintf(text, sizeof(text), "%s", isnan(value) ? "\"NaN\"" : "\"Infinity\"");
	json_put(out, text);
}

static void
json_put_comma(Buffer *out, bool *is_first)
{
	if (!*is_first)
		json_put(out, ",");
	*is_first = false;
}

/* Appends the numbers of a packed field. */
static bool
json_put_packed(Buffer *out, const JsonField *field, const PfsWireField *value, bool *is_first)
{
	const char *error = NULL;
	uint64_t number;
	size_t at = 0;

	while (packed_next(value, false, &at, &number, &error))
	{
		json_put_comma(out, is_first);
		json_put_number(out, field, number);
	}
	return error == NULL;
}

/* Appends one occurrence of a field, which may contain a packed list. */
static bool
json_put_value(Buffer *out, const JsonField *field, const PfsWireField *value, bool *is_first)
{
	/* Repeated numbers may be packed or not, and readers of protobuf must accept both. */
	if (field->kind != JSON_STRING && field->kind != JSON_MESSAGE && field->repeated &&
		value->wire_type == PFS_WIRE_BYTES)
		return json_put_packed(out, field, value, is_first);
	json_put_comma(out, is_first);
	switch (field->kind)
	{
		case JSON_STRING:
			if (value->wire_type != PFS_WIRE_BYTES)
				return false;
			json_put_text(out, field_span(value));
			return true;
		case JSON_MESSAGE:
			return value->wire_type == PFS_WIRE_BYTES &&
				   json_put_message(out, field_span(value), field->message);
		case JSON_DOUBLE:
			if (value->wire_type != PFS_WIRE_64_BITS)
				return false;
			json_put_double(out, little_endian_64(value->bytes));
			return true;
		default:
			json_put_number(out, field, value->value);
			return value->wire_type == PFS_WIRE_VARINT;
	}
}

/*
 * Appends a field with all its occurrences, between which other fields may lie. Absent fields are
 * left out.
 */
static bool
json_put_field(Buffer *out, Span span, const JsonField *field, bool *is_first)
{
	Message walk = message_of(span);
	bool is_first_value = true;
	bool is_there = false;

	while (message_next(&walk))
	{
		if (walk.field.number != field->number)
			continue;
		if (!is_there)
		{
			json_put_comma(out, is_first);
			json_put(out, "\"");
			json_put(out, field->name);
			json_put(out, field->repeated ? "\":[" : "\":");
		}
		else if (!field->repeated)
			/* The schema has one value for this field, so the message does not follow it. */
			return false;
		if (!json_put_value(out, field, &walk.field, &is_first_value))
			return false;
		is_there = true;
	}
	if (field->repeated && is_there)
		json_put(out, "]");
	return walk.error == NULL;
}

bool
json_put_message(Buffer *out, Span span, const JsonMessage *message)
{
	bool is_first = true;

	json_put(out, "{");
	for (const JsonField *field = message->fields; field->name != NULL; field++)
		if (!json_put_field(out, span, field, &is_first))
			return false;
	json_put(out, "}");
	return true;
}
