/*
 * fuzz_pyroscope.c
 *		Any bytes as a request of Pyroscope's clients: no finding of the sanitizers, no slow input,
 *		and refused requests have a reason.
 *
 * A byte of flags: 1 for /ingest, 2 for the event of Datadog's tracers, otherwise Push. For /ingest
 * a line with the query string, and one with the content type. Then the body.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pyroscope/ingest.h"
#include "pyroscope/push.h"
#include "receive/datadog_event.h"

#define FLAG_INGEST	 1
#define FLAG_DATADOG 2

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Removes a line from the bytes; returns a copy without its end. */
static char *
take_line(const uint8_t **bytes, size_t *length)
{
	const uint8_t *end = memchr(*bytes, '\n', *length);
	const size_t line = end != NULL ? (size_t) (end - *bytes) : *length;
	char *copy = strndup((const char *) *bytes, line);

	*bytes += line + (end != NULL);
	*length -= line + (end != NULL);
	return copy;
}

static void
try_request(PyroscopeRequest *request, bool is_ingest)
{
	static const AttributeRule rule = { "thread_id" };
	PyroscopeResult result;
	DecodeEnd end;
	Batch *batch;

	request->tenant = "";
	request->scope = "";
	request->sender = "1";
	request->rule = &rule;
	request->limits = (DecodeLimits){ .now_us = INT64_C(1767225600000000), .last_us = INT64_MAX };
	if (batch_create((size_t) 16 * 1024 * 1024, &batch) != 0)
		abort();
	end = is_ingest ? ingest_decode(request, batch, &result) : push_decode(request, batch, &result);
	if ((end == DECODE_INVALID || result.rejected_profiles > 0) && result.message[0] == '\0')
		abort();
	batch_free(batch);
}

static void
try_event(Span json)
{
	static const AttributeRule rule = { "thread_id" };
	const PfsAllocator allocator = { share_realloc, NULL };
	Budget budget = { .limit_bytes = 1 << 20 };
	DatadogEvent event = { .has_start = false };
	Arena arena;

	arena_init(&arena, &budget);
	datadog_event_read(&event, json, &arena, &rule, "", "", allocator);
	arena_fini(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	PyroscopeRequest request = { .content_type = "" };
	const bool is_ingest = length > 0 && (bytes[0] & FLAG_INGEST) != 0;
	const bool is_event = length > 0 && !is_ingest && (bytes[0] & FLAG_DATADOG) != 0;
	char *query = NULL;
	char *type = NULL;
	uint8_t *copy; /* memory of exactly that size, for the sanitizer */

	if (length < 2)
		return 0;
	bytes++;
	length--;
	if (is_ingest)
	{
		query = take_line(&bytes, &length);
		type = take_line(&bytes, &length);
		if (query == NULL || type == NULL)
			abort();
		request.query = (PfsText){ query, (uint32_t) strlen(query) };
		request.content_type = type;
	}
	copy = malloc(length + (length == 0));
	if (copy == NULL)
		abort();
	memcpy(copy, bytes, length);
	request.body = (Span){ copy, length };
	if (is_event)
		try_event(request.body);
	else
		try_request(&request, is_ingest);
	free(copy);
	free(query);
	free(type);
	return 0;
}
