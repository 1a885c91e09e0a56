/*
 * parca_service.c
 *		Parca's ProfileStoreService, WriteRaw; and debug information, which is declined.
 *
 * A request is stored whole or not at all.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "otlp/write_raw.h"
#include "receive/services.h"
#include "receive/submit.h"

#define NS_PER_US  INT64_C(1000)
#define US_PER_MS  INT64_C(1000)
#define AHEAD_US   (INT64_C(3600) * 1000000)
#define NOT_WANTED "debug information is not collected here"

/* False with the answer. */
static bool
decode(Receiver *receiver, Call *call, Batch *batch, WriteRawResult *result)
{
	int64_t now_us = clock_ns(CLOCK_REALTIME) / NS_PER_US;
	const WriteRawRequest request = { .body = { call->body, call->body_length },
									  .tenant = call->tenant,
									  .now_us = now_us,
									  .first_us =
										  now_us - receiver->options->max_age_ms * US_PER_MS,
									  .last_us = now_us + AHEAD_US,
									  .memory = call->memory,
									  .limit = call->limit };

	switch (write_raw_decode(&request, batch, result))
	{
		case WRITE_RAW_OK:
			metric_add(&receiver->metrics.samples_total, result->samples);
			return true;
		case WRITE_RAW_INVALID:
			submit_invalid(receiver, call, "");
			call_fail_with(call, GRPC_INVALID_ARGUMENT, "%s", result->message);
			return false;
		case WRITE_RAW_TOO_LARGE:
			submit_no_room(receiver, call,
						   "the request is larger than what is held in memory at once");
			return false;
		case WRITE_RAW_NO_MEMORY:
			break;
	}
	submit_no_memory(receiver, call);
	return false;
}

void
parca_write_raw(Receiver *receiver, Call *call)
{
	WriteRawResult result;
	Batch *batch = NULL;

	if (submit_unpack(receiver, call) &&
		(call->content != CONTENT_JSON || submit_read_json(receiver, call, &json_write_raw)))
	{
		batch = submit_batch_for(receiver, call);
		if (batch != NULL && decode(receiver, call, batch, &result))
		{
			if (call->content == CONTENT_JSON)
				buffer_put_bytes(&call->answer.body, "{}", 2);
			submit_batch(receiver, call, batch, result.has_times);
			return;
		}
	}
	batch_free(batch);
	receiver_give_back(receiver, call);
}

/* should_initiate_upload is false by being absent; agents do not ask for this file again. */
void
parca_decline_upload(Receiver *receiver, Call *call)
{
	static const char reason[] = NOT_WANTED;
	char head[2] = { 2 << PFS_WIRE_TAG_SHIFT | PFS_WIRE_BYTES, sizeof(reason) - 1 };

	buffer_put_bytes(&call->answer.body, head, sizeof(head));
	buffer_put_bytes(&call->answer.body, reason, sizeof(reason) - 1);
}
