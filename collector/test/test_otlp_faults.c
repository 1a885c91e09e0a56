/*
 * test_otlp_faults.c
 *		Requests of OTLP profiles that are at fault or take too much: profiles that are rejected
 *		alone, and requests that are refused whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "otlp/dialect.h"
#include "otlp/fields.h"
#include "otlp/json.h"
#include "otlp_decoding.h"
#include "proto_builder.h"

/* --- at fault --- */

static void
assert_rejected(const Proto *bad, const char *message)
{
	const Proto good_sample = sample(DIALECT_1_10, 1, 5, 1);
	const Proto bad_samples[] = { good_sample, *bad };
	const Proto profiles[] = { profile(&good_sample, 1), profile(bad_samples, 2),
							   profile(&good_sample, 1) };
	const Proto request = request_of(profiles, 3);
	OtlpResult result;
	Batch *batch;

	assert_int_equal(decode(proto_span(&request), false, &batch, &result), DECODE_OK);
	assert_int_equal(result.profiles, 2);
	assert_int_equal(result.rejected_profiles, 1);
	assert_int_equal(result.samples, 2);
	assert_string_equal(result.message, message);
	assert_int_equal(sum_of(batch, "worker", 2), 10);
	batch_free(batch);
}

static void
test_rejected(void **state)
{
	Proto bad = sample(DIALECT_1_10, 99, 5, 0);

	assert_rejected(&bad, "an index is beyond the stack table");
	bad = sample(DIALECT_1_10, (unsigned) -1, 5, 0);
	assert_rejected(&bad, "an index is beyond the stack table");
	bad = sample(DIALECT_1_10, 1, 5, 99);
	assert_rejected(&bad, "an index is beyond the attribute table");
	bad = (Proto){ .length = 0 };
	proto_number(&bad, SAMPLE_STACK, 1);
	assert_rejected(&bad, "a sample has neither values nor times");
	bad = (Proto){ .length = 0 };
	proto_list(&bad, dialect_layout(DIALECT_1_10)->sample_values, 2, 1, 2);
	assert_rejected(&bad, "a sample has several values, but no times");
	bad = sample(DIALECT_1_10, 1, 0, 0);
	proto_list(&bad, dialect_layout(DIALECT_1_10)->sample_values, 3, 1, 2, 3);
	assert_rejected(&bad, "a sample has different numbers of values and times");
}

/* The kinds of items of which one is cut off. */
enum
{
	CUT_NOTHING,
	CUT_FUNCTION,
	CUT_LINE,
	CUT_LOCATION,
	CUT_LOCATION_ATTRIBUTES,
	CUT_MAPPING,
	CUT_MAPPING_ATTRIBUTES,
	CUT_STACK,
	CUT_ATTRIBUTE,
	CUT_VALUE,
	CUT_COUNT
};

/* Appends a field whose length exceeds the message if the item is the one to cut. */
static void
proto_cut(Proto *item, int kind, int cut)
{
	if (kind != cut)
		return;
	proto_byte(item, 15 << 3 | PFS_WIRE_BYTES);
	proto_byte(item, 100);
}

/* Returns a list of one index, or, if it is to be cut, of half an index. */
static void
proto_index(Proto *item, unsigned field, uint8_t index, bool is_cut)
{
	const uint8_t bytes[] = { index, 0x80 };

	proto_bytes(item, field, bytes, is_cut ? 2 : 1);
}

/* Returns a dictionary that follows that of request_of(), with one item more in each table. */
static Proto
second_dictionary(int cut)
{
	Proto tables = { .length = 0 };
	Proto any = { .length = 0 };
	Proto item = { .length = 0 };
	Proto line = { .length = 0 };

	proto_text(&any, ANY_STRING, "value");
	proto_cut(&any, CUT_VALUE, cut);
	proto_number(&item, ATTRIBUTE_KEY, 10);
	proto_message(&item, ATTRIBUTE_VALUE, &any);
	proto_cut(&item, CUT_ATTRIBUTE, cut);
	proto_message(&tables, DICTIONARY_ATTRIBUTES, &item); /* number ATTRIBUTES */

	item.length = 0;
	proto_number(&item, MAPPING_FILENAME, 8);
	proto_index(&item, MAPPING_ATTRIBUTES, ATTRIBUTES, cut == CUT_MAPPING_ATTRIBUTES);
	proto_cut(&item, CUT_MAPPING, cut);
	proto_message(&tables, DICTIONARY_MAPPINGS, &item); /* number 2 */

	item.length = 0;
	proto_number(&item, FUNCTION_NAME, 5);
	proto_cut(&item, CUT_FUNCTION, cut);
	proto_message(&tables, DICTIONARY_FUNCTIONS, &item); /* number 3 */

	item.length = 0;
	proto_number(&line, LINE_FUNCTION, 3);
	proto_cut(&line, CUT_LINE, cut);
	proto_number(&item, LOCATION_MAPPING, 2);
	proto_message(&item, LOCATION_LINES, &line);
	proto_index(&item, LOCATION_ATTRIBUTES, 3, cut == CUT_LOCATION_ATTRIBUTES);
	proto_cut(&item, CUT_LOCATION, cut);
	proto_message(&tables, DICTIONARY_LOCATIONS, &item); /* number 3 */

	item.length = 0;
	proto_list(&item, STACK_LOCATIONS, 1, 3);
	proto_cut(&item, CUT_STACK, cut);
	proto_message(&tables, DICTIONARY_STACKS, &item); /* number 3 */
	return tables;
}

