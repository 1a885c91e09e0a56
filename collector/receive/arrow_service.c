/*
 * arrow_service.c
 *		Parca's ProfileStoreService, WriteArrow and Write: records of Arrow's.
 *
 *		WriteArrowRequest				1 ipc_buffer
 *		WriteRequest, WriteResponse		1 record
 *
 * Write is a stream: samples with ids of stacks come, the answer asks for stacks, those come, and
 * the receiver ends the stream when all is stored. No stack is remembered from one stream to the
 * next: ids are the clients' own word for what they stand for. Samples stay packed while their
 * stacks are waited for.
 *
 * A request is stored whole or not at all. Its samples say their times, so it is the same when it
 * is sent again.
 */
#include <stdlib.h>

#include "arrow/decode.h"
#include "base/clock.h"
#include "otlp/json.h"
#include "receive/services.h"
#include "receive/submit.h"

#define RECORD	  1 /* field of the request */
#define NS_PER_US INT64_C(1000)
#define US_PER_MS INT64_C(1000)
#define AHEAD_US  (INT64_C(3600) * 1000000)

/* The record of a message. False with the answer. */
static bool
find_record(Receiver *receiver, Call *call, Span body, Span *record)
{
	Message message = message_of(body);

	*record = (Span){ (const uint8_t *) "", 0 };
	while (message_next(&message))
		if (field_is_message(&message.field, RECORD))
			*record = field_span(&message.field);
	if (message.error != NULL)
		submit_invalid(receiver, call, message.error);
	return message.error == NULL;
}

/* False with the answer. */
static bool
judge(Receiver *receiver, Call *call, ArrowEnd end, const ArrowResult *result)
{
	switch (end)
	{
		case ARROW_OK:
			return true;
		case ARROW_INVALID:
			submit_invalid(receiver, call, "");
			call_fail_with(call, GRPC_INVALID_ARGUMENT, "invalid record: %s", result->message);
			return false;
		case ARROW_TOO_LARGE:
			submit_no_room(receiver, call, result->message);
			return false;
		case ARROW_NO_MEMORY:
			break;
	}
	submit_no_memory(receiver, call);
	return false;
}

static bool
decode(Receiver *receiver, Call *call, Span samples, Span stacks, Batch *batch)
{
	const BatchLabel tenant = { "tenant", call->tenant };
	int64_t now_us = clock_ns(CLOCK_REALTIME) / NS_PER_US;
	const ArrowRequest request = { .samples = samples,
								   .stacks = stacks,
								   .rule = &receiver->rule,
								   .fixed = &tenant,
								   .fixed_count = 1,
								   .keep_times = receiver->options->keep_times,
								   .first_us = now_us - receiver->options->max_age_ms * US_PER_MS,
								   .last_us = now_us + AHEAD_US,
								   .memory = call->memory,
								   .limit = call->limit };
	ArrowResult result;

	if (!judge(receiver, call, arrow_decode(&request, batch, &result), &result))
		return false;
	metric_add(&receiver->metrics.samples_total, result.samples);
	metric_add(&receiver->metrics.arrow_labels_skipped_total, result.skipped_labels);
	return true;
}

/* Stores what the records say, or gives the call back with another answer. */
static void
store(Receiver *receiver, Call *call, Span samples, Span stacks)
{
	Batch *batch = submit_batch_for(receiver, call);

	if (batch != NULL && decode(receiver, call, samples, stacks, batch))
	{
		submit_batch(receiver, call, batch, true);
		return;
	}
	batch_free(batch);
	receiver_give_back(receiver, call);
}

void
parca_write_arrow(Receiver *receiver, Call *call)
{
	Span samples;

	if (submit_unpack(receiver, call) &&
		(call->content != CONTENT_JSON || submit_read_json(receiver, call, &json_write_arrow)) &&
		find_record(receiver, call, (Span){ call->body, call->body_length }, &samples))
	{
		if (call->content == CONTENT_JSON)
			buffer_put_bytes(&call->answer.body, "{}", 2);
		store(receiver, call, samples, (Span){ NULL, 0 });
		return;
	}
	receiver_give_back(receiver, call);
}

/* --- Write --- */

static void
put_record(Buffer *body, const uint8_t *record, size_t length)
{
	char head[1 + 10] = { RECORD << PFS_WIRE_TAG_SHIFT | PFS_WIRE_BYTES };
	size_t bytes = 1;
	size_t rest = length;

	for (; rest >= 0x80; rest >>= 7)
		head[bytes++] = (char) (rest | 0x80);
	head[bytes++] = (char) rest;
	buffer_put_bytes(body, head, bytes);
	buffer_put_bytes(body, (const char *) record, length);
}

/* Asks for the stacks of the first message. */
static void
ask(Receiver *receiver, Call *call)
{
	ArrowResult result;
	uint8_t *wanted = NULL;
	size_t length;
	Span samples;

	if (find_record(receiver, call, (Span){ call->body, call->body_length }, &samples) &&
		judge(receiver, call, arrow_wanted_stacks(samples, call->memory, &wanted, &length, &result),
			  &result))
	{
		if (wanted == NULL)
		{
			store(receiver, call, samples, (Span){ NULL, 0 });
			return;
		}
		put_record(&call->answer.body, wanted, length);
		call->wants_second = !call->answer.body.failed;
		if (call->answer.body.failed)
			call_retry(call, "out of memory", 1);
	}
	free(wanted);
	receiver_give_back(receiver, call);
}

void
parca_write(Receiver *receiver, Call *call)
{
	Span samples;
	Span stacks;

	if (!submit_unpack(receiver, call))
		receiver_give_back(receiver, call);
	else if (call->first == NULL)
		ask(receiver, call);
	else if (find_record(receiver, call, (Span){ call->first, call->first_length }, &samples) &&
			 find_record(receiver, call, (Span){ call->body, call->body_length }, &stacks))
		store(receiver, call, samples, stacks);
	else
		receiver_give_back(receiver, call);
}
