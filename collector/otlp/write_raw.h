/*
 * write_raw.h
 *		A request of Parca's WriteRaw into a batch: series of labels, and pprof profiles of each.
 *
 *		WriteRawRequest		2 series, 3 normalized
 *		RawProfileSeries	1 labels {1 labels {1 name, 2 value}}, 2 samples {1 raw_profile}
 *
 * A request is taken whole or not at all. Knows no network.
 */
#ifndef COLLECTOR_OTLP_WRITE_RAW_H
#define COLLECTOR_OTLP_WRITE_RAW_H

#include "batch/batch.h"
#include "decode/limits.h"
#include "otlp/message.h"

#define WRITE_RAW_LABEL_MAX 1024 /* bytes of a name or a value */

typedef struct WriteRawRequest
{
	Span body;			 /* protobuf, unpacked */
	const char *tenant;	 /* label of all series; what the client calls so is exported_tenant */
	DecodeLimits limits; /* CPU time is looked at before each profile */
} WriteRawRequest;

typedef struct WriteRawResult
{
	uint64_t samples;
	bool has_times;	   /* every profile says its time: sent again, it is the same */
	char message[256]; /* why it was refused */
} WriteRawResult;

/* Ends as otlp_decode() does. */
DecodeEnd write_raw_decode(const WriteRawRequest *request, Batch *batch, WriteRawResult *result);

#endif
