/*
 * otlp_request.h
 *		Builds requests of OTLP profiles, in each layout.
 */
#ifndef COLLECTOR_TEST_OTLP_REQUEST_H
#define COLLECTOR_TEST_OTLP_REQUEST_H

#include <string.h>

#include "otlp/dialect.h"
#include "otlp/fields.h"
#include "proto_builder.h"

#define SECOND_US INT64_C(1000000)
#define NOW_US	  (INT64_C(1767225600) * SECOND_US)
#define BEGIN_NS  ((uint64_t) (NOW_US - 10 * SECOND_US) * 1000)

#define ATTRIBUTES 11 /* number of attributes in the table of dictionary() */

/* Texts of the request; numbers of strings, functions and so on are positions in these tables. */
static const char *const strings[] = { "",
									   "samples",
									   "count",
									   "cpu",
									   "nanoseconds",
									   "leaf",
									   "main",
									   "work.c",
									   "/bin/prog",
									   "thread.name",
									   "process.executable.build_id.gnu",
									   "profile.frame.type",
									   "cpython",
									   "thread.id",
									   "pprof.profile.comment",
									   "pprof.profile.doc_url",
									   "pprof.scope.sample_type_order" };

static inline Proto
attribute(unsigned key, const char *value)
{
	Proto any = { .length = 0 };
	Proto item = { .length = 0 };

	proto_text(&any, ANY_STRING, value);
	proto_number(&item, ATTRIBUTE_KEY, key);
	proto_message(&item, ATTRIBUTE_VALUE, &any);
	return item;
}

/* Returns a list of two texts, an empty text and a value that is not a text. */
static inline Proto
comments_attribute(void)
{
	Proto list = { .length = 0 };
	Proto nested = { .length = 0 };
	Proto any = { .length = 0 };
	Proto item = { .length = 0 };

	for (unsigned i = 0; i < 3; i++)
	{
		Proto text = { .length = 0 };

		proto_text(&text, ANY_STRING, ((const char *[]){ "built by hand", "", "run at noon" })[i]);
		proto_message(&list, ARRAY_VALUES, &text);
	}
	proto_message(&nested, ANY_ARRAY, &list);
	proto_message(&list, ARRAY_VALUES, &nested);
	proto_message(&any, ANY_ARRAY, &list);
	proto_number(&item, ATTRIBUTE_KEY, 14);
	proto_message(&item, ATTRIBUTE_VALUE, &any);
	return item;
}

/* Returns a list of this number of texts. */
static inline Proto
texts_attribute(unsigned key, unsigned count)
{
	Proto list = { .length = 0 };
	Proto any = { .length = 0 };
	Proto item = { .length = 0 };

	for (unsigned i = 0; i < count; i++)
	{
		Proto text = { .length = 0 };

		proto_text(&text, ANY_STRING, strings[5 + i]);
		proto_message(&list, ARRAY_VALUES, &text);
	}
	proto_message(&any, ANY_ARRAY, &list);
	proto_number(&item, ATTRIBUTE_KEY, key);
	proto_message(&item, ATTRIBUTE_VALUE, &any);
	return item;
}

static inline Proto
key_value(const char *key, const char *value)
{
	Proto any = { .length = 0 };
	Proto item = { .length = 0 };

	proto_text(&any, ANY_STRING, value);
	proto_text(&item, KEY_VALUE_KEY, key);
	proto_message(&item, KEY_VALUE_VALUE, &any);
	return item;
}

