/*
 * otlp_service.c
 *		OTLP's profiles: Export, over gRPC and HTTP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otlp/decode.h"
#include "otlp/fields.h"
#include "receive/services.h"
#include "receive/submit.h"

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
		return;
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

static DecodeEnd
decode(Receiver *receiver, Call *call, const DecodeLimits *limits, Batch *batch, Decoded *decoded)
{
	const BatchLabel tenant = { "tenant", call->tenant };
	const OtlpRequest request = { .body = { call->body, call->body_length },
								  .rule = &receiver->rule,
								  .fixed = &tenant,
								  .fixed_count = 1,
								  .is_json = call->content == CONTENT_JSON,
								  .keep_times = receiver->options->keep_times,
								  .limits = *limits };
	OtlpResult result;
	DecodeEnd end = otlp_decode(&request, batch, &result);

	if (end != DECODE_OK)
	{
		snprintf(decoded->message, sizeof(decoded->message), "%s",
				 result.message != NULL ? result.message : "");
		return end;
	}
	count(receiver, &result);
	put_partial_success(call, &result);
	if (result.profiles > 0 && result.has_ids && result.has_times)
		submit_identify(call, result.fingerprint, sizeof(result.fingerprint));
	decoded->is_same = result.has_times;
	return DECODE_OK;
}

void
otlp_export(Host *host, Call *call)
{
	submit_request(receiver_of(host), call, &json_request, decode);
}
