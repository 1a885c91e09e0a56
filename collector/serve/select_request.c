/*
 * select_request.c
 *		Reads requests, field by field.
 */
#include "serve/select_request.h"

#define EXEMPLARS_WANTED 2 /* value of ExemplarType for profiles; 3 is for spans */

static const char *
select_add_text(SelectTexts *texts, Span text)
{
	if (texts->count == SELECT_TEXTS_MAX)
		return "the request has too many matchers, labels or ids";
	texts->items[texts->count++] = text;
	return NULL;
}

/* Reads Location{1 name} of a call site. */
static const char *
select_read_call(SelectRequest *request, Span location)
{
	Message walk = message_of(location);
	Span name = { (const uint8_t *) "", 0 };

	while (message_next(&walk))
		if (field_is_message(&walk.field, 1))
			name = field_span(&walk.field);
	if (request->call_count == SELECT_CALLS_MAX)
		return "the call site has too many frames";
	request->calls[request->call_count++] = name;
	return walk.error;
}

/* Reads StackTraceSelector{1 call_site, 2 go_pgo}. */
static const char *
select_read_stacks(SelectRequest *request, Span selector, bool *is_unsupported)
{
	Message walk = message_of(selector);
	const char *error = NULL;

	while (error == NULL && message_next(&walk))
	{
		if (field_is_message(&walk.field, 1))
			error = select_read_call(request, field_span(&walk.field));
		else if (field_is_message(&walk.field, 2))
		{
			*is_unsupported = true;
			error = "profiles for Go's PGO cannot be shortened: request the whole profile";
		}
	}
	return error != NULL ? error : walk.error;
}

/* Stores a text or message by its meaning. Returns NULL, or the reason of the refusal. */
static const char *
select_read_text(SelectRequest *request, SelectField meaning, Span text, bool *is_unsupported)
{
	switch (meaning)
	{
		case SELECT_TYPE:
			request->type = text;
			return NULL;
		case SELECT_SELECTOR:
			request->selector = text;
			return NULL;
		case SELECT_NAME:
			request->name = text;
			return NULL;
		case SELECT_STACKS:
			return select_read_stacks(request, text, is_unsupported);
		case SELECT_TRACE:
			return select_add_text(&request->traces, text);
		case SELECT_SPAN:
			return select_add_text(&request->spans, text);
		case SELECT_GROUP_BY:
			return select_add_text(&request->labels, text);
		case SELECT_MATCHER:
			return select_add_text(&request->matchers, text);
		case SELECT_UNSUPPORTED:
			*is_unsupported = true;
			return "profiles are not stored individually, so ids and async queries are not available";
		default:
			return NULL;
	}
}

/* Stores a number by its meaning. Returns NULL, or the reason of the refusal. */
static const char *
select_read_number(SelectRequest *request, SelectField meaning, uint64_t number,
				   bool *is_unsupported)
{
	switch (meaning)
	{
		case SELECT_START:
			request->start_ms = (int64_t) number;
			return NULL;
		case SELECT_END:
			request->end_ms = (int64_t) number;
			return NULL;
		case SELECT_MAX_NODES:
			request->max_nodes = (int64_t) number;
			return NULL;
		case SELECT_FORMAT:
			request->format = number;
			return NULL;
		case SELECT_AGGREGATION:
			/* 1 is TIME_SERIES_AGGREGATION_TYPE_AVERAGE, 0 the sum. */
			request->is_average = number == 1;
			return NULL;
		case SELECT_LIMIT:
			request->limit = (int64_t) number;
			return NULL;
		case SELECT_EXEMPLARS:
			*is_unsupported = number >= EXEMPLARS_WANTED;
			return *is_unsupported ? "exemplars are not available" : NULL;
		default:
			return NULL;
	}
}

const char *
select_request_read(SelectRequest *request, Span message, const SelectFields fields,
					bool *is_unsupported)
{
	Message walk = message_of(message);
	const char *error = NULL;

	*request = (SelectRequest){ .step_s = 0 };
	*is_unsupported = false;
	while (error == NULL && message_next(&walk))
	{
		const PfsWireField *field = &walk.field;
		/*
		 * Fields that this program does not know are skipped, so that newer clients are answered.
		 */
		const SelectField meaning =
			field->number < SELECT_FIELDS_MAX ? fields[field->number] : SELECT_NONE;

		if (field->wire_type == PFS_WIRE_BYTES)
			error = select_read_text(request, meaning, field_span(field), is_unsupported);
		else if (field->wire_type == PFS_WIRE_VARINT)
			error = select_read_number(request, meaning, field->value, is_unsupported);
		else if (field->wire_type == PFS_WIRE_64_BITS && meaning == SELECT_STEP)
		{
			const uint64_t bits = little_endian_64(field->bytes);

			memcpy(&request->step_s, &bits, sizeof(request->step_s));
		}
	}
	return error != NULL ? error : walk.error;
}
