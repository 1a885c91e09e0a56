/*
 * request.h
 *		Input and result of decoding.
 */
#ifndef COLLECTOR_ARROW_REQUEST_H
#define COLLECTOR_ARROW_REQUEST_H

#include "arrow/work.h"
#include "otlp/labels.h"

#define ARROW_WINDOW_US 10000000 /* deltas within this time are added up and stored at one time */

typedef struct ArrowRequest
{
	Span samples;			   /* a stream of Arrow's IPC format */
	Span stacks;			   /* a stream with the stacks of the first version; empty: none */
	const AttributeRule *rule; /* selects the labels to drop */
	const BatchLabel *fixed;   /* labels that the receiver sets on all series, as in OtlpRequest */
	size_t fixed_count;
	bool keep_times;	 /* store each sample at its own time */
	DecodeLimits limits; /* now_us is not used, because every sample has a time */
} ArrowRequest;

typedef struct ArrowResult
{
	uint64_t samples;		 /* rows added to the batch */
	uint64_t skipped_labels; /* too many labels, or too long ones */
	const char *message;	 /* a literal: why the request was refused */
} ArrowResult;

#endif
