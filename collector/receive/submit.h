/*
 * submit.h
 *		The steps of a worker before and after decoding: unpacks the body; then passes the batch to
 *		the writer, and the result to the client.
 */
#ifndef COLLECTOR_RECEIVE_SUBMIT_H
#define COLLECTOR_RECEIVE_SUBMIT_H

#include "batch/batch.h"
#include "decode/limits.h"
#include "otlp/json.h"
#include "receive/receiver.h"

/* Limit of a batch's memory. */
#define SUBMIT_BATCH_BYTES ((size_t) 64 * 1024 * 1024)

/* Results of a decoder, apart from the batch. */
typedef struct Decoded
{
	char message[256]; /* reason of a refusal */
	/* A repeated request has equal content, so the database can recognize it. */
	bool is_same;
	/* Clients never repeat the request, so equal requests are different profiles. */
	bool is_unique;
} Decoded;

/*
 * Fills a batch from the call's body, and prepares the answer for success. If it prepares none and
 * the call is JSON, the answer is {}.
 */
typedef DecodeEnd (*CallDecoder)(Receiver *receiver, Call *call, const DecodeLimits *limits,
								 Batch *batch, Decoded *decoded);

/*
 * Handles a request: unpacks the body, converts JSON to protobuf, decodes it, and gives batch and
 * call to the writer. On an error answers the call.
 */
void submit_request(Receiver *receiver, Call *call, const JsonMessage *json, CallDecoder decode);

/* Like submit_request(), for a body that is unpacked already. */
void submit_decoded(Receiver *receiver, Call *call, CallDecoder decode);

/* Unpacks the body in place. Returns false, after answering, if that is impossible. */
bool submit_inflate(Receiver *receiver, Call *call);

/* Like submit_inflate(), but also sets the call's identity from its first message. */
bool submit_unpack(Receiver *receiver, Call *call);

/* Prepares the answer for a result of decoding. Returns false if the result is not DECODE_OK. */
bool submit_judge(Receiver *receiver, Call *call, DecodeEnd end, const char *message);

/* Sets the identity of the call, by which a repeated request is recognized in any encoding. */
void submit_identify(Call *call, const void *identity, size_t length);

/* Answers that the request is too large for this receiver, in the status code of the protocol. */
void submit_too_large(Receiver *receiver, Call *call, const char *text);

/*
 * Answers a call for which there was no memory. If other calls hold the memory, asks the client to
 * retry; otherwise refuses the request as too large, with the given text if a larger --max-memory
 * would help.
 */
void submit_no_room(Receiver *receiver, Call *call, const char *text);

/* Answers that memory is short: either the call's budget or the system's. */
void submit_no_memory(Receiver *receiver, Call *call);

#endif
