/*
 * ingest.c
 *		Finds the format and the parts of a request, then decodes its profile.
 */
#include "pyroscope/ingest.h"

#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "decode/decode.h"
#include "formats/gunzip.h"
#include "formats/jfr/jfr_read.h"
#include "formats/lines.h"
#include "pyroscope/ingest_query.h"
#include "pyroscope/multipart.h"

#define ARENA_BYTES ((size_t) 1024 * 1024)

#define UPDATE "; update the client to a version that sends pprof"

typedef enum IngestFormat
{
	INGEST_PPROF,
	INGEST_JFR,
	INGEST_SPEEDSCOPE,
	INGEST_FOLDED,
	INGEST_LINES
} IngestFormat;

typedef struct Ingesting
{
	const PyroscopeRequest *request;
	Batch *batch;
	PyroscopeResult *result;
	Budget budget;
	Arena arena;
	IngestQuery query;
	IngestFormat format;
	Span profile; /* parts of the request */
	Span types;
	Span labels;	   /* labels of a recording */
	PfsBytes unpacked; /* owned; the profile, if it was packed or changed */
	PfsBytes unpacked_labels;
	PyroscopeSeries series;
	SampleTypes sample_types;
	JfrLabels contexts;
} Ingesting;

static DecodeEnd
ingest_refuse(Ingesting *ingesting, const char *text)
{
	return pyroscope_refuse(ingesting->result, text);
}

/* --- format and parts --- */

static bool
is_content(const Ingesting *ingesting, const char *type)
{
	return strcasecmp(ingesting->request->content_type, type) == 0;
}

/* Sets the format that the query names; otherwise that of the body. */
static DecodeEnd
find_format(Ingesting *ingesting)
{
	static const struct
	{
		const char *name;
		IngestFormat format;
	} formats[] = { { "pprof", INGEST_PPROF },
					{ "jfr", INGEST_JFR },
					{ "speedscope", INGEST_SPEEDSCOPE },
					{ "lines", INGEST_LINES } };
	const PfsText name = ingesting->query.format;

	if (pfs_text_equals(name, "trie") || is_content(ingesting, "binary/octet-stream+trie"))
		return ingest_refuse(ingesting, "the format trie is not supported" UPDATE);
	if (pfs_text_equals(name, "tree") || is_content(ingesting, "binary/octet-stream+tree"))
		return ingest_refuse(ingesting, "the format tree is not supported" UPDATE);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (pfs_text_equals(name, formats[i].name))
		{
			ingesting->format = formats[i].format;
			return DECODE_OK;
		}
	ingesting->format =
		is_multipart(ingesting->request->content_type) ? INGEST_PPROF : INGEST_FOLDED;
	return DECODE_OK;
}

static bool
part_is(const MultipartPart *part, const char *name)
{
	return part->name.length == strlen(name) &&
		   memcmp(part->name.bytes, name, part->name.length) == 0;
}

/* Finds the parts of a multipart body; other bodies are the profile. */
static DecodeEnd
find_parts(Ingesting *ingesting)
{
	Multipart walk;
	MultipartPart part;
	bool has_profile = false;

	ingesting->profile = ingesting->request->body;
	if (!is_multipart(ingesting->request->content_type))
		return DECODE_OK;
	multipart_begin(&walk, ingesting->request->body, ingesting->request->content_type);
	while (multipart_next(&walk, &part))
	{
		if (part_is(&part, ingesting->format == INGEST_JFR ? "jfr" : "profile"))
		{
			ingesting->profile = part.content;
			has_profile = true;
		}
		else if (part_is(&part, "labels"))
			ingesting->labels = part.content;
		else if (part_is(&part, "sample_type_config"))
			ingesting->types = part.content;
		else if (part_is(&part, "prev_profile") && part.content.length > 0)
			return ingest_refuse(ingesting, "a profile with prev_profile is not supported" UPDATE);
	}
	if (walk.error != NULL)
		return ingest_refuse(ingesting, walk.error);
	if (has_profile)
		return DECODE_OK;
	return ingest_refuse(ingesting, ingesting->format == INGEST_JFR
										? "the body has no part jfr"
										: "the body has no part profile");
}

/* Unpacks a part, which then refers to *unpacked, if it is gzip. */
static DecodeEnd
unpack_part(Ingesting *ingesting, Span *part, PfsBytes *unpacked)
{
	const PfsAllocator allocator = { share_realloc, ingesting->request->limits.memory };
	PfsReadError error;

	if (!pfs_is_gzip(part->bytes, part->length))
		return DECODE_OK;
	switch (
		pfs_gunzip(part->bytes, part->length, DECODE_MAX_BYTES, allocator, NULL, unpacked, &error))
	{
		case PFS_READ_OK:
			*part = (Span){ unpacked->data, unpacked->length };
			return DECODE_OK;
		case PFS_READ_NO_MEMORY:
			return DECODE_NO_MEMORY;
		default:
			return ingest_refuse(ingesting, error.message);
	}
}

