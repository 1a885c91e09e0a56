/*
 * limits.h
 *		The contract of all decoders of profiles: how decoding ends, and what bounds it.
 *
 * A decoder turns the bytes of a request or a file into samples of a batch. It knows no network and
 * no database, and whatever the bytes are, it is bounded in time by their length and in memory.
 */
#ifndef COLLECTOR_DECODE_LIMITS_H
#define COLLECTOR_DECODE_LIMITS_H

#include <stdint.h>

#include "base/memory_share.h"
#include "base/work_limit.h"

typedef enum DecodeEnd
{
	DECODE_OK,
	DECODE_NO_ROOM, /* more than the rest of the batch, or the memory, holds */
	DECODE_INVALID, /* message */
	DECODE_TIME,	/* samples are older than first_us or newer than last_us: message */
	DECODE_SERVER,	/* only the server can tell what it is, or why it is refused: message */
	DECODE_NO_MEMORY
} DecodeEnd;

typedef struct DecodeLimits
{
	int64_t now_us;	  /* for profiles that do not say their time */
	int64_t first_us; /* times of samples that are taken; both 0: any */
	int64_t last_us;
	MemoryShare *memory; /* charged for what is held meanwhile; NULL: none */
	WorkLimit *limit;	 /* of a request's CPU time; NULL: none */
} DecodeLimits;

#define DECODE_TOO_LARGE "the request is larger than what is held in memory at once"

#endif
