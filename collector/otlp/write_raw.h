/*
 * write_raw.h
 *		Decodes a request of Parca's WriteRaw into a batch: series of labels, and pprof profiles of
 *		each.
 *
 * WriteRawRequest: 2 series, 3 normalized. RawProfileSeries: 1 labels {1 labels {1 name, 2 value}},
 * 2 samples {1 raw_profile}.
 *
 * A request is decoded as a whole or not at all. Does not use the network.
 */
#ifndef COLLECTOR_OTLP_WRITE_RAW_H
#define COLLECTOR_OTLP_WRITE_RAW_H

#include "batch/batch.h"
#include "decode/limits.h"
#include "otlp/message.h"

#define WRITE_RAW_LABEL_MAX 1024 /* limit of the bytes of a name or a value */

typedef struct WriteRawRequest
{
	Span body; /* protobuf, unpacked */
	/*
	 * Value of the label tenant on all series. A label of that name that the client sends becomes
	 * exported_tenant.
	 */
	const char *tenant;
	DecodeLimits limits; /* the limit of CPU time is checked before each profile */
} WriteRawRequest;

typedef struct WriteRawResult
{
	uint64_t samples;
	/* Every profile contains its time, so a repeated request has equal content. */
	bool has_times;
	char message[256]; /* reason of a refusal */
} WriteRawResult;

/* Returns like otlp_decode(). */
DecodeEnd write_raw_decode(const WriteRawRequest *request, Batch *batch, WriteRawResult *result);

#endif
