/*
 * decode.c
 *		Reads a profile from bytes and checks it before it is added to a batch.
 *
 * Profiles that this file does not handle are sent to the server, which decodes them or reports the
 * error: those with drop_frames, with times that no sample can have, or with texts in other
 * encodings.
 */
#include "decode/decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "decode/profile_batch.h"
#include "formats/any/profile_read.h"
#include "formats/clean_text.h"
#include "formats/gunzip.h"
#include "formats/lines.h"
#include "formats/memory.h"

#define DAY_US (INT64_C(24) * 60 * 60 * 1000000)

/* The server's limits: how far in the future times may be, and how many days one file may span. */
#define DAYS_AHEAD 7
#define MAX_DAYS   366

/* Converts the result of a reader; the error's position and hint become those of the result. */
static DecodeEnd
pprof_end_of(PfsReadStatus status, const PfsReadError *error, DecodeResult *result)
{
	result->message = error->message;
	result->hint = error->hint;
	result->offset = error->offset;
	result->line = error->line;
	switch (status)
	{
		case PFS_READ_OK:
			return DECODE_OK;
		case PFS_READ_MALFORMED:
		case PFS_READ_OUT_OF_RANGE:
			return DECODE_INVALID;
		case PFS_READ_TOO_LARGE: /* too large for our limits; the server's may be larger */
			return DECODE_SERVER;
		case PFS_READ_NO_MEMORY:
			break;
	}
	return DECODE_NO_MEMORY;
}

static DecodeEnd
only_server(DecodeResult *result, const char *message)
{
	result->message = message;
	return DECODE_SERVER;
}

static bool
pprof_is_text(PfsBytes bytes)
{
	for (size_t at = 0; at < bytes.length;)
	{
		/*
		 * pfs_character_bytes() returns 0 for a zero byte, too, which PostgreSQL's text cannot
		 * contain
		 */
		PfsText rest = { (const char *) bytes.data + at, (uint32_t) (bytes.length - at) };
		uint32_t length = pfs_character_bytes(rest);

		if (length == 0)
			return false;
		at += length;
	}
	return true;
}

/*
 * Reads the bytes with the reader of their format. Folded stacks have no sample type of their own,
 * so they get samples/count.
 */
static PfsReadStatus
pprof_read_profile(ProfileFormat format, PfsBytes bytes, PfsProfile *profile, PfsReadError *error)
{
	static const PfsValueType folded_type = { { "samples", 7 }, { "count", 5 } };
	PfsReadStatus status;

	switch (format)
	{
		case PROFILE_PPROF:
			return pfs_profile_read(bytes.data, bytes.length, profile, error);
		case PROFILE_PERF_SCRIPT:
			return pfs_perf_script_read((const char *) bytes.data, bytes.length, profile, error);
		case PROFILE_FOLDED:
			break;
	}
	/* folded text does not name its type, so the reader leaves it to the caller */
	status = pfs_folded_read((const char *) bytes.data, bytes.length, profile, error);
	if (status == PFS_READ_OK)
		profile->types[0] = folded_type;
	return status;
}

/*
 * Finds the first and last time of the profile's samples, in microseconds relative to the profile's
 * time.
 */
static void
get_offsets(const PfsProfile *profile, int64_t *first_us, int64_t *last_us)
{
	*first_us = *last_us = 0;
	for (uint32_t i = 0; i < profile->sample_count; i++)
	{
		/*
		 * Only samples of perf's scripts and JFR have times of their own; the offsets of other
		 * formats are 0.
		 */
		int64_t offset = profile->samples[i].time_offset_ns / NS_PER_US;

		*first_us = offset < *first_us ? offset : *first_us;
		*last_us = offset > *last_us ? offset : *last_us;
	}
}

static DecodeEnd
wrong_time(DecodeResult *result, const char *message, int64_t time_us)
{
	result->message = message;
	result->time_us = time_us;
	return DECODE_TIME;
}

