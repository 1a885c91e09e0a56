/*
 * otlp_service.c
 *		OTLP's profiles: Export, over gRPC and HTTP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_server/protobuf.h"
#include "otlp/fields.h"
#include "otlp/otlp_decode.h"
#include "receive/services.h"
#include "receive/submit.h"

/* Writes the number of rejected profiles, and the reason of the first, into the answer. */
static void
put_partial_success(Call *call, const OtlpResult *result)
{
	const char *message = result->message != NULL ? result->message : "";
	Buffer *body = &call->answer.body;
	Buffer partial = { NULL };
	char json[1024];

	/* In OTLP, an answer without partial_success means that everything was accepted. */
	if (result->rejected_profiles == 0)
		return;
	if (call->content == CONTENT_JSON)
	{
		/* all texts are our own constants, none of which needs escaping */
		int length = snprintf(json, sizeof(json),
							  "{\"partialSuccess\":{\"rejectedProfiles\":\"%llu\","
							  "\"errorMessage\":\"%s\"}}",
							  (unsigned long long) result->rejected_profiles, message);

		buffer_put_bytes(body, json, (size_t) length);
		return;
	}
	buffer_put_number(&partial, PARTIAL_REJECTED, result->rejected_profiles);
	buffer_put_field(&partial, PARTIAL_MESSAGE, message, strlen(message));
	buffer_put_field(body, RESPONSE_PARTIAL_SUCCESS, partial.bytes, partial.length);
	body->failed |= partial.failed;
	buffer_fini(&partial);
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

/*
 * Decodes OTLP's body. The request is identified by its fingerprint if all profiles have an id and
 * a time, otherwise by its bytes.
 */
static DecodeEnd
otlp_service_decode(Receiver *receiver, Call *call, const DecodeLimits *limits, Batch *batch,
					Decoded *decoded)
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
	/* The fingerprint does not change if the client packs the same profiles in another way. */
	if (result.profiles > 0 && result.has_ids && result.has_times)
		submit_identify(call, result.fingerprint, sizeof(result.fingerprint));
	decoded->is_same = result.has_times;
	return DECODE_OK;
}

void
otlp_export(Host *host, Call *call)
{
	submit_request(receiver_of(host), call, &json_request, otlp_service_decode);
}