/* An item that is cut off rejects every profile that uses it, and no other. */
static void
test_cut_items(void **state)
{
	for (int cut = CUT_NOTHING; cut < CUT_COUNT; cut++)
	{
		const Proto using = sample(DIALECT_1_10, 3, 7, ATTRIBUTES);
		const Proto other = sample(DIALECT_1_10, 1, 11, 0);
		const Proto profiles[] = { profile(&using, 1), profile(&other, 1), profile(&using, 1) };
		const Proto tables = second_dictionary(cut);
		Proto request = request_of(profiles, 3);
		OtlpResult result;
		Batch *batch;

		proto_message(&request, REQUEST_DICTIONARY, &tables);
		assert_int_equal(decode(proto_span(&request), false, &batch, &result), DECODE_OK);
		assert_int_equal(result.profiles, cut == CUT_NOTHING ? 3 : 1);
		assert_int_equal(result.rejected_profiles, cut == CUT_NOTHING ? 0 : 2);
		batch_free(batch);
	}
}

static void
assert_refused(Span body, const char *message)
{
	OtlpResult result;
	Batch *batch;

	assert_int_equal(decode(body, false, &batch, &result), DECODE_INVALID);
	assert_non_null(result.message);
	assert_non_null(strstr(result.message, message));
	batch_free(batch);
}

static void
test_refused(void **state)
{
	const Proto newer = sample(DIALECT_1_10, 1, 5, 1);
	const Proto older = sample(DIALECT_1_9, 1, 5, 1);
	const Proto both[] = { newer, older };
	Proto mixed = profile(both, 2);
	Proto old = { .length = 0 };
	Proto request = request_of(&mixed, 1);

	assert_refused(proto_span(&request), "");
	proto_list(&old, PROFILE_TIME, 2, 1, 2); /* in 1.7 this field contained locations */
	request = request_of(&old, 1);
	assert_refused(proto_span(&request), "1.7");
	assert_refused((Span){ (const uint8_t *) "\x0A\xFF", 2 }, "");
}

/* A resource whose attributes are cut off refuses the request: its series would lack labels. */
static void
test_cut_resource(void **state)
{
	const Proto service = key_value("service.name", "shop");
	const Proto plain = sample(DIALECT_1_10, 1, 7, 0);
	const Proto one = profile(&plain, 1);
	const Proto tables = dictionary();
	Proto resource = { .length = 0 };
	Proto scope = { .length = 0 };
	Proto of_resource = { .length = 0 };
	Proto request = { .length = 0 };

	proto_message(&resource, RESOURCE_ATTRIBUTES, &service);
	proto_cut(&resource, CUT_NOTHING, CUT_NOTHING);
	proto_message(&scope, SCOPE_PROFILES_PROFILES, &one);
	proto_message(&of_resource, RESOURCE_PROFILES_RESOURCE, &resource);
	proto_message(&of_resource, RESOURCE_PROFILES_SCOPES, &scope);
	proto_message(&request, REQUEST_RESOURCE_PROFILES, &of_resource);
	proto_message(&request, REQUEST_DICTIONARY, &tables);
	assert_refused(proto_span(&request), "");
}

/* A mapping that names an attribute of 3,000 fields 5,000 times: each read of it is charged. */
static void
test_expensive_attribute(void **state)
{
	const Proto program = key_value("process.executable.name", "other");
	Proto tables = dictionary();
	Proto large = { .length = 0 };
	Proto indexes = { .length = 0 };
	Proto mapping = { .length = 0 };
	Proto resource = { .length = 0 };
	Proto of_resource = { .length = 0 };
	Proto request = { .length = 0 };

	for (int i = 0; i < 3000; i++)
		proto_number(&large, 15, 1);
	for (int i = 0; i < 5000; i++)
		proto_byte(&indexes, ATTRIBUTES);
	proto_message(&tables, DICTIONARY_ATTRIBUTES, &large);
	proto_message(&mapping, MAPPING_ATTRIBUTES, &indexes);
	proto_message(&tables, DICTIONARY_MAPPINGS, &mapping);
	proto_message(&resource, RESOURCE_ATTRIBUTES, &program);
	proto_message(&of_resource, RESOURCE_PROFILES_RESOURCE, &resource);
	proto_message(&request, REQUEST_RESOURCE_PROFILES, &of_resource);
	proto_message(&request, REQUEST_DICTIONARY, &tables);
	assert_refused(proto_span(&request), "the request refers to large items too often");
}

/*
 * Refuses a comment of 10,000 bytes that occurs 10,000 times in a profile. The reason is not that
 * of the profile before, which is rejected.
 */
