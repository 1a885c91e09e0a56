/*
 * request.h
 *		Input and result of decoding a file.
 */
#ifndef COLLECTOR_DECODE_REQUEST_H
#define COLLECTOR_DECODE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch/batch.h"
#include "decode/limits.h"
#include "formats/any/format.h"
#include "formats/series_names.h"

typedef enum ProfileFormat
{
	PROFILE_PPROF = PFS_FORMAT_PROFILE, /* any format that import_pprof() reads, gzip or not */
	PROFILE_FOLDED = PFS_FORMAT_FOLDED,
	PROFILE_PERF_SCRIPT = PFS_FORMAT_PERF_SCRIPT
} ProfileFormat;

/* A sample type of a profile. */
typedef struct DecodeType
{
	const char *type;
	const char *unit;
} DecodeType;

/* Conventions of a client that pushes profiles, which differ from those of an import. */
typedef struct DecodeDialect
{
	void *context;

	/* Changes the profile; new texts must outlive the decoding. Fails as a reader does. */
	PfsReadStatus (*adapt)(void *context, PfsProfile *profile, PfsReadError *error);

	/* Changes the parts of the name of a sample type, given those that an import would use. */
	void (*name_type)(void *context, const PfsProfile *profile, uint32_t type, PfsTypeParts *parts);
} DecodeDialect;

/* Facts about a profile that are not in its bytes. */
typedef struct DecodeRequest
{
	ProfileFormat format;
	const BatchLabel *labels; /* of all series; __name__ is the profile type's name */
	size_t label_count;
	bool has_time;
	int64_t time_us; /* time of the samples, since 1970; unset: the profile's own */
	DecodeLimits limits;
	bool guards_names;			  /* prefixes sample labels that begin with "__" with "exported_" */
	const DecodeType *kept_types; /* sample types to store; count 0: all */
	size_t kept_type_count;
	/* limit of the unpacked size; 0 or above DECODE_MAX_BYTES: DECODE_MAX_BYTES */
	size_t bytes_max;
	const DecodeDialect *dialect; /* NULL: as an import */
} DecodeRequest;

typedef struct DecodeResult
{
	size_t sample_count; /* number of rows */
	const char *message; /* static text */
	const char *hint;	 /* static text, a full sentence; NULL: none */
	size_t offset;		 /* offset of the byte, unpacked, at which the fault was seen */
	int64_t time_us;	 /* of DECODE_TIME: the time of a sample */
	uint64_t line;		 /* line of a text, from 1; 0: no text */
	PfsSkipped skipped;	 /* of a decoded profile: parts that were not understood */
	bool lacks_frames;	 /* none of its samples has a stack */
} DecodeResult;

#endif
