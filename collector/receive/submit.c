/*
 * submit.c
 *		Passes a request from its body to the writer, and the answer back.
 */
#include "receive/submit.h"

#include <errno.h>
#include <openssl/sha.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "http_server/json_body.h"
#include "receive/inflate.h"
#include "receive/services.h"

/* clocks of clients may be ahead by at most this */
#define AHEAD_US	  (INT64_C(3600) * 1000000)
#define RETRY_S		  1
#define BEYOND_MEMORY "the request needs more than --max-memory"

/* Counts a failed call, unless its client has disconnected, which is counted as cancelled. */
static void
count_failed(Call *call, atomic_uint_fast64_t *metric)
{
	if (!atomic_load(&call->is_unwanted))
		metric_add(metric, 1);
}

static void
refuse_invalid(Receiver *receiver, Call *call, const char *text)
{
	count_failed(call, &receiver->host.metrics.requests_invalid_total);
	call_fail_with(call, GRPC_INVALID_ARGUMENT, "%s", text);
}

/*
 * Refuses a request as invalid. Parca's agents retry RESOURCE_EXHAUSTED, which would never help a
 * request that is too large.
 */
static void
refuse_too_large(Call *call, const char *text)
{
	bool is_retried = call->service->retries_exhausted;

	call_fail(call, is_retried ? GRPC_INVALID_ARGUMENT : GRPC_RESOURCE_EXHAUSTED, text);
	call->answer.http_status = 413;
}

void
submit_too_large(Receiver *receiver, Call *call, const char *text)
{
	metric_add(&receiver->host.metrics.requests_too_large_total, 1);
	refuse_too_large(call, text);
}

static void
unavailable(Receiver *receiver, Call *call, const char *text)
{
	count_failed(call, &receiver->host.metrics.requests_unavailable_total);
	call_retry(call, text, RETRY_S);
}

void
submit_no_room(Receiver *receiver, Call *call, const char *text)
{
	/*
	 * If other requests use the memory, a repetition may succeed; otherwise this request is too
	 * large by itself.
	 */
	if (!call->memory->is_crowded)
	{
		submit_too_large(receiver, call, call->memory->is_beyond ? BEYOND_MEMORY : text);
		return;
	}
	metric_add(&receiver->host.metrics.requests_throttled_total, 1);
	call_retry(call, TOO_MUCH_UNDER_WAY, RETRY_S);
	call->answer.http_status = 429;
}

void
submit_no_memory(Receiver *receiver, Call *call)
{
	if (call->memory->is_crowded || call->memory->is_beyond)
		submit_no_room(receiver, call, BEYOND_MEMORY);
	else
		unavailable(receiver, call, "out of memory");
}

/* Returns an empty batch, charged to the call's memory; NULL after answering the call. */
static Batch *
batch_for(Receiver *receiver, Call *call)
{
	Batch *batch;

	if (batch_create(SUBMIT_BATCH_BYTES, &batch) == 0)
	{
		if (batch_charge_to(batch, call->memory) == 0)
			return batch;
		batch_free(batch);
	}
	submit_no_memory(receiver, call);
	return NULL;
}

/*
 * The digest includes the tenant, so that a client cannot pass off another tenant's stored request
 * as its own.
 */
void
submit_identify(Call *call, const void *identity, size_t length)
{
	unsigned char body[SHA256_DIGEST_LENGTH];
	unsigned char both[SHA256_DIGEST_LENGTH + IDENTITY_TENANT_MAX];
	size_t tenant = strlen(call->tenant);

	/*
	 * A digest has a fixed length, so the tenant begins at a fixed offset and no two pairs are
	 * equal by concatenation.
	 */
	SHA256(identity, length, body);
	memcpy(both, body, sizeof(body));
	memcpy(both + sizeof(body), call->tenant, tenant);
	SHA256(both, sizeof(body) + tenant, call->digest);
	call->has_digest = true;
}

