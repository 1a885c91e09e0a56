/*
 * otlp_decode.h
 *		Decodes a request of OTLP's profiles into a batch.
 *
 * For any input, time is bounded by the request's size, and memory other than the batch's by
 * OTLP_MEMORY_BYTES. An invalid profile is rejected alone and counted; a request that cannot be
 * read at all is refused. Does not use the network.
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
	/*
	 * Labels that replace the client's on all series. An empty value only removes the client's
	 * label.
	 */
	const BatchLabel *fixed;
	size_t fixed_count;
	/*
	 * True: the body was JSON, converted to the layout of 1.10, so the layout need not be
	 * determined.
	 */
	bool is_json;
	/* True: a row for each time of a sample. False: one row for the profile's window. */
	bool keep_times;
	DecodeLimits limits;
} OtlpRequest;

typedef struct OtlpResult
{
	const char *version;		 /* version of the layout: "1.10" */
	uint64_t profiles;			 /* number of profiles in the batch */
	uint64_t rejected_profiles;	 /* number of invalid profiles */
	uint64_t samples;			 /* number of values that were added */
	uint64_t skipped_attributes; /* attributes dropped or cut, as otlp/README.md describes */
	uint64_t original_payloads;	 /* original payloads, which are not kept */
	/* Every profile contains its time, so a repeated request has equal content. */
	bool has_times;
	bool has_ids; /* every profile contains its id, too */
	/* fingerprint of all profiles; valid if has_ids is set and profiles > 0 */
	uint8_t fingerprint[FINGERPRINT_BYTES];
	/*
	 * A literal: the first reason for rejecting a profile, or the reason for refusing the request.
	 */
	const char *message;
} OtlpResult;

/* Returns DECODE_OK, DECODE_INVALID, DECODE_NO_ROOM or DECODE_NO_MEMORY. */
DecodeEnd otlp_decode(const OtlpRequest *request, Batch *batch, OtlpResult *result);

#endif
