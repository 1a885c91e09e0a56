/*
 * submit.h
 *		A worker's steps around decoding: unpacking the body before, and the way of the batch to the
 *		writer and of its end to the client after.
 */
#ifndef COLLECTOR_RECEIVE_SUBMIT_H
#define COLLECTOR_RECEIVE_SUBMIT_H

#include "batch/batch.h"
#include "decode/limits.h"
#include "otlp/json.h"
#include "receive/receiver.h"

/* What a batch may hold. */
#define SUBMIT_BATCH_BYTES ((size_t) 64 * 1024 * 1024)

/* What a decoder found out about a request. */
typedef struct Decoded
{
	char message[256]; /* why it was refused */
	bool is_same;	   /* sent once more it says the same, so that the database can know it */
} Decoded;

/*
 * Fills a batch with what the call's body says, and the answer for the case that all is stored: {}
 * if it is JSON and the decoder puts nothing into it.
 */
typedef DecodeEnd (*CallDecoder)(Receiver *receiver, Call *call, const DecodeLimits *limits,
								 Batch *batch, Decoded *decoded);

/*
 * The whole work of a service: unpacks the body, turns JSON into protobuf, decodes it, and gives
 * the call to the writer with what it says, or back with another answer.
 */
void submit_request(Receiver *receiver, Call *call, const JsonMessage *json, CallDecoder decode);

/* Like submit_request() with a body that is unpacked already. */
void submit_decoded(Receiver *receiver, Call *call, CallDecoder decode);

/*
 * Replaces the body by what it says. False, with the answer, where it cannot be unpacked. What the
 * call says is known by its first message.
 */
bool submit_unpack(Receiver *receiver, Call *call);

/* Sets the answer to an end of decoding; false if it is not DECODE_OK. */
bool submit_judge(Receiver *receiver, Call *call, DecodeEnd end, const char *message);

/* The call says what its identity says, in whatever bytes it was said. */
void submit_identify(Call *call, const void *identity, size_t length);

/* Too large for us: in the words of the protocol. */
void submit_too_large(Receiver *receiver, Call *call, const char *text);

/*
 * Memory is out: the client comes again where others have it, else the request is too large, in
 * these words where --max-memory would do.
 */
void submit_no_room(Receiver *receiver, Call *call, const char *text);

/* Answers that memory is short: that of the call's budget, otherwise that of the system. */
void submit_no_memory(Receiver *receiver, Call *call);

#endif