/* Unpacks the parts, so that equal content gets equal identity. */
static DecodeEnd
unpack_parts(Ingesting *ingesting)
{
	DecodeEnd end = unpack_part(ingesting, &ingesting->profile, &ingesting->unpacked);

	return end == DECODE_OK
			   ? unpack_part(ingesting, &ingesting->labels, &ingesting->unpacked_labels)
			   : end;
}

/* Determines the format of a profile from its bytes, if the request does not state it. */
static void
recognize_profile(Ingesting *ingesting)
{
	const char *bytes = (const char *) ingesting->profile.bytes;

	if (ingesting->format == INGEST_FOLDED && ingesting->profile.length > 0 &&
		profile_format_of(bytes, ingesting->profile.length) == PROFILE_PPROF)
		ingesting->format = INGEST_PPROF;
	if (ingesting->format == INGEST_PPROF &&
		pfs_is_jfr(ingesting->profile.bytes, ingesting->profile.length))
		ingesting->format = INGEST_JFR;
}

/* --- labels --- */

/*
 * Makes the labels of the series. keeps_app: the application's name stays a label if the service
 * has another name.
 */
static void
make_labels(Ingesting *ingesting, bool keeps_app)
{
	PyroscopeSeries *series = &ingesting->series;
	const AttributeRule *rule = ingesting->request->rule;
	Arena *arena = &ingesting->arena;
	PfsText labels = ingesting->query.labels;
	PfsText key;
	PfsText value;

	series_begin(series, arena, ingesting->request->tenant, ingesting->request->scope);
	while (ingest_next_label(&labels, &key, &value))
		if (!is_protocol_key(key))
			series_put(series, arena, rule, key, value);
	if (attribute_labels_find(&series->set, "service_name")[0] == '\0')
		series_put_default(series, arena, "service_name", ingesting->query.app);
	else if (keeps_app)
		series_put_default(series, arena, "app_name", ingesting->query.app);
	series_put_default(series, arena, "pyroscope_spy", ingesting->query.spy);
	series_end(series, arena);
	ingesting->result->skipped_labels += series->skipped;
}

/* --- profiles --- */

/* Converts lines, of which each is a stack, to folded stacks. */
static DecodeEnd
fold_lines(Ingesting *ingesting)
{
	static const char value[] = " 1\n";
	const size_t value_length = sizeof(value) - 1;
	static const PfsBudget no_budget = { .pause = NULL };
	PfsLineReader lines = { .bytes = (const char *) ingesting->profile.bytes,
							.length = ingesting->profile.length,
							.budget = &no_budget };
	size_t count = 1;
	size_t length = 0;
	char *folded;
	PfsText line;

	for (size_t i = 0; i < lines.length; i++)
		count += lines.bytes[i] == '\n';
	folded =
		share_realloc(ingesting->request->limits.memory, NULL, lines.length + count * value_length);
	if (folded == NULL)
		return DECODE_NO_MEMORY;
	while (pfs_next_line(&lines, &line))
	{
		line = pfs_trim(line);
		if (line.length == 0)
			continue;
		memcpy(folded + length, line.data, line.length);
		memcpy(folded + length + line.length, value, value_length);
		length += line.length + value_length;
	}
	share_realloc(ingesting->request->limits.memory, ingesting->unpacked.data, 0);
	ingesting->unpacked = (PfsBytes){ (uint8_t *) folded, length };
	ingesting->profile = (Span){ ingesting->unpacked.data, length };
	return DECODE_OK;
}

static DecodeEnd
decode_as(Ingesting *ingesting, DialectKind kind, const TextType *type)
{
	PyroscopeDialect dialect = { .kind = kind,
								 .series = &ingesting->series,
								 .rule = ingesting->request->rule,
								 .types = &ingesting->sample_types,
								 .text_type = type,
								 .contexts = &ingesting->contexts,
								 .sample_rate = ingesting->query.sample_rate,
								 .has_from = ingesting->query.has_from,
								 .from_us = ingesting->query.from_us,
								 .keeps_times = ingesting->request->keep_times };

	return pyroscope_decode_profile(ingesting->request, &dialect,
									kind == DIALECT_TEXT ? PROFILE_FOLDED : PROFILE_PPROF,
									ingesting->profile, ingesting->batch, ingesting->result);
}

static DecodeEnd
decode_text(Ingesting *ingesting)
{
	const TextType *type = text_type_of(&ingesting->query.app);
	DecodeEnd end = DECODE_OK;

	if (type == NULL)
		return ingest_refuse(ingesting,
							 "the name of the application does not end in a known profile type");
	make_labels(ingesting, true);
	if (ingesting->format == INGEST_LINES)
		end = fold_lines(ingesting);
	if (end != DECODE_OK || ingesting->profile.length == 0)
		return end; /* the client had no samples */
	return decode_as(ingesting, DIALECT_TEXT, type);
}

