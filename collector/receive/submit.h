/*
 * submit.h
 *		Steps of a worker around decoding: unpacks the body before, and afterwards passes the
 *		batch to the writer and its result to the client.
 */
#ifndef COLLECTOR_RECEIVE_SUBMIT_H
#define COLLECTOR_RECEIVE_SUBMIT_H

#include "batch/batch.h"
#include "decode/limits.h"
#include "otlp/json.h"
#include "receive/receiver.h"

/* Limit of a batch's memory. */
#define SUBMIT_BATCH_BYTES ((size_t) 64 * 1024 * 1024)

/* Results of a decoder beside the batch. */
typedef struct Decoded
{
	char message[256]; /* reason of a refusal */
	/* a repeated request has the same content, so the database can recognize it */
	bool is_same;
	/* clients never repeat the request, so that equal ones are different profiles */
	bool is_unique;
} Decoded;

/*
 * Fills a batch from the call's body, and prepares the answer for success: {} if the call is JSON
 * and the decoder prepares none.
 */
typedef DecodeEnd (*CallDecoder)(Receiver *receiver, Call *call, const DecodeLimits *limits,
								 Batch *batch, Decoded *decoded);

/*
 * Handles a request: unpacks the body, converts JSON to protobuf, decodes it, and gives batch and
 * call to the writer, or answers with an error.
 */
void submit_request(Receiver *receiver, Call *call, const JsonMessage *json, CallDecoder decode);

/* Like submit_request(), for a body that is unpacked already. */
void submit_decoded(Receiver *receiver, Call *call, CallDecoder decode);

/* Unpacks the body in place. Returns false, after answering, if that is impossible. */
bool submit_inflate(Receiver *receiver, Call *call);

/* Like submit_inflate(); the call is identified by its first message. */
bool submit_unpack(Receiver *receiver, Call *call);

/* Prepares the answer for a result of decoding; returns false if the result is not DECODE_OK. */
bool submit_judge(Receiver *receiver, Call *call, DecodeEnd end, const char *message);

/* Sets the identity of the call, by which a repeated request is recognized in any encoding. */
void submit_identify(Call *call, const void *identity, size_t length);

/* Answers that the request is too large for this receiver, in the status code of the protocol. */
void submit_too_large(Receiver *receiver, Call *call, const char *text);

/*
 * Answers a call that found no memory: asks the client to retry if other calls hold the memory;
 * otherwise refuses the request as too large, with this text if a larger --max-memory would help.
 */
void submit_no_room(Receiver *receiver, Call *call, const char *text);

/* Answers that memory is short: that of the call's budget, or the system's. */
void submit_no_memory(Receiver *receiver, Call *call);

#endif
