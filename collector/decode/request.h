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
	int64_t time_us;  /* of the samples, since 1970; without: the profile's own */
	int64_t now_us;	  /* for a profile that does not say */
	int64_t first_us; /* times of samples that are taken; both 0: any */
	int64_t last_us;
	bool guards_names;			  /* labels of samples get "exported_" in front of "__" */
	const DecodeType *kept_types; /* sample types that are stored; of count 0: all */
	size_t kept_type_count;
	size_t bytes_max;	 /* unpacked; 0, or more than DECODE_MAX_BYTES: that */
	MemoryShare *memory; /* charged for what is held meanwhile; NULL: none */
} DecodeRequest;

typedef enum DecodeEnd
{
	DECODE_OK,
	DECODE_NO_ROOM, /* store the batch, and decode again into an empty one */
	DECODE_INVALID, /* no such profile: message and offset */
	DECODE_TIME,	/* samples are older than first_us or newer than last_us: message, time_us */
	DECODE_SERVER,	/* only the server can tell what it is, or why it is refused: message */
	DECODE_NO_MEMORY
} DecodeEnd;

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
