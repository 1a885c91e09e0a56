/*
 * submit.h
 *		A worker's steps around decoding: unpacking the body before, and the way of the batch to the
 *		writer and of its end to the client after.
 */
#ifndef COLLECTOR_RECEIVE_SUBMIT_H
#define COLLECTOR_RECEIVE_SUBMIT_H

#include "batch/batch.h"
#include "otlp/json.h"
#include "receive/receiver.h"

/* What a batch may hold. */
#define SUBMIT_BATCH_BYTES ((size_t) 64 * 1024 * 1024)

/*
 * Replaces the body by what it says. False, with the answer, where it cannot be unpacked. What the
 * call says is known by its first message.
 */
bool submit_unpack(Receiver *receiver, Call *call);

/* Replaces a body of JSON by its protobuf. False, with the answer, where it is none. */
bool submit_read_json(Receiver *receiver, Call *call, const JsonMessage *message);

/* The call says what its identity says, in whatever bytes it was said. */
void submit_identify(Call *call, const void *identity, size_t length);

/* Too large for us: in the words of the protocol. */
void submit_too_large(Receiver *receiver, Call *call, const char *text);
void submit_invalid(Receiver *receiver, Call *call, const char *text);

/*
 * Memory is out: the client comes again where others have it, else the request is too large, in
 * these words where --max-memory would do.
 */
void submit_no_room(Receiver *receiver, Call *call, const char *text);

/* The same where it may be the system's memory. */
void submit_no_memory(Receiver *receiver, Call *call);

/* An empty batch, charged to the call's memory; NULL with the answer. */
Batch *submit_batch_for(Receiver *receiver, Call *call);

/*
 * Gives the call to the writer with what it says, or back at once. The answer that is there is for
 * the case that all goes well. is_same: sent once more it is the same, so that the database can
 * know.
 */
void submit_batch(Receiver *receiver, Call *call, Batch *batch, bool is_same);

#endif
