/*
 * fuzz_otlp.c
 *		Any bytes as a request of OTLP profiles: no finding of the sanitizers, no slow input, and
 *		the counts equal the content.
 *
 * A byte of flags: 1 for JSON, 2 for a row for each time. Then the request.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "otlp/json.h"
#include "otlp/otlp_decode.h"

#define FLAG_JSON  1
#define FLAG_TIMES 2

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void
try_request(Span body, bool is_json, bool keep_times)
{
	static const AttributeRule rule = { LABELS_DROPPED_DEFAULT };
	const BatchLabel tenant = { "tenant", keep_times ? "north" : "" };
	const OtlpRequest request = { .body = body,
								  .rule = &rule,
								  .fixed = &tenant,
								  .fixed_count = 1,
								  .is_json = is_json,
								  .keep_times = keep_times,
								  .limits.now_us = INT64_C(1767225600000000),
								  .limits.first_us = 0,
								  .limits.last_us = INT64_MAX };
	const BatchSample *samples;
	OtlpResult result;
	Batch *batch;
	DecodeEnd end;

	if (batch_create((size_t) 16 * 1024 * 1024, &batch) != 0)
		abort();
	end = otlp_decode(&request, batch, &result);

	/* a profile without samples is one row, too */
	if ((end != DECODE_OK && end != DECODE_NO_MEMORY && result.message == NULL) ||
		(end == DECODE_OK && batch_samples(batch, &samples) > result.samples + result.profiles))
		abort();
	batch_free(batch);
}

static void
try_json(Span text, bool keep_times)
{
	const char *error;
	size_t length;
	size_t offset;
	uint8_t *protobuf = json_to_protobuf(text, &json_request, NULL, &length, &error, &offset);

	if (protobuf == NULL)
		return;
	if (length > JSON_GROWTH * text.length)
		abort();
	try_request((Span){ protobuf, length }, true, keep_times);
	free(protobuf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	uint8_t *copy; /* memory of exactly that size, for the sanitizer */
	Span body;

	if (length < 2)
		return 0;
	copy = malloc(length - 1);
	if (copy == NULL)
		return 0;
	memcpy(copy, bytes + 1, length - 1);
	body = (Span){ copy, length - 1 };
	if ((bytes[0] & FLAG_JSON) != 0)
		try_json(body, (bytes[0] & FLAG_TIMES) != 0);
	else
		try_request(body, false, (bytes[0] & FLAG_TIMES) != 0);
	free(copy);
	return 0;
}
