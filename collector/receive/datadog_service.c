/*
 * datadog_service.c
 *		The endpoint of Datadog's tracers: /profiling/v1/input, and /info, which they request first.
 *
 * A request has a part "event" and attachments: profiles in pprof or flight recordings, each
 * compressed by zstd, by gzip or not at all, and JSON about them, which is not stored. An invalid
 * profile is rejected without rejecting the others, as in a Push.
 */
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#include "formats/jfr/jfr_read.h"
#include "pyroscope/multipart.h"
#include "pyroscope/request.h"
#include "receive/datadog_event.h"
#include "receive/inflate.h"
#include "receive/pyroscope_steps.h"
#include "receive/services.h"
#include "receive/submit.h"

#define ARENA_BYTES ((size_t) 1024 * 1024)

#define LZ4_MAGIC "\x04\x22\x4d\x18"

typedef struct Datadog
{
	Receiver *receiver;
	PyroscopeRequest request;
	Batch *batch;
	PyroscopeResult result;
	Budget budget;
	Arena arena;
	DatadogEvent event;
	SampleTypes no_types;
	JfrLabels no_contexts;
	uint8_t digests[MULTIPART_PARTS_MAX * SHA256_DIGEST_LENGTH]; /* digest of each part */
	size_t digests_length;
} Datadog;

static bool
part_ends(Span name, const char *end)
{
	return name.length >= strlen(end) &&
		   memcmp(name.bytes + name.length - strlen(end), end, strlen(end)) == 0;
}

static CallEncoding
encoding_by_magic(Span bytes)
{
	/* The parts have no header for their compression. */
	if (bytes.length >= 4 && memcmp(bytes.bytes, "\x28\xb5\x2f\xfd", 4) == 0)
		return ENCODING_ZSTD;
	if (bytes.length >= 2 && memcmp(bytes.bytes, "\x1f\x8b", 2) == 0)
		return ENCODING_GZIP;
	return ENCODING_IDENTITY;
}

/* Unpacks a part. The caller frees *owned. */
static DecodeEnd
datadog_unpack(Datadog *datadog, Span *part, uint8_t **owned)
{
	const InflateLimits limits = { datadog->receiver->options->host.max_message,
								   datadog->request.limits.memory };
	const CallEncoding encoding = encoding_by_magic(*part);
	size_t length;

	if (part->length >= 4 && memcmp(part->bytes, LZ4_MAGIC, 4) == 0)
		return pyroscope_refuse(&datadog->result, "a profile in lz4 is not supported; set "
												  "DD_PROFILING_DEBUG_UPLOAD_COMPRESSION to gzip");
	if (encoding == ENCODING_IDENTITY)
		return DECODE_OK;
	switch (inflate_body(encoding, part->bytes, part->length, &limits, owned, &length))
	{
		case INFLATE_OK:
			*part = (Span){ *owned, length };
			return DECODE_OK;
		case INFLATE_NO_MEMORY:
			return DECODE_NO_MEMORY;
		case INFLATE_TOO_LARGE:
			return pyroscope_refuse(&datadog->result, "a profile is larger than --max-message");
		case INFLATE_MALFORMED:
			break;
	}
	return pyroscope_refuse(&datadog->result, "a profile cannot be unpacked");
}

static DecodeEnd
datadog_decode_profile(Datadog *datadog, Span profile)
{
	const bool is_recording = pfs_is_jfr(profile.bytes, profile.length);
	PyroscopeDialect dialect = { .kind = is_recording ? DIALECT_RECORDING : DIALECT_DATADOG,
								 .series = &datadog->event.series,
								 .rule = datadog->request.rule,
								 .types = &datadog->no_types,
								 .contexts = &datadog->no_contexts,
								 .has_from = datadog->event.has_start,
								 .from_us = datadog->event.start_us,
								 .keeps_times = datadog->request.keep_times };

	return pyroscope_decode_profile(&datadog->request, &dialect, PROFILE_PPROF, profile,
									datadog->batch, &datadog->result);
}