static void
test_expensive_comments(void **state)
{
	const Layout *layout = dialect_layout(DIALECT_1_8);
	const Proto one = sample(DIALECT_1_8, 1, 7, 0);
	Proto tables = dictionary();
	Proto text = { .length = 0 };
	Proto indexes = { .length = 0 };
	const Proto beyond = sample(DIALECT_1_8, 99, 7, 0);
	const Proto rejected = profile(&beyond, 1);
	Proto noted = profile(&one, 1);
	Proto scope = { .length = 0 };
	Proto of_resource = { .length = 0 };
	Proto request = { .length = 0 };

	for (int i = 0; i < 10000; i++)
	{
		proto_byte(&text, 'x');
		proto_byte(&indexes, sizeof(strings) / sizeof(strings[0]));
	}
	proto_message(&tables, DICTIONARY_STRINGS, &text);
	proto_text(&noted, layout->profile_id, "sixteen bytes of");
	proto_message(&noted, layout->profile_comments, &indexes);
	proto_message(&scope, SCOPE_PROFILES_PROFILES, &rejected);
	proto_message(&scope, SCOPE_PROFILES_PROFILES, &noted);
	proto_message(&of_resource, RESOURCE_PROFILES_SCOPES, &scope);
	proto_message(&request, REQUEST_RESOURCE_PROFILES, &of_resource);
	proto_message(&request, REQUEST_DICTIONARY, &tables);
	assert_refused(proto_span(&request), "the request refers to large items too often");
}

/* A request that is cut at any byte, or has any byte changed, is never read beyond its end. */
static void
test_changed(void **state)
{
	const Proto whole = usual_request(DIALECT_1_10);
	OtlpResult result;
	Batch *batch;

	for (size_t i = 0; i < whole.length; i++)
	{
		uint8_t *bytes = malloc(whole.length);

		assert_non_null(bytes);
		memcpy(bytes, whole.bytes, whole.length);
		if (decode((Span){ bytes, i }, false, &batch, &result) == DECODE_OK)
			assert_in_range(result.samples, 0, 4);
		batch_free(batch);
		for (unsigned change = 0; change < 3; change++)
		{
			bytes[i] = (uint8_t[]){ 0xFF, 0, (uint8_t) (whole.bytes[i] ^ 1) }[change];
			decode((Span){ bytes, whole.length }, change == 0, &batch, &result);
			batch_free(batch);
		}
		free(bytes);
	}
}

/* --- memory --- */

/* With memory limits from none to enough: a request that is refused halfway releases its memory. */
static void
test_memory(void **state)
{
	const Proto samples[] = { sample(DIALECT_1_10, 1, 0, 1), sample(DIALECT_1_10, 2, 0, 1) };
	const Proto one = profile(samples, 2);
	const Proto request = request_of(&one, 1);
	MemoryPool pool = { .limit_bytes = 0 };
	MemoryShare share = { .pool = &pool };
	DecodeEnd end = DECODE_NO_ROOM;

	memory = &share;
	for (; end != DECODE_OK; pool.limit_bytes += 97)
	{
		OtlpResult result;
		Batch *batch;

		share.is_beyond = false;
		end = decode(proto_span(&request), true, &batch, &result);
		assert_true(end == DECODE_OK || (end == DECODE_NO_ROOM && share.is_beyond));
		assert_int_equal(pool.used_bytes, 0); /* except the batch, which is not charged here */
		batch_free(batch);
	}
	assert_in_range(pool.limit_bytes, 32768, 1 << 20);
	memory = NULL;
}

/*
 * Converts a request with times of one digit, whose protobuf is four times as long: the room that
 * is charged for it stays within JSON_GROWTH times the text.
 */
static void
test_memory_of_json(void **state)
{
	static const char head[] = "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{"
							   "\"samples\":[{\"timestampsUnixNano\":[1";
	static const char tail[] = "]}]}]}]}]}";
	char text[20000];
	size_t length = sizeof(head) - 1;
	MemoryPool pool = { .limit_bytes = 1 << 20 };
	MemoryShare share = { .pool = &pool };
	const char *error;
	size_t offset;
	size_t bytes;
	uint8_t *body;

	memcpy(text, head, length);
	for (int i = 0; i < 8200; i++)
	{
		text[length++] = ',';
		text[length++] = '1';
	}
	memcpy(text + length, tail, sizeof(tail) - 1);
	length += sizeof(tail) - 1;
	body = json_to_protobuf((Span){ (const uint8_t *) text, length }, &json_request, &share, &bytes,
							&error, &offset);
	assert_non_null(body);
	assert_in_range(bytes, 8200 * sizeof(uint64_t), length * JSON_GROWTH);
	assert_in_range(pool.used_bytes, bytes, length * JSON_GROWTH + 4096 + 64);
	share_realloc(&share, body, 0);
	assert_int_equal(pool.used_bytes, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rejected),
		cmocka_unit_test(test_cut_items),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cut_resource),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_expensive_attribute),
		cmocka_unit_test(test_expensive_comments),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_memory_of_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
