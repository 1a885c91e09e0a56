/*
 * pyroscope_service.c
 *		Pyroscope's PusherService, Push, and its HTTP endpoint /ingest.
 *
 * Invalid profiles of a Push are rejected alone: the answer is an error once the others are stored,
 * so that the client drops them.
 */
#include <string.h>

#include "pyroscope/ingest.h"
#include "pyroscope/push.h"
#include "receive/pyroscope_steps.h"
#include "receive/services.h"
#include "receive/submit.h"

#define PLAIN "text/plain; charset=utf-8"

static DecodeEnd
push_service_decode(Receiver *receiver, Call *call, const DecodeLimits *limits, Batch *batch,
					Decoded *decoded)
{
	const PyroscopeRequest request = pyroscope_request(receiver, call, limits);
	PyroscopeResult result;
	DecodeEnd end = push_decode(&request, batch, &result);

	pyroscope_take_result(receiver, end, &result, decoded);
	return end == DECODE_OK ? pyroscope_judge_rejected(call, &result) : end;
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
	/* Without an identity, equal bytes may be different profiles. */
	decoded->is_unique = !result.has_identity;
	if (end != DECODE_OK)
		return end;
	if (result.has_identity)
		submit_identify(call, result.identity, sizeof(result.identity));
	call->answer.content = PLAIN;
	return DECODE_OK;
}

/*
 * The body itself shows whether it is gzip, because clients and relays do not always announce it.
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
