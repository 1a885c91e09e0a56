/*
 * decode.h
 *		A request of OTLP's profiles into a batch.
 *
 * Bounded in time by the request's size, in memory by OTLP_MEMORY_BYTES beside the batch, whatever
 * the bytes are. A profile at fault is rejected alone and counted; a request of which nothing can
 * be read is refused whole. Knows no network.
 */
#ifndef COLLECTOR_OTLP_DECODE_H
#define COLLECTOR_OTLP_DECODE_H

#include "batch/batch.h"
#include "decode/limits.h"
#include "otlp/fingerprint.h"
#include "otlp/labels.h"
#include "otlp/message.h"

#define OTLP_MEMORY_BYTES ((size_t) 256 * 1024 * 1024)

typedef struct OtlpRequest
{
	Span body;				   /* protobuf, unpacked */
	const AttributeRule *rule; /* which attributes become labels */
	const BatchLabel *fixed;   /* of all series, in place of what the client says; value "": none */
	size_t fixed_count;
	bool is_json;	 /* was: names have told what is what, in the layout of 1.10 */
	bool keep_times; /* a row for each time of a sample, else one for the profile's window */
	DecodeLimits limits;
} OtlpRequest;

typedef struct OtlpResult
{
	const char *version;		 /* of the layout, "1.10" */
	uint64_t profiles;			 /* that are in the batch */
	uint64_t rejected_profiles;	 /* that are not */
	uint64_t samples;			 /* values that were added up */
	uint64_t skipped_attributes; /* of which not all is kept, as otlp/README.md says */
	uint64_t original_payloads;	 /* beside samples: not kept */
	bool has_times;				 /* every profile says its time: sent again, it is the same */
	bool has_ids;				 /* and its id */
	uint8_t fingerprint[FINGERPRINT_BYTES]; /* of all profiles, if has_ids and profiles > 0 */
	const char *message; /* static: why the first was rejected, or the request refused */
} OtlpResult;

/* Ends with DECODE_OK, DECODE_INVALID, DECODE_NO_ROOM or DECODE_NO_MEMORY. */
DecodeEnd otlp_decode(const OtlpRequest *request, Batch *batch, OtlpResult *result);

#endif
