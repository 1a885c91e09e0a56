/*
 * fuzz_serve.c
 *		Any bytes as a request of Pyroscope's querier, as JSON of one, as a query string, and as a
 *		profile whose samples are cut: no finding of the sanitizers, and refused requests have a
 *		reason.
 *
 * The first byte chooses the kind.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "otlp/json.h"
#include "pyroscope/query_string.h"
#include "serve/json_answer.h"
#include "serve/profile_subset.h"
#include "serve/select_request.h"
#include "serve/serve_schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void
try_request(Span message)
{
	static const SelectFields fields = { SELECT_NONE,	  SELECT_TYPE,	 SELECT_SELECTOR,
										 SELECT_START,	  SELECT_END,	 SELECT_MAX_NODES,
										 SELECT_FORMAT,	  SELECT_STACKS, SELECT_MATCHER,
										 SELECT_GROUP_BY, SELECT_STEP,	 SELECT_UNSUPPORTED };
	SelectRequest request;
	bool is_unsupported;
	const char *error = select_request_read(&request, message, fields, &is_unsupported);

	if (is_unsupported && error == NULL)
		abort();
}

/* JSON that is read becomes a message that can be written as JSON again. */
static void
try_json(Span text)
{
	const char *error;
	size_t offset;
	size_t length;
	Buffer json = { NULL };
	uint8_t *message =
		json_to_protobuf(text, &schema_stacktraces_request, NULL, &length, &error, &offset);

	if (message == NULL)
	{
		if (error == NULL)
			abort();
		return;
	}
	try_request((Span){ message, length });
	json_put_message(&json, (Span){ message, length }, &schema_stacktraces_request);
	buffer_fini(&json);
	free(message);
}

static void
try_query(Span text)
{
	Budget budget = { .limit_bytes = 1 << 20 };
	PfsText rest = { (const char *) text.bytes, (uint32_t) text.length };
	const char *error = NULL;
	PfsText value;
	PfsText key;
	Arena arena;
	int64_t time_us;

	arena_init(&arena, &budget);
	while (query_next(&rest, &arena, &key, &value, &error))
		if (value.length > 0)
			query_time(value, 1, &time_us);
	arena_fini(&arena);
}

static void
try_profile(Span profile)
{
	static const Span names[] = { { (const uint8_t *) "main", 4 },
								  { (const uint8_t *) "work", 4 } };
	Buffer out = { NULL };
	Buffer json = { NULL };

	if (profile_subset(profile, names, 2, NULL, &out) == SUBSET_OK && out.length > profile.length)
		abort();
	json_put_message(&json, profile, &schema_profile);
	buffer_fini(&out);
	buffer_fini(&json);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static void (*const attempts[])(Span) = { try_request, try_json, try_query, try_profile };
	uint8_t *copy; /* memory of exactly that size, for the sanitizer */

	if (length < 2)
		return 0;
	copy = malloc(length - 1);
	if (copy == NULL)
		abort();
	memcpy(copy, bytes + 1, length - 1);
	attempts[bytes[0] % 4]((Span){ copy, length - 1 });
	free(copy);
	return 0;
}
