/*
 * dialect.c
 *		Collects evidence for layouts and decides. The first rule that applies wins:
 *
 * 1. A profile whose field 3 or 6 is a message, or samples without a dictionary: too old.
 * 2. Texts by index: 1.10 or later.
 * 3. A sample with bytes in field 3 or a number in field 4: 1.9 or before (attributes, link). A
 *    sample with a number in field 3 or bytes in field 4: 1.10 or later (link, values). Both in one
 *    request: refused.
 * 4. Samples with fields 1, 2 and 5 only: field 2 has values before 1.10 and attributes since. A
 *    sample without times must have values, and a type with a temporality is of 1.8. Otherwise the
 *    reading is taken that fits all samples: values must be as many as times; attributes must
 *    exist, without a key twice. If both fit: 1.10, because its exporters send samples with times
 *    only.
 * 5. Among the older layouts, 1.8 has temporalities, and has comments before the profile's id,
 *    which shifts four fields.
 */
#include "otlp/dialect.h"

#include "otlp/fields.h"

#define TOO_OLD \
	"the request is of OTLP 1.7 or before; versions 1.8 to 1.11 of the profiles signal are supported"
#define TWO_LAYOUTS \
	"the request mixes samples of OTLP 1.9 and 1.10; a request must have one version"

/* Limit of a sample's attributes that are compared for duplicate keys. */
#define COMPARED_MAX 64

/*
 * Name, and field numbers: values, attributes and link of a sample; id, dropped attributes, format
 * of the payload, payload, attributes and comments of a profile.
 */
static const Layout layouts[] = {
	[DIALECT_1_8] = { "1.8", 2, 3, 4, 8, 9, 10, 11, 12, 7 },
	[DIALECT_1_9] = { "1.9", 2, 3, 4, 7, 8, 9, 10, 11, 0 },
	[DIALECT_1_10] = { "1.10", 4, 2, 3, 7, 8, 9, 10, 11, 0 },
};

typedef struct Evidence
{
	bool has_dictionary;
	bool has_samples;
	bool too_old;
	bool text_indexes;		/* rule 2 */
	bool old_sample;		/* rule 3 */
	bool new_sample;		/* rule 3 */
	bool values_only;		/* rule 4: a sample has field 2 and no times */
	bool values_hold;		/* rule 4: field 2 may be values in all samples */
	bool attributes_hold;	/* rule 4: field 2 may be attributes in all samples */
	bool temporality;		/* rules 4 and 5 */
	bool comments;			/* rule 5 */
	size_t attribute_count; /* attributes in the dictionary */
	const char *error;
} Evidence;

const Layout *
dialect_layout(Dialect dialect)
{
	return &layouts[dialect];
}

/* Returns true if an attribute or value contains texts by index, which 1.10 introduced. */
static bool
has_field(Span span, unsigned number)
{
	Message message = message_of(span);

	while (message_next(&message))
		if (field_is_number(&message.field, number))
			return true;
	return false;
}

static bool
attribute_has_index(Span key_value)
{
	Message message = message_of(key_value);

	while (message_next(&message))
		if (field_is_number(&message.field, KEY_VALUE_KEY_INDEX) ||
			(field_is_message(&message.field, KEY_VALUE_VALUE) &&
			 has_field(field_span(&message.field), ANY_STRING_INDEX)))
			return true;
	return false;
}

/* Examines attributes of a resource or a scope. */
static void
look_at_attributes(Evidence *evidence, Span span, unsigned number)
{
	Message message = message_of(span);

	while (!evidence->text_indexes && message_next(&message))
		if (field_is_message(&message.field, number))
			evidence->text_indexes = attribute_has_index(field_span(&message.field));
}

/* Counts attributes and looks for texts by index (rule 2). */
static void
look_at_dictionary(Evidence *evidence, Span span)
{
	Message message = message_of(span);

	evidence->has_dictionary = true;
	while (message_next(&message))
	{
		if (!field_is_message(&message.field, DICTIONARY_ATTRIBUTES))
			continue;
		evidence->attribute_count++;
		if (!evidence->text_indexes)
		{
			Message attribute = message_of(field_span(&message.field));

			while (message_next(&attribute))
				evidence->text_indexes |= field_is_message(&attribute.field, ATTRIBUTE_VALUE) &&
										  has_field(field_span(&attribute.field), ANY_STRING_INDEX);
		}
	}
}

/*
 * Returns true if field 2 of a sample may be attributes: all of them are in the dictionary, and no
 * key is repeated.
 */
static bool
may_be_attributes(const Evidence *evidence, const PfsWireField *field)
{
	uint64_t seen[COMPARED_MAX];
	size_t count = 0;
	size_t at = 0;
	uint64_t index;
	const char *error = NULL;

	while (packed_next(field, false, &at, &index, &error))
	{
		/*
		 * Values are mostly larger than the table of attributes, or repeated; a sample with more
		 * than COMPARED_MAX attributes does not occur.
		 */
		if (index >= evidence->attribute_count || count == COMPARED_MAX)
			return false;
		for (size_t i = 0; i < count; i++)
			if (seen[i] == index)
				return false;
		seen[count++] = index;
	}
	return error == NULL;
}

/*
 * Collects the evidence for rules 3 and 4. Field 2 is counted as packed varints, which is also
 * right if it contains attributes.
 */
