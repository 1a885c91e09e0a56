/*
 * arrow_service.c
 *		Parca's ProfileStoreService, WriteArrow and Write: record batches of Arrow.
 *
 * WriteArrowRequest: field 1 ipc_buffer. WriteRequest, WriteResponse: field 1 record.
 *
 * Write is a stream: the client sends samples with ids of stacks, the answer requests stacks, the
 * client sends these, and the receiver ends the stream when everything is stored. Stacks are not
 * remembered from one stream to the next, because each client chooses its own ids. Samples stay
 * packed until their stacks have arrived.
 *
 * A request is stored whole or not at all. Its samples contain their times, so a repeated request
 * has the same content.
 */
#include <stdio.h>
#include <stdlib.h>

#include "arrow/arrow_decode.h"
#include "http_server/protobuf.h"
#include "otlp/json.h"
#include "receive/services.h"
#include "receive/submit.h"

#define RECORD 1 /* number of the request's field */

/*
 * Finds the record of a message. Returns DECODE_OK, or DECODE_INVALID with the reason in decoded.
 */
static DecodeEnd
find_record(Span body, Span *record, Decoded *decoded)
{
	Message message = message_of(body);

	/* Protobuf omits empty fields, so a missing record is an empty one. */
	*record = (Span){ (const uint8_t *) "", 0 };
	/* If a field occurs more than once, the last one counts, as protobuf requires. */
	while (message_next(&message))
		if (field_is_message(&message.field, RECORD))
			*record = field_span(&message.field);
	if (message.error == NULL)
		return DECODE_OK;
	snprintf(decoded->message, sizeof(decoded->message), "%s", message.error);
	return DECODE_INVALID;
}

static DecodeEnd
arrow_service_ends_with(DecodeEnd end, const ArrowResult *result, Decoded *decoded)
{
	if (end != DECODE_OK && result->message != NULL)
		snprintf(decoded->message, sizeof(decoded->message), "invalid record: %s", result->message);
	return end;
}

/* Decodes the body: the record or, in an exchange, the record with the stacks. */
static DecodeEnd
arrow_service_decode(Receiver *receiver, Call *call, const DecodeLimits *limits, Batch *batch,
					 Decoded *decoded)
{
	const BatchLabel tenant = { "tenant", call->tenant };
	const Span body = { call->body, call->body_length };
	const Span first = { call->first, call->first_length };
	ArrowRequest request = { .rule = &receiver->rule,
							 .fixed = &tenant,
							 .fixed_count = 1,
							 .keep_times = receiver->options->keep_times,
							 .limits = *limits };
	ArrowResult result;
	DecodeEnd end;

	/* In an exchange, the first message has the samples and the second one their stacks. */
	end = find_record(call->first != NULL ? first : body, &request.samples, decoded);
	if (end == DECODE_OK && call->first != NULL)
		end = find_record(body, &request.stacks, decoded);
	if (end != DECODE_OK)
		return end;
	end = arrow_decode(&request, batch, &result);
	if (end != DECODE_OK)
		return arrow_service_ends_with(end, &result, decoded);
	metric_add(&receiver->metrics.samples_total, result.samples);
	metric_add(&receiver->metrics.arrow_labels_skipped_total, result.skipped_labels);
	decoded->is_same = true;
	return DECODE_OK;
}

void
parca_write_arrow(Host *host, Call *call)
{
	submit_request(receiver_of(host), call, &json_write_arrow, arrow_service_decode);
}

/* --- Write --- */

/* Requests the stacks of the first message. If it needs none, stores its samples. */
static void
arrow_service_ask(Receiver *receiver, Call *call)
{
	Decoded decoded = { "" };
	ArrowResult result;
	uint8_t *wanted = NULL;
	size_t length;
	Span samples;
	DecodeEnd end = find_record((Span){ call->body, call->body_length }, &samples, &decoded);

	if (end == DECODE_OK)
		end = arrow_service_ends_with(arrow_wanted_stacks(samples, call->memory, &wanted, &length,
														  &result),
									  &result, &decoded);
	if (submit_judge(receiver, call, end, decoded.message))
	{
		/* If the samples name no stacks, the stream ends after its first message. */
		if (wanted == NULL)
		{
			submit_decoded(receiver, call, arrow_service_decode);
			return;
		}
		buffer_put_field(&call->answer.body, RECORD, wanted, length);
		/* If the answer could not be built, the stream must end. */
		call->wants_second = !call->answer.body.failed;
		if (call->answer.body.failed)
			call_retry(call, "out of memory", 1);
	}
	free(wanted);
	host_give_back(&receiver->host, call);
}

void
parca_write(Host *host, Call *call)
{
	Receiver *receiver = receiver_of(host);

	if (!submit_unpack(receiver, call))
		host_give_back(&receiver->host, call);
	else if (call->first == NULL)
		arrow_service_ask(receiver, call);
	else
		submit_decoded(receiver, call, arrow_service_decode);
}
