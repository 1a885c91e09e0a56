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

/* Conventions of a client that pushes profiles, for which an import has others. */
typedef struct DecodeDialect
{
	void *context;

	/* Changes the profile; new texts must outlive decoding. Fails like a reader. */
	PfsReadStatus (*adapt)(void *context, PfsProfile *profile, PfsReadError *error);

	/* Changes the parts of the name of a sample type, given those that an import would use. */
	void (*name_type)(void *context, const PfsProfile *profile, uint32_t type, PfsTypeParts *parts);
} DecodeDialect;

/* Facts about a profile that its bytes do not contain. */
typedef struct DecodeRequest
{
	ProfileFormat format;
	const BatchLabel *labels; /* labels of all series; __name__ is the name of the profile type */
	size_t label_count;
	bool has_time;
	int64_t time_us; /* time of the samples, since 1970; if not set, the profile's own */
	DecodeLimits limits;
	bool guards_names;			  /* prefixes sample labels that begin with "__" with "exported_" */
	const DecodeType *kept_types; /* sample types to store; count 0: all types */
	size_t kept_type_count;
	/* Limit of the unpacked size, at most DECODE_MAX_BYTES; 0: DECODE_MAX_BYTES. */
	size_t bytes_max;
	const DecodeDialect *dialect; /* NULL: the conventions of an import */
} DecodeRequest;

typedef struct DecodeResult
{
	size_t sample_count; /* number of rows */
	const char *message; /* static text */
	const char *hint;	 /* static text, a full sentence; NULL: none */
	size_t offset;		 /* offset in the unpacked bytes at which the fault was found */
	int64_t time_us;	 /* time of a sample, for DECODE_TIME only */
	uint64_t line;		 /* number of the line, from 1; 0: the format has no lines */
	PfsSkipped skipped;	 /* parts of a decoded profile that were not understood */
	bool lacks_frames;	 /* none of its samples has a stack */
} DecodeResult;

#endif
