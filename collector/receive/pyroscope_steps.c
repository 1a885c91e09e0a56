/*
 * pyroscope_steps.c
 *		Connects the calls of services with the decoders of pyroscope/.
 */
#include "receive/pyroscope_steps.h"

#include <stdio.h>
#include <string.h>

PyroscopeRequest
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

void
pyroscope_take_result(Receiver *receiver, DecodeEnd end, const PyroscopeResult *result,
					  Decoded *decoded)
{
	snprintf(decoded->message, sizeof(decoded->message), "%s", result->message);
	decoded->is_same = result->has_times;
	if (end == DECODE_OK)
		pyroscope_count(receiver, result);
}

DecodeEnd
pyroscope_judge_rejected(Call *call, const PyroscopeResult *result)
{
	if (result->rejected_profiles == 0)
		return DECODE_OK;
	if (result->profiles == 0)
		return DECODE_INVALID;
	/*
	 * The client receives this error after the valid profiles are stored, and must not repeat them.
	 */
	call_fail_with(call, GRPC_INVALID_ARGUMENT, "%llu profiles were rejected, and %llu stored: %s",
				   (unsigned long long) result->rejected_profiles,
				   (unsigned long long) result->profiles, result->message);
	return DECODE_OK;
}