/* Decodes an attachment. An invalid attachment is counted and does not end the request. */
static DecodeEnd
datadog_take_part(Datadog *datadog, const MultipartPart *part)
{
	Span content = part->content;
	uint8_t *owned = NULL;
	DecodeEnd end;

	/* Parts that are not stored identify the request, too. */
	SHA256(content.bytes, content.length, datadog->digests + datadog->digests_length);
	datadog->digests_length += SHA256_DIGEST_LENGTH;
	/* datadog_find_event() has read the event; other JSON only describes attachments. */
	if (part_ends(part->name, "event") || part_ends(part->name, ".json"))
		return DECODE_OK;
	end = datadog_unpack(datadog, &content, &owned);
	/* An empty attachment is neither a profile nor an error. */
	if (end == DECODE_OK && content.length > 0)
		end = datadog_decode_profile(datadog, content);
	free(owned);
	/* Only an invalid profile is skipped; any other error ends the request. */
	if (end != DECODE_INVALID)
		return end;
	datadog->result.rejected_profiles++;
	return DECODE_OK;
}

/* Finds the event, which may be at any place. Returns DECODE_INVALID if there is none. */
static DecodeEnd
datadog_find_event(Datadog *datadog)
{
	const PyroscopeRequest *request = &datadog->request;
	const PfsAllocator allocator = { share_realloc, request->limits.memory };
	const char *error = "the body has no part event";
	MultipartPart part;
	Multipart walk;

	if (!is_multipart(request->content_type))
		return pyroscope_refuse(&datadog->result, "the content type must be multipart/form-data");
	multipart_begin(&walk, request->body, request->content_type);
	while (multipart_next(&walk, &part))
		if (part_ends(part.name, "event") || part_ends(part.name, "event.json"))
			error = datadog_event_read(&datadog->event, part.content, &datadog->arena,
									   request->rule, request->tenant, request->scope, allocator);
	if (walk.error != NULL)
		error = walk.error;
	datadog->result.skipped_labels += datadog->event.series.skipped;
	return error == NULL ? DECODE_OK : pyroscope_refuse(&datadog->result, error);
}

static DecodeEnd
datadog_take_parts(Datadog *datadog)
{
	DecodeEnd end = datadog_find_event(datadog);
	MultipartPart part;
	Multipart walk;

	if (end != DECODE_OK)
		return end;
	/* The event has the labels of all profiles, so these need a second pass. */
	multipart_begin(&walk, datadog->request.body, datadog->request.content_type);
	while (end == DECODE_OK && multipart_next(&walk, &part))
		end = datadog_take_part(datadog, &part);
	return end;
}

static DecodeEnd
datadog_decode(Receiver *receiver, Call *call, const DecodeLimits *limits, Batch *batch,
			   Decoded *decoded)
{
	Datadog *datadog = calloc(1, sizeof(Datadog));
	DecodeEnd end;

	if (datadog == NULL)
		return DECODE_NO_MEMORY;
	datadog->receiver = receiver;
	datadog->batch = batch;
	datadog->request = pyroscope_request(receiver, call, limits);
	datadog->result = (PyroscopeResult){ .has_times = true };
	datadog->budget = (Budget){ .limit_bytes = ARENA_BYTES, .share = limits->memory };
	arena_init(&datadog->arena, &datadog->budget);
	end = datadog_take_parts(datadog);
	pyroscope_take_result(receiver, end, &datadog->result, decoded);
	if (end == DECODE_OK)
		end = pyroscope_judge_rejected(call, &datadog->result);
	if (end == DECODE_OK && call->answer.code == GRPC_OK)
	{
		/*
		 * identify the request by its parts, because Go's tracer repeats a request once with
		 * another boundary
		 */
		submit_identify(call, datadog->digests, datadog->digests_length);
		buffer_put_bytes(&call->answer.body, "{}", 2);
		call->answer.content = "application/json";
	}
	arena_fini(&datadog->arena);
	free(datadog);
	return end;
}

void
datadog_input(Host *host, Call *call)
{
	Receiver *receiver = receiver_of(host);

	if (submit_inflate(receiver, call))
		submit_decoded(receiver, call, datadog_decode);
	else
		host_give_back(host, call);
}

/* Lists the abilities of an agent of Datadog's; tracers send only what it lists. */
void
datadog_info(Host *host, Call *call)
{
	static const char text[] = "{\"version\":\"7.0.0\",\"endpoints\":[\"/profiling/v1/input\"]}";

	call->answer.content = "application/json";
	buffer_put_bytes(&call->answer.body, text, sizeof(text) - 1);
}