/*
 * Sets the profile's time. Fails if a sample would then have a time that the request or the server
 * refuses.
 */
static DecodeEnd
pprof_choose_time(const DecodeRequest *request, const PfsProfile *profile, int64_t *time_us,
				  DecodeResult *result)
{
	const DecodeLimits *limits = &request->limits;
	bool is_bounded = limits->last_us > limits->first_us;
	int64_t first_us;
	int64_t last_us;

	/* In order: the time that the request states, the profile's, the current time. */
	*time_us = limits->now_us;
	if (request->has_time)
		*time_us = request->time_us;
	else if (profile->time_ns != 0)
		*time_us = profile->time_ns / NS_PER_US;
	get_offsets(profile, &first_us, &last_us);
	/* offsets that no profile has go to the server, which names the error */
	if (last_us - first_us >= MAX_DAYS * DAY_US ||
		__builtin_add_overflow(*time_us, first_us, &first_us) ||
		__builtin_add_overflow(*time_us, last_us, &last_us))
		return only_server(result, "times of samples are out of range");
	if (is_bounded && first_us < limits->first_us)
		return wrong_time(result, "the profile is too old", first_us);
	if (is_bounded && last_us > limits->last_us)
		return wrong_time(result, "the profile is from the future", last_us);
	/* the server's own limits, which apply to requests without limits, too */
	if (first_us < 0 || last_us >= limits->now_us + DAYS_AHEAD * DAY_US)
		return only_server(result, "times of samples are out of range");
	return DECODE_OK;
}

static bool
is_kept(const DecodeRequest *request, const PfsValueType *type)
{
	for (size_t i = 0; i < request->kept_type_count; i++)
		if (pfs_text_equals(type->type, request->kept_types[i].type) &&
			pfs_text_equals(type->unit, request->kept_types[i].unit))
			return true;
	/* an empty list keeps all types */
	return request->kept_type_count == 0;
}

/* Removes the sample types that are not requested, and their values. */
static void
keep_types(const DecodeRequest *request, PfsProfile *profile)
{
	uint32_t kept[PFS_PROFILE_MAX_SAMPLE_TYPES];
	uint32_t default_type = PFS_NONE;
	uint32_t count = 0;
	size_t to = 0;

	for (uint32_t i = 0; i < profile->type_count; i++)
	{
		if (!is_kept(request, &profile->types[i]))
			continue;
		if (i == profile->default_type)
			default_type = count;
		kept[count++] = i;
	}
	/*
	 * Values are a matrix of samples and types. Rows become shorter, so values only move towards
	 * the start.
	 */
	for (uint32_t i = 0; i < profile->sample_count; i++)
		for (uint32_t j = 0; j < count; j++)
			profile->values[to++] = profile->values[(size_t) i * profile->type_count + kept[j]];
	/* kept[] ascends, so types only move towards the start, too */
	for (uint32_t j = 0; j < count; j++)
		profile->types[j] = profile->types[kept[j]];
	profile->type_count = count;
	profile->default_type = default_type;
}

static DecodeEnd
no_type_left(DecodeResult *result)
{
	result->message = "the profile has none of the sample types to keep";
	return DECODE_INVALID;
}

/* Reads a profile. If its format belongs to another reader, or to none, the failure names it. */
static DecodeEnd
pprof_read_bytes(const DecodeRequest *request, PfsBytes bytes, PfsProfile *profile,
				 DecodeResult *result)
{
	PfsReadError error = { .message = NULL };
	PfsReadStatus status = pprof_read_profile(request->format, bytes, profile, &error);

	/*
	 * "invalid field tag" for a file of folded stacks would not help; the error says which format
	 * it probably has
	 */
	if (status == PFS_READ_MALFORMED)
		pfs_format_explain(bytes.data, bytes.length, (PfsFormat) request->format, &error);
	if (status == PFS_READ_OK)
	{
		result->skipped = profile->skipped;
		result->lacks_frames = pfs_profile_lacks_frames(profile);
	}
	return pprof_end_of(status, &error, result);
}