bool
submit_inflate(Receiver *receiver, Call *call)
{
	switch (inflate_call(call, receiver->options->host.max_message))
	{
		case INFLATE_OK:
			return true;
		case INFLATE_TOO_LARGE:
			submit_too_large(receiver, call, "the unpacked request is larger than --max-message");
			return false;
		case INFLATE_NO_MEMORY:
			submit_no_memory(receiver, call);
			return false;
		case INFLATE_MALFORMED:
			break;
	}
	refuse_invalid(receiver, call, "the request cannot be unpacked");
	return false;
}

bool
submit_unpack(Receiver *receiver, Call *call)
{
	if (!submit_inflate(receiver, call))
		return false;
	/* In an exchange, the first message identifies the request. */
	if (!call->has_digest)
		submit_identify(call, call->body, call->body_length);
	return true;
}

/* Replaces a JSON body by its protobuf. Returns false, after answering, if it is invalid. */
static bool
read_json(Receiver *receiver, Call *call, const JsonMessage *message)
{
	const JsonBodyEnd end = json_body_read(call, message);

	if (end == JSON_BODY_NO_MEMORY)
		submit_no_memory(receiver, call);
	else if (end == JSON_BODY_INVALID)
		metric_add(&receiver->host.metrics.requests_invalid_total, 1);
	return end == JSON_BODY_READ;
}

/* Reports the result of a request to the table of repeats in which is_first() has registered it. */
static void
submit_end_repeat(Receiver *receiver, const Call *call, bool is_stored)
{
	if (call->has_digest)
		repeats_end(&receiver->repeats, call->digest, is_stored);
}

/*
 * Called by the writer's thread when the batch was stored or has failed: completes the answer, and
 * returns the call to the loop.
 */
static void
submit_on_batch_end(Call *call, const BatchResult *result)
{
	Receiver *receiver = receiver_of(call->host);

	/* The table must have the result before the client can repeat the request. */
	submit_end_repeat(receiver, call, batch_is_safe(result->end));
	call->is_stored = batch_is_safe(result->end);
	if (call->is_stored)
		metric_add(&receiver->metrics.requests_stored_total, 1);
	else if (result->end == BATCH_REFUSED)
	{
		call_fail_with(call, GRPC_INVALID_ARGUMENT, "the database refused the request: %s",
					   result->why != NULL ? result->why->detail : "no reason given");
		count_failed(call, &receiver->host.metrics.requests_invalid_total);
	}
	else
		unavailable(receiver, call,
					result->end == BATCH_PUSHED_OUT ? "too many requests wait for the database"
													: "the receiver is stopping");
	host_give_back(&receiver->host, call);
}

/* Gives batch and call to the store line. Returns like store_line_put(). */
static int
to_writer(Receiver *receiver, Call *call, Batch *batch)
{
	/* from here on only the batch is needed, so free the body */
	call_drop_body(call);
	/* From here on --queue-size limits the batch, not --max-memory. */
	batch_charge_to(batch, NULL);
	return store_line_put(&receiver->line, call, batch, submit_on_batch_end);
}

static void
not_submitted(Receiver *receiver, Call *call, int err)
{
	/* Otherwise a repeated request would be refused as pending forever. */
	submit_end_repeat(receiver, call, false);
	if (err == -EMSGSIZE)
		submit_too_large(receiver, call, "the request is larger than --queue-size");
	else if (err == -EAGAIN)
		unavailable(receiver, call, "too many requests wait for the database");
	else
		unavailable(receiver, call, err == -EPIPE ? "the receiver is stopping" : "out of memory");
}

/*
 * Returns true for a request that is neither stored nor pending; otherwise sets the answer and
 * returns false.
 */
static bool
is_first(Receiver *receiver, Call *call)
{
	if (!call->has_digest)
		return true;
	switch (repeats_begin(&receiver->repeats, call->digest, clock_ns(CLOCK_MONOTONIC)))
	{
		case REPEAT_NEW:
			return true;
		case REPEAT_STORED:
			call->is_stored = true;
			metric_add(&receiver->metrics.requests_repeated_total, 1);
			return false;
		case REPEAT_PENDING:
			unavailable(receiver, call, "the same request is being stored");
			return false;
		case REPEAT_NO_MEMORY:
			break;
	}
	unavailable(receiver, call, "out of memory");
	return false;
}

