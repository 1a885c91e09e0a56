/*
 * pyroscope_service.c
 *		Pyroscope's PusherService, Push, and its HTTP endpoint /ingest.
 *
 * Invalid profiles of a Push are rejected alone: the answer is an error once the others are stored,
 * so that the client drops them.
 */
#include <stdio.h>
#include <string.h>

#include "pyroscope/ingest.h"
#include "pyroscope/push.h"
#include "receive/services.h"
#include "receive/submit.h"

#define PLAIN "text/plain; charset=utf-8"

static PyroscopeRequest
pyroscope_request(const Receiver *receiver, const Call *call, const DecodeLimits *limits)
{
	const char *query = call->query != NULL ? call->query : "";

	return (PyroscopeRequest){ .body = { call->body, call->body_length },
							   .query = { query, (uint32_t) strlen(query) },
							   .content_type = call->content_type,
							   .tenant = call->tenant,
							   .scope = call->scope,
							   .sender = call->alloy_id,
							   .rule = &receiver->rule,
							   .keep_times = receiver->options->keep_times,
							   .limits = *limits };
}

static void
pyroscope_count(Receiver *receiver, const PyroscopeResult *result)
{
	ReceiveMetrics *metrics = &receiver->metrics;

	metric_add(&metrics->pyroscope_profiles_total, result->profiles);
	metric_add(&metrics->pyroscope_profiles_rejected_total, result->rejected_profiles);
	metric_add(&metrics->pyroscope_labels_skipped_total, result->skipped_labels);
	metric_add(&metrics->samples_total, result->samples);
}

/* Handles a decoder's result for a whole request; counts the request if it was decoded. */
static void
pyroscope_take_result(Receiver *receiver, DecodeEnd end, const PyroscopeResult *result,
					  Decoded *decoded)
{
	snprintf(decoded->message, sizeof(decoded->message), "%s", result->message);
	decoded->is_same = result->has_times;
	if (end == DECODE_OK)
		pyroscope_count(receiver, result);
}

static DecodeEnd
push_service_decode(Receiver *receiver, Call *call, const DecodeLimits *limits, Batch *batch,
					Decoded *decoded)
{
	const PyroscopeRequest request = pyroscope_request(receiver, call, limits);
	PyroscopeResult result;
	DecodeEnd end = push_decode(&request, batch, &result);

	pyroscope_take_result(receiver, end, &result, decoded);
	if (end != DECODE_OK)
		return end;
	if (result.profiles == 0 && result.rejected_profiles > 0)
		return DECODE_INVALID;
	if (result.rejected_profiles > 0)
		call_fail_with(call, GRPC_INVALID_ARGUMENT,
					   "%llu profiles were rejected, and %llu stored: %s",
					   (unsigned long long) result.rejected_profiles,
					   (unsigned long long) result.profiles, result.message);
	return DECODE_OK;
}

void
pyroscope_push(Host *host, Call *call)
{
	submit_request(receiver_of(host), call, &json_push, push_service_decode);
}

static DecodeEnd
ingest_service_decode(Receiver *receiver, Call *call, const DecodeLimits *limits, Batch *batch,
					  Decoded *decoded)
{
	const PyroscopeRequest request = pyroscope_request(receiver, call, limits);
	PyroscopeResult result;
	DecodeEnd end = ingest_decode(&request, batch, &result);

	pyroscope_take_result(receiver, end, &result, decoded);
	decoded->is_unique = !result.has_identity;
	if (end != DECODE_OK)
		return end;
	if (result.has_identity)
		submit_identify(call, result.identity, sizeof(result.identity));
	call->answer.content = PLAIN;
	return DECODE_OK;
}

/*
 * Clients and relays do not agree on whether they announce gzip, so that the body itself decides.
 */
void
pyroscope_ingest(Host *host, Call *call)
{
	Receiver *receiver = receiver_of(host);
	const bool is_gzip = call->body_length >= 2 && memcmp(call->body, "\x1f\x8b", 2) == 0;

	if (is_gzip)
		call->encoding = ENCODING_GZIP;
	else if (call->encoding == ENCODING_GZIP)
		call->encoding = ENCODING_IDENTITY;
	if (submit_inflate(receiver, call))
		submit_decoded(receiver, call, ingest_service_decode);
	else
		host_give_back(host, call);
}
