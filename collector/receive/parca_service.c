/*
 * parca_service.c
 *		Parca's ProfileStoreService, WriteRaw.
 *
 * A request is stored whole or not at all.
 */
#include <stdio.h>

#include "otlp/write_raw.h"
#include "receive/services.h"
#include "receive/submit.h"

static DecodeEnd
parca_service_decode(Receiver *receiver, Call *call, const DecodeLimits *limits, Batch *batch,
					 Decoded *decoded)
{
	const WriteRawRequest request = { .body = { call->body, call->body_length },
									  .tenant = call->tenant,
									  .limits = *limits };
	WriteRawResult result;
	DecodeEnd end = write_raw_decode(&request, batch, &result);

	if (end == DECODE_OK)
		metric_add(&receiver->metrics.samples_total, result.samples);
	else
		snprintf(decoded->message, sizeof(decoded->message), "%s", result.message);
	decoded->is_same = result.has_times;
	return end;
}

void
parca_write_raw(Host *host, Call *call)
{
	submit_request(receiver_of(host), call, &json_write_raw, parca_service_decode);
}