static DecodeEnd
decode_recording(Ingesting *ingesting)
{
	const PfsAllocator allocator = { share_realloc, ingesting->request->limits.memory };

	make_labels(ingesting, true);
	switch (jfr_labels_read(&ingesting->contexts, ingesting->labels, allocator))
	{
		case PFS_READ_OK:
			return decode_as(ingesting, DIALECT_RECORDING, NULL);
		case PFS_READ_NO_MEMORY:
			return DECODE_NO_MEMORY;
		case PFS_READ_TOO_LARGE:
			return ingest_refuse(ingesting, "a set in the part labels has too many labels");
		default:
			return ingest_refuse(ingesting, "the part labels is malformed");
	}
}

static DecodeEnd
decode_content(Ingesting *ingesting)
{
	switch (ingesting->format)
	{
		case INGEST_FOLDED:
		case INGEST_LINES:
			return decode_text(ingesting);
		case INGEST_SPEEDSCOPE:
			make_labels(ingesting, false);
			return decode_as(ingesting, DIALECT_VIEWER, NULL);
		case INGEST_JFR:
			return decode_recording(ingesting);
		case INGEST_PPROF:
			break;
	}
	make_labels(ingesting, false);
	return decode_as(ingesting, DIALECT_PPROF, NULL);
}

/* --- the request --- */

/*
 * Sets the identity of the request: its sender, and all content that determines the batch,
 * regardless of multipart and compression. The sender matters because idle replicas behind two
 * senders send equal profiles, which are no repetitions.
 */
static void
ingest_identify(Ingesting *ingesting)
{
	const IngestQuery *query = &ingesting->query;
	const int64_t numbers[] = { query->from_us, query->until_us, query->sample_rate,
								(int64_t) ingesting->format };
	const char *sender = ingesting->request->sender;
	const struct
	{
		const void *bytes;
		size_t length;
	} parts[] = { { sender, strlen(sender) },
				  { query->app.data, query->app.length },
				  { query->labels.data, query->labels.length },
				  { numbers, sizeof(numbers) },
				  { ingesting->profile.bytes, ingesting->profile.length },
				  { ingesting->types.bytes, ingesting->types.length },
				  { ingesting->labels.bytes, ingesting->labels.length } };

	_Static_assert(sizeof(parts) / sizeof(parts[0]) * PYROSCOPE_DIGEST_BYTES ==
					   sizeof(ingesting->result->identity),
				   "a digest of each part");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		SHA256(parts[i].bytes, parts[i].length,
			   ingesting->result->identity + i * PYROSCOPE_DIGEST_BYTES);
	ingesting->result->has_identity = true;
}

static DecodeEnd
ingest_read_types(Ingesting *ingesting)
{
	const PfsAllocator allocator = { share_realloc, ingesting->request->limits.memory };
	const char *error = sample_types_read(&ingesting->sample_types, ingesting->types, allocator);

	return error == NULL ? DECODE_OK : ingest_refuse(ingesting, error);
}

static DecodeEnd
ingest_read_request(Ingesting *ingesting)
{
	static DecodeEnd (*const steps[])(Ingesting *) = { find_format, find_parts, unpack_parts,
													   ingest_read_types };
	const PyroscopeRequest *request = ingesting->request;
	const char *error = ingest_query_read(&ingesting->query, request->query, request->limits.now_us,
										  &ingesting->arena);
	DecodeEnd end = error == NULL ? DECODE_OK : ingest_refuse(ingesting, error);

	for (size_t i = 0; end == DECODE_OK && i < sizeof(steps) / sizeof(steps[0]); i++)
		end = steps[i](ingesting);
	if (end != DECODE_OK)
		return end;
	recognize_profile(ingesting);
	if (request->sender[0] != '\0' || ingesting->format == INGEST_JFR)
		ingest_identify(ingesting); /* Java's agent repeats a request several times */
	return decode_content(ingesting);
}

DecodeEnd
ingest_decode(const PyroscopeRequest *request, Batch *batch, PyroscopeResult *result)
{
	Ingesting *ingesting = calloc(1, sizeof(Ingesting));
	DecodeEnd end;

	*result = (PyroscopeResult){ .has_times = true };
	if (ingesting == NULL)
		return DECODE_NO_MEMORY;
	ingesting->request = request;
	ingesting->batch = batch;
	ingesting->result = result;
	ingesting->budget = (Budget){ .limit_bytes = ARENA_BYTES, .share = request->limits.memory };
	arena_init(&ingesting->arena, &ingesting->budget);
	end = ingest_read_request(ingesting);
	if (ingesting->sample_types.texts.budget != NULL)
		sample_types_free(&ingesting->sample_types);
	jfr_labels_free(&ingesting->contexts);
	share_realloc(request->limits.memory, ingesting->unpacked.data, 0);
	share_realloc(request->limits.memory, ingesting->unpacked_labels.data, 0);
	arena_fini(&ingesting->arena);
	free(ingesting);
	return end;
}
