/*
 * request.h
 *		What is to be decoded, and how that ends.
 */
#ifndef COLLECTOR_DECODE_REQUEST_H
#define COLLECTOR_DECODE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch/batch.h"
#include "decode/limits.h"
#include "formats/any/format.h"

typedef enum ProfileFormat
{
	PROFILE_PPROF = PFS_FORMAT_PROFILE, /* whatever import_pprof takes, gzip or not */
	PROFILE_FOLDED = PFS_FORMAT_FOLDED,
	PROFILE_PERF_SCRIPT = PFS_FORMAT_PERF_SCRIPT
} ProfileFormat;

/* A sample type of a profile. */
typedef struct DecodeType
{
	const char *type;
	const char *unit;
} DecodeType;

/* What is known of a profile beside its bytes. */
typedef struct DecodeRequest
{
	ProfileFormat format;
	const BatchLabel *labels; /* of all series; __name__ names the profile type */
	size_t label_count;
	bool has_time;
	int64_t time_us; /* of the samples, since 1970; without: the profile's own */
	DecodeLimits limits;
	bool guards_names;			  /* labels of samples get "exported_" in front of "__" */
	const DecodeType *kept_types; /* sample types that are stored; of count 0: all */
	size_t kept_type_count;
	size_t bytes_max; /* unpacked; 0, or more than DECODE_MAX_BYTES: that */
} DecodeRequest;

typedef struct DecodeResult
{
	size_t sample_count; /* rows */
	const char *message; /* static text */
	const char *hint;	 /* the same, a sentence; NULL: none */
	size_t offset;		 /* of the byte, unpacked, at which it was seen */
	int64_t time_us;	 /* of DECODE_TIME: a sample's */
	uint64_t line;		 /* of text, from 1 on; 0: it is none */
	PfsSkipped skipped;	 /* of a profile that was decoded: what was not understood */
	bool lacks_frames;	 /* no sample of it has a stack */
} DecodeResult;

#endif