/*
 * Returns true if the client may add the series of the batch; otherwise answers and returns false.
 */
static bool
may_bring(Receiver *receiver, Call *call, const Batch *batch)
{
	const char *client = client_name(call->client);

	if (series_limit_take(&receiver->series, client, batch,
						  (size_t) receiver->options->client_series, clock_ns(CLOCK_MONOTONIC)))
		return true;
	metric_add(&receiver->metrics.requests_beyond_series_total, 1);
	log_event(LOG_WARNING, "receive", "refused a request of a client with too many series",
			  log_text("client", client),
			  log_number("client_series", receiver->options->client_series));
	refuse_too_large(call, "the client has more series than --client-series allows in an hour");
	return false;
}

/*
 * Gives the call and its batch to the writer, or answers it at once. The answer prepared in the
 * call is used if the batch is stored.
 */
static void
give_batch(Receiver *receiver, Call *call, Batch *batch, const Decoded *decoded)
{
	const BatchSample *samples;
	int err = 0;

	/* Without an identity, equal requests may be different ones. */
	call->has_digest &= !decoded->is_unique;
	if (!may_bring(receiver, call, batch))
		; /* the answer is set */
	else if (batch_samples(batch, &samples) == 0)
		metric_add(&receiver->metrics.requests_stored_total, 1);
	else if (is_first(receiver, call))
	{
		/* The receipt lets the database recognize a repetition after a restart of the receiver. */
		if (decoded->is_same && call->has_digest)
			err = batch_add_receipt(batch, call->digest);
		if (err == 0)
			err = to_writer(receiver, call, batch);
		if (err == 0)
			return;
		not_submitted(receiver, call, err);
	}
	batch_free(batch);
	host_give_back(&receiver->host, call);
}

bool
submit_judge(Receiver *receiver, Call *call, DecodeEnd end, const char *message)
{
	switch (end)
	{
		case DECODE_OK:
			return true;
		case DECODE_INVALID:
		case DECODE_TIME:
		case DECODE_SERVER:
			refuse_invalid(receiver, call, message);
			return false;
		case DECODE_NO_ROOM:
			submit_no_room(receiver, call, DECODE_TOO_LARGE);
			return false;
		case DECODE_NO_MEMORY:
			break;
	}
	submit_no_memory(receiver, call);
	return false;
}

void
submit_decoded(Receiver *receiver, Call *call, CallDecoder decode)
{
	int64_t now_us = clock_ns(CLOCK_REALTIME) / NS_PER_US;
	const DecodeLimits limits = { .now_us = now_us,
								  .first_us = now_us - receiver->options->max_age_ms * US_PER_MS,
								  .last_us = now_us + AHEAD_US,
								  .memory = call->memory,
								  .limit = call->limit };
	Batch *batch = batch_for(receiver, call);
	Decoded decoded = { "" };

	if (batch != NULL &&
		submit_judge(receiver, call, decode(receiver, call, &limits, batch, &decoded),
					 decoded.message))
	{
		/* In JSON an empty message is "{}". */
		if (call->content == CONTENT_JSON && call->answer.body.length == 0)
			buffer_put_bytes(&call->answer.body, "{}", 2);
		give_batch(receiver, call, batch, &decoded);
		return;
	}
	batch_free(batch);
	host_give_back(&receiver->host, call);
}

void
submit_request(Receiver *receiver, Call *call, const JsonMessage *json, CallDecoder decode)
{
	if (submit_unpack(receiver, call) &&
		(call->content != CONTENT_JSON || read_json(receiver, call, json)))
		submit_decoded(receiver, call, decode);
	else
		host_give_back(&receiver->host, call);
}
