/*
 * inflate.h
 *		Unpacks the bodies of requests, gzip and zstd, within limits.
 */
#ifndef COLLECTOR_RECEIVE_INFLATE_H
#define COLLECTOR_RECEIVE_INFLATE_H

#include <stddef.h>
#include <stdint.h>

#include "http_server/call.h"

typedef enum InflateEnd
{
	INFLATE_OK,
	INFLATE_MALFORMED,
	INFLATE_TOO_LARGE,
	INFLATE_NO_MEMORY
} InflateEnd;

typedef struct InflateLimits
{
	size_t max_bytes;
	MemoryShare *memory; /* also charged for the result */
} InflateLimits;

/* Unpacks a body in gzip or zstd. The caller frees the result. */
InflateEnd inflate_body(CallEncoding encoding, const uint8_t *bytes, size_t length,
						const InflateLimits *limits, uint8_t **result, size_t *result_length);

/*
 * Unpacks the body of a call in place. Leaves a body as it is if it is empty, if it is not
 * compressed, or if it is a gRPC message without the flag of a compressed one.
 */
InflateEnd inflate_call(Call *call, size_t max_bytes);

#endif
