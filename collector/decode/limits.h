/*
 * limits.h
 *		The contract of all decoders of profiles: the results of decoding, and its limits.
 *
 * A decoder converts the bytes of a request or a file to samples of a batch. It uses neither
 * network nor database. For any input its time is bounded by the input's length, and its memory by
 * the limits.
 */
#ifndef COLLECTOR_DECODE_LIMITS_H
#define COLLECTOR_DECODE_LIMITS_H

#include <stdint.h>

#include "base/memory_share.h"
#include "base/work_limit.h"

typedef enum DecodeEnd
{
	DECODE_OK,
	DECODE_NO_ROOM, /* the profile does not fit into the rest of the batch or of the memory */
	DECODE_INVALID, /* malformed; message is the reason */
	DECODE_TIME,	/* samples are older than first_us or newer than last_us; message is set */
	/* only the server can read the bytes, or explain why they are refused; message is set */
	DECODE_SERVER,
	DECODE_NO_MEMORY
} DecodeEnd;

typedef struct DecodeLimits
{
	int64_t now_us;	  /* the time of profiles that contain none */
	int64_t first_us; /* accepted times of samples; both 0: any */
	int64_t last_us;
	MemoryShare *memory; /* charged for temporary memory; NULL: not limited */
	WorkLimit *limit;	 /* limit of a request's CPU time; NULL: not limited */
} DecodeLimits;

#define DECODE_TOO_LARGE "the request is larger than what is held in memory at once"

#endif