static inline Proto
dictionary(void)
{
	const Proto attributes[ATTRIBUTES] = { { .length = 0 },
										   attribute(9, "worker"),
										   attribute(10, "abcd"),
										   attribute(11, "cpython"),
										   attribute(13, "17"),
										   comments_attribute(),
										   attribute(15, "http://notes.example/"),
										   texts_attribute(15, 1),
										   texts_attribute(15, 2),
										   texts_attribute(15, 0),
										   texts_attribute(16, 1) };
	Proto tables = { .length = 0 };
	Proto item = { .length = 0 };
	Proto line = { .length = 0 };

	proto_message(&tables, DICTIONARY_MAPPINGS, &item);
	proto_number(&item, MAPPING_FILENAME, 8);
	proto_list(&item, MAPPING_ATTRIBUTES, 1, 2);
	proto_message(&tables, DICTIONARY_MAPPINGS, &item);
	for (unsigned i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		proto_text(&tables, DICTIONARY_STRINGS, strings[i]);
	for (unsigned i = 0; i < ATTRIBUTES; i++)
		proto_message(&tables, DICTIONARY_ATTRIBUTES, &attributes[i]);
	for (unsigned i = 0; i < 3; i++)
	{
		item.length = 0;
		if (i > 0)
			proto_number(&item, FUNCTION_NAME, 4 + i);
		if (i > 0)
			proto_number(&item, FUNCTION_FILENAME, 7);
		proto_message(&tables, DICTIONARY_FUNCTIONS, &item);
	}

	/* none; the leaf, by its address; main, of an interpreter */
	item.length = 0;
	proto_message(&tables, DICTIONARY_LOCATIONS, &item);
	proto_number(&item, LOCATION_MAPPING, 1);
	proto_number(&item, LOCATION_ADDRESS, 0x1000);
	proto_message(&tables, DICTIONARY_LOCATIONS, &item);
	item.length = 0;
	proto_number(&line, LINE_FUNCTION, 2);
	proto_number(&line, LINE_LINE, 12);
	proto_number(&item, LOCATION_ADDRESS, 12);
	proto_message(&item, LOCATION_LINES, &line);
	proto_list(&item, LOCATION_ATTRIBUTES, 1, 3);
	proto_message(&tables, DICTIONARY_LOCATIONS, &item);

	item.length = 0;
	proto_message(&tables, DICTIONARY_STACKS, &item);
	proto_list(&item, STACK_LOCATIONS, 2, 1, 2);
	proto_message(&tables, DICTIONARY_STACKS, &item);
	item.length = 0;
	proto_list(&item, STACK_LOCATIONS, 1, 2);
	proto_message(&tables, DICTIONARY_STACKS, &item);
	return tables;
}

/* Returns a sample of one value, or, if value is 0, of two times. */
static inline Proto
sample(Dialect dialect, unsigned stack, int value, int attribute_index)
{
	const Layout *layout = dialect_layout(dialect);
	Proto item = { .length = 0 };
	const uint64_t times[] = { BEGIN_NS + 1000000, BEGIN_NS + 2000000 };

	proto_number(&item, SAMPLE_STACK, stack);
	if (attribute_index > 0)
		proto_list(&item, layout->sample_attributes, 1, attribute_index);
	if (value != 0)
		proto_list(&item, layout->sample_values, 1, value);
	else
		proto_fixed_list(&item, SAMPLE_TIMES, times, 2);
	return item;
}

static inline Proto
value_type(unsigned type, unsigned unit)
{
	Proto item = { .length = 0 };

	proto_number(&item, VALUE_TYPE_TYPE, type);
	proto_number(&item, VALUE_TYPE_UNIT, unit);
	return item;
}

static inline Proto
profile(const Proto *samples, size_t count)
{
	const Proto type = value_type(1, 2);
	const Proto period = value_type(3, 4);
	Proto item = { .length = 0 };

	proto_message(&item, PROFILE_SAMPLE_TYPE, &type);
	for (size_t i = 0; i < count; i++)
		proto_message(&item, PROFILE_SAMPLES, &samples[i]);
	proto_fixed(&item, PROFILE_TIME, BEGIN_NS);
	proto_message(&item, PROFILE_PERIOD_TYPE, &period);
	proto_number(&item, PROFILE_PERIOD, 50000000);
	return item;
}

static inline Proto
request_of(const Proto *profiles, size_t count)
{
	const Proto service = key_value("service.name", "shop");
	const Proto program = key_value("process.executable.name", "prog");
	const Proto tenant = key_value("tenant", "somebody");
	const Proto tables = dictionary();
	Proto resource = { .length = 0 };
	Proto scope = { .length = 0 };
	Proto of_resource = { .length = 0 };
	Proto request = { .length = 0 };

	proto_message(&resource, RESOURCE_ATTRIBUTES, &service);
	proto_message(&resource, RESOURCE_ATTRIBUTES, &program);
	proto_message(&resource, RESOURCE_ATTRIBUTES, &tenant);
	for (size_t i = 0; i < count; i++)
		proto_message(&scope, SCOPE_PROFILES_PROFILES, &profiles[i]);
	proto_message(&of_resource, RESOURCE_PROFILES_RESOURCE, &resource);
	proto_message(&of_resource, RESOURCE_PROFILES_SCOPES, &scope);
	proto_message(&request, REQUEST_RESOURCE_PROFILES, &of_resource);
	proto_message(&request, REQUEST_DICTIONARY, &tables);
	return request;
}

#endif