static void
look_at_sample(Evidence *evidence, Span span)
{
	Message message = message_of(span);
	PfsWireField second = { 0 };
	size_t times = 0;

	evidence->has_samples = true;
	while (message_next(&message))
	{
		const PfsWireField *field = &message.field;

		/*
		 * 1.9 has a list of attributes in field 3 and the link, a number, in field 4. 1.10 has the
		 * link in field 3 and a list of values in field 4.
		 */
		if (field->number == 2 && field->wire_type == PFS_WIRE_BYTES)
			second = *field;
		else if (field->number == 3)
			*(field->wire_type == PFS_WIRE_BYTES ? &evidence->old_sample : &evidence->new_sample) =
				true;
		else if (field->number == 4)
			*(field->wire_type == PFS_WIRE_BYTES ? &evidence->new_sample : &evidence->old_sample) =
				true;
		else if (field->number == SAMPLE_TIMES)
			times += field->wire_type == PFS_WIRE_BYTES ? packed_count(field, true) : 1;
	}
	if (message.error != NULL)
		evidence->error = message.error;
	/* Rule 4 is only for samples without fields 3 and 4. */
	if (second.length == 0 || evidence->old_sample || evidence->new_sample)
		return;
	/* A sample has values or times, so field 2 of a sample without times has the values. */
	if (times == 0)
		evidence->values_only = true;
	else if (packed_count(&second, false) != times)
		evidence->values_hold = false;
	/* Evidence against a reading is never revoked, so later samples need no comparison. */
	if (evidence->attributes_hold && !may_be_attributes(evidence, &second))
		evidence->attributes_hold = false;
}

static void
look_at_type(Evidence *evidence, Span span)
{
	evidence->temporality |= has_field(span, VALUE_TYPE_TEMPORALITY);
}

/* Collects the evidence for rules 1 and 5, and that of the profile's samples. */
static void
look_at_profile(Evidence *evidence, Span span)
{
	Message message = message_of(span);

	while (evidence->error == NULL && message_next(&message))
	{
		const PfsWireField *field = &message.field;
		bool is_bytes = field->wire_type == PFS_WIRE_BYTES;

		/*
		 * Rule 1: time and period are numbers since 1.8. Rule 5: fields that 1.9 has one number
		 * lower, and that have other wire types there: the attributes (12 in 1.8), the id (8,
		 * bytes) and the number of dropped attributes (9).
		 */
		if (is_bytes && (field->number == PROFILE_TIME || field->number == PROFILE_PERIOD))
			evidence->too_old = true;
		else if (is_bytes && field->number == PROFILE_SAMPLES)
			look_at_sample(evidence, field_span(field));
		else if (is_bytes && field->number == PROFILE_SAMPLE_TYPE)
			look_at_type(evidence, field_span(field));
		else if (field->number == 12 || (field->number == 8 && is_bytes) ||
				 (field->number == 9 && field->wire_type == PFS_WIRE_VARINT))
			evidence->comments = true;
	}
	if (message.error != NULL)
		evidence->error = message.error;
}

static void
look_at_scope(Evidence *evidence, Span span)
{
	Message message = message_of(span);

	while (evidence->error == NULL && message_next(&message))
	{
		if (field_is_message(&message.field, SCOPE_PROFILES_SCOPE))
			look_at_attributes(evidence, field_span(&message.field), SCOPE_ATTRIBUTES);
		else if (field_is_message(&message.field, SCOPE_PROFILES_PROFILES))
			look_at_profile(evidence, field_span(&message.field));
	}
	if (message.error != NULL)
		evidence->error = message.error;
}

static void
look_at_resource(Evidence *evidence, Span span)
{
	Message message = message_of(span);

	while (evidence->error == NULL && message_next(&message))
	{
		if (field_is_message(&message.field, RESOURCE_PROFILES_RESOURCE))
			look_at_attributes(evidence, field_span(&message.field), RESOURCE_ATTRIBUTES);
		else if (field_is_message(&message.field, RESOURCE_PROFILES_SCOPES))
			look_at_scope(evidence, field_span(&message.field));
	}
	if (message.error != NULL)
		evidence->error = message.error;
}

/*
 * Examines the dictionary of the request, or its profiles. This takes two passes, because the
 * dictionary may follow the profiles.
 */
static void
look_at_request(Evidence *evidence, Span request, unsigned number)
{
	Message message = message_of(request);

	while (evidence->error == NULL && message_next(&message))
	{
		if (!field_is_message(&message.field, number))
			continue;
		if (number == REQUEST_DICTIONARY)
			look_at_dictionary(evidence, field_span(&message.field));
		else
			look_at_resource(evidence, field_span(&message.field));
	}
	if (message.error != NULL)
		evidence->error = message.error;
}

static bool
is_old(const Evidence *evidence)
{
	if (evidence->text_indexes || evidence->new_sample)
		return false;
	/* Without evidence both readings hold, and the request counts as 1.10. */
	return evidence->old_sample || evidence->temporality || evidence->values_only ||
		   (evidence->values_hold && !evidence->attributes_hold);
}

bool
dialect_of_request(Span request, Dialect *dialect, const char **error)
{
	Evidence evidence = { .values_hold = true, .attributes_hold = true };

	/* The dictionary first, because may_be_attributes() needs the number of its attributes. */
	look_at_request(&evidence, request, REQUEST_DICTIONARY);
	look_at_request(&evidence, request, REQUEST_RESOURCE_PROFILES);
	*error = evidence.error;
	/* Before 1.8 each profile had its own tables, so the request had no dictionary. */
	if (*error == NULL && (evidence.too_old || (evidence.has_samples && !evidence.has_dictionary)))
		*error = TOO_OLD;
	if (*error == NULL && evidence.old_sample && (evidence.new_sample || evidence.text_indexes))
		*error = TWO_LAYOUTS;
	if (*error != NULL)
		return false;
	*dialect = !is_old(&evidence)						   ? DIALECT_1_10
			   : evidence.temporality || evidence.comments ? DIALECT_1_8
														   : DIALECT_1_9;
	return true;
}
