/*
 * decode.h
 *		Files of other tools into a batch: what import_pprof and its relatives do in the server, up
 *		to the ids.
 *
 * The readers are the extension's (../../extension/formats), and so is what becomes of labels,
 * types and rows: a profile is the same whichever way it came. Knows no database.
 */
#ifndef COLLECTOR_DECODE_H
#define COLLECTOR_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch/batch.h"

/* A profile is larger when unpacked than what is read here. */
#define DECODE_MAX_BYTES ((size_t) 64 * 1024 * 1024)

typedef enum ProfileFormat
{
	PROFILE_PPROF, /* gzip or not */
	PROFILE_FOLDED,
	PROFILE_PERF_SCRIPT
} ProfileFormat;

/* What is known of a profile beside its bytes. */
typedef struct DecodeRequest
{
	ProfileFormat format;
	const BatchLabel *labels; /* of all series; __name__ names the profile type */
	size_t label_count;
	bool has_time;
	int64_t time_us; /* of the samples, since 1970; without: the profile's own */
	int64_t now_us;	 /* for a profile that does not say */
} DecodeRequest;

typedef enum DecodeEnd
{
	DECODE_OK,
	DECODE_NO_ROOM, /* store the batch, and decode again into an empty one */
	DECODE_INVALID, /* no such profile: message and offset */
	DECODE_SERVER,	/* only the server can tell what it is, or why it is refused: message */
	DECODE_NO_MEMORY
} DecodeEnd;

typedef struct DecodeResult
{
	size_t sample_count; /* rows */
	const char *message; /* static text */
	size_t offset;		 /* of the byte, unpacked, at which it was seen */
} DecodeResult;

/*
 * Adds all of a profile to a batch, or no sample of it. What is left behind by one that was not
 * added (functions, stacks) is harmless.
 */
DecodeEnd decode_profile(const DecodeRequest *request, const void *bytes, size_t length,
						 Batch *batch, DecodeResult *result);

/* What a file is, judged by its first bytes. */
ProfileFormat profile_format_of(const char *bytes, size_t length);

#endif