/* Applies the client's conventions to the profile, if the request has any. */
static DecodeEnd
pprof_adapt(const DecodeRequest *request, PfsProfile *profile, DecodeResult *result)
{
	PfsReadError error = { .message = NULL };

	if (request->dialect == NULL)
		return DECODE_OK;
	return pprof_end_of(request->dialect->adapt(request->dialect->context, profile, &error), &error,
						result);
}

/*
 * Fails because bytes are not UTF-8: they are of another format, or the server must decide on their
 * encoding.
 */
static DecodeEnd
fail_encoding(const DecodeRequest *request, PfsBytes bytes, DecodeResult *result)
{
	PfsReadError error = { .message = NULL };

	/* leaves message NULL if the bytes look like the requested format */
	pfs_format_explain(bytes.data, bytes.length, (PfsFormat) request->format, &error);
	return error.message != NULL ? pprof_end_of(PFS_READ_MALFORMED, &error, result)
								 : only_server(result, "the text is not valid UTF-8");
}

/*
 * Decodes an unpacked file: reads the profile, applies the request's filters and checks, and adds
 * it to the batch.
 */
static DecodeEnd
decode_bytes(const DecodeRequest *request, PfsBytes bytes, PfsBudget *budget, Batch *batch,
			 DecodeResult *result)
{
	ProfileBatch to = { .request = request, .batch = batch, .result = result };
	PfsProfile profile;
	DecodeEnd end;

	if (request->format != PROFILE_PPROF && !pprof_is_text(bytes))
		return fail_encoding(request, bytes, result);
	pfs_profile_init(&profile, budget);
	profile.is_pushed = request->dialect != NULL;
	end = pprof_read_bytes(request, bytes, &profile, result);
	if (end == DECODE_OK)
		keep_types(request, &profile);
	if (end == DECODE_OK && profile.type_count == 0)
		end = no_type_left(result);
	if (end == DECODE_OK)
		end = pprof_adapt(request, &profile, result);
	if (end == DECODE_OK && profile.drop_frames.length > 0)
		end = only_server(result, "the profile contains expressions that drop frames");
	if (end == DECODE_OK)
		end = pprof_choose_time(request, &profile, &to.time_us, result);
	if (end == DECODE_OK)
		end = profile_to_batch(&to, &profile);
	pfs_profile_fini(&profile);
	return end;
}

DecodeEnd
decode_profile(const DecodeRequest *request, const void *bytes, size_t length, Batch *batch,
			   DecodeResult *result)
{
	PfsAllocator allocator = { share_realloc, request->limits.memory };
	PfsBytes content = { (uint8_t *) (uintptr_t) bytes, length };
	PfsBytes unpacked = { NULL, 0 };
	PfsBudget budget = { .allocator = allocator };
	size_t bytes_max = request->bytes_max > 0 && request->bytes_max < DECODE_MAX_BYTES
						   ? request->bytes_max
						   : DECODE_MAX_BYTES;
	PfsReadError error = pfs_error_at("profile is too large", bytes_max);
	PfsReadStatus status = PFS_READ_OK;
	DecodeEnd end;

	*result = (DecodeResult){ 0 };
	if (pfs_is_gzip(content.data, content.length))
	{
		status =
			pfs_gunzip(content.data, content.length, bytes_max, allocator, NULL, &unpacked, &error);
		content = unpacked;
	}
	else if (length > bytes_max)
		status = PFS_READ_TOO_LARGE;
	end = pprof_end_of(status, &error, result);
	budget.left = pfs_profile_budget_bytes(content.length);
	if (end == DECODE_OK)
		end = decode_bytes(request, content, &budget, batch, result);
	share_realloc(request->limits.memory, unpacked.data, 0);
	return end;
}

ProfileFormat
profile_format_of(const char *bytes, size_t length)
{
	return (ProfileFormat) pfs_format_of((const uint8_t *) bytes, length);
}
