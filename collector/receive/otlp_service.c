/*
 * otlp_service.c
 *		OTLP's profiles: Export, over gRPC and HTTP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "otlp/decode.h"
#include "otlp/fields.h"
#include "receive/services.h"
#include "receive/submit.h"

#define NS_PER_US INT64_C(1000)
#define US_PER_MS INT64_C(1000)
#define AHEAD_US  (INT64_C(3600) * 1000000) /* clocks that are wrong by so much are believed */

static void
put_partial_success(Call *call, const OtlpResult *result)
{
	uint8_t partial[1024];
	uint8_t number[10];
	size_t text = result->message != NULL ? strlen(result->message) : 0;
	size_t digits = 0;
	uint64_t rest = result->rejected_profiles;
	Buffer *body = &call->answer.body;
	char json[1024];

	if (rest == 0)
	{
		if (call->content == CONTENT_JSON)
			buffer_put_bytes(body, "{}", 2);
		return;
	}
	if (call->content == CONTENT_JSON)
	{
		/* texts are our own: nothing in them needs an escape */
		int length = snprintf(json, sizeof(json),
							  "{\"partialSuccess\":{\"rejectedProfiles\":\"%llu\","
							  "\"errorMessage\":\"%s\"}}",
							  (unsigned long long) rest, text > 0 ? result->message : "");

		buffer_put_bytes(body, json, (size_t) length);
		return;
	}
	for (; rest >= 0x80; rest >>= 7)
		number[digits++] = (uint8_t) (rest | 0x80);
	number[digits++] = (uint8_t) rest;
	partial[0] = PARTIAL_REJECTED << PFS_WIRE_TAG_SHIFT;
	memcpy(partial + 1, number, digits);
	partial[1 + digits] = PARTIAL_MESSAGE << PFS_WIRE_TAG_SHIFT | PFS_WIRE_BYTES;
	partial[2 + digits] = (uint8_t) text; /* below 128, as all of them */
	memcpy(partial + 3 + digits, result->message, text);
	buffer_put_bytes(body,
					 (char[]){ RESPONSE_PARTIAL_SUCCESS << PFS_WIRE_TAG_SHIFT | PFS_WIRE_BYTES },
					 1);
	buffer_put_bytes(body, (char[]){ (char) (3 + digits + text) }, 1);
	buffer_put_bytes(body, partial, 3 + digits + text);
}

static void
count(Receiver *receiver, const OtlpResult *result)
{
	ReceiveMetrics *metrics = &receiver->metrics;

	metric_add(&metrics->otlp_profiles_total, result->profiles);
	metric_add(&metrics->otlp_profiles_rejected_total, result->rejected_profiles);
	metric_add(&metrics->otlp_attributes_skipped_total, result->skipped_attributes);
	metric_add(&metrics->otlp_payloads_skipped_total, result->original_payloads);
	metric_add(&metrics->samples_total, result->samples);
}

static OtlpEnd
decode(Receiver *receiver, Call *call, Batch *batch, OtlpResult *result)
{
	const BatchLabel tenant = { "tenant", call->tenant };
	int64_t now_us = clock_ns(CLOCK_REALTIME) / NS_PER_US;
	const OtlpRequest request = { .body = { call->body, call->body_length },
								  .rule = &receiver->rule,
								  .fixed = &tenant,
								  .fixed_count = 1,
								  .is_json = call->content == CONTENT_JSON,
								  .keep_times = receiver->options->keep_times,
								  .now_us = now_us,
								  .first_us = now_us - receiver->options->max_age_ms * US_PER_MS,
								  .last_us = now_us + AHEAD_US,
								  .memory = call->memory,
								  .limit = call->limit };

	return otlp_decode(&request, batch, result);
}

/* False with the answer. */
static bool
decode_call(Receiver *receiver, Call *call, Batch *batch, OtlpResult *result)
{
	switch (decode(receiver, call, batch, result))
	{
		case OTLP_OK:
			count(receiver, result);
			put_partial_success(call, result);
			return true;
		case OTLP_INVALID:
			submit_invalid(receiver, call, result->message);
			return false;
		case OTLP_TOO_LARGE:
			submit_no_room(receiver, call, result->message);
			return false;
		case OTLP_NO_MEMORY:
			break;
	}
	submit_no_memory(receiver, call);
	return false;
}

void
otlp_export(Receiver *receiver, Call *call)
{
	OtlpResult result;
	Batch *batch = NULL;

	if (submit_unpack(receiver, call) &&
		(call->content != CONTENT_JSON || submit_read_json(receiver, call, &json_request)))
	{
		batch = submit_batch_for(receiver, call);
		if (batch != NULL && decode_call(receiver, call, batch, &result))
		{
			if (result.profiles > 0 && result.has_ids && result.has_times)
				submit_identify(call, result.fingerprint, sizeof(result.fingerprint));
			submit_batch(receiver, call, batch, result.has_times);
			return;
		}
	}
	batch_free(batch);
	receiver_give_back(receiver, call);
}
