/*
 * request.h
 *		What is to be decoded, and what came of it.
 */
#ifndef COLLECTOR_ARROW_REQUEST_H
#define COLLECTOR_ARROW_REQUEST_H

#include "arrow/work.h"
#include "otlp/labels.h"

#define ARROW_WINDOW_US 10000000 /* what adds up within it has one time */

typedef struct ArrowRequest
{
	Span samples;			   /* a stream of Arrow's */
	Span stacks;			   /* another one, of the first version; no bytes: none came */
	const AttributeRule *rule; /* which labels are left out */
	const BatchLabel *fixed;   /* as of OtlpRequest */
	size_t fixed_count;
	bool keep_times;	 /* a row for each sample's own time */
	DecodeLimits limits; /* every sample says its time: now_us is not looked at */
} ArrowRequest;

typedef struct ArrowResult
{
	uint64_t samples;		 /* rows that were added up */
	uint64_t skipped_labels; /* too many, or longer than a label may be */
	const char *message;	 /* static: why it was refused */
} ArrowResult;

#endif
