/*
 * fuzz_write_raw.c
 *		Any bytes as a request of Parca's WriteRaw, in protobuf or JSON: no finding of the
 *		sanitizers, no slow input, and refused requests have a reason.
 *
 * A byte of flags: 1 for JSON. Then the request.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "otlp/json.h"
#include "otlp/write_raw.h"

#define FLAG_JSON 1

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void
try_request(Span body)
{
	const WriteRawRequest request = { .body = body,
									  .tenant = "",
									  .limits.now_us = INT64_C(1767225600000000),
									  .limits.first_us = 0,
									  .limits.last_us = INT64_MAX };
	WriteRawResult result;
	Batch *batch;

	if (batch_create((size_t) 16 * 1024 * 1024, &batch) != 0)
		abort();
	if (write_raw_decode(&request, batch, &result) == DECODE_INVALID && result.message[0] == '\0')
		abort();
	batch_free(batch);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	uint8_t *copy; /* memory of exactly that size, for the sanitizer */
	uint8_t *protobuf;
	const char *error;
	size_t offset;
	size_t protobuf_length;

	if (length < 2)
		return 0;
	copy = malloc(length - 1);
	if (copy == NULL)
		return 0;
	memcpy(copy, bytes + 1, length - 1);
	if ((bytes[0] & FLAG_JSON) == 0)
		try_request((Span){ copy, length - 1 });
	else
	{
		protobuf = json_to_protobuf((Span){ copy, length - 1 }, &json_write_raw, NULL,
									&protobuf_length, &error, &offset);
		if (protobuf != NULL)
			try_request((Span){ protobuf, protobuf_length });
		free(protobuf);
	}
	free(copy);
	return 0;
}
