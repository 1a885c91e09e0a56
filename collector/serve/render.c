/*
 * render.c
 *		Pyroscope's HTTP endpoints /pyroscope/render and /pyroscope/render-diff.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "formats/lines.h"
#include "http_server/protobuf.h"
#include "pyroscope/query_string.h"
#include "serve/answers.h"
#include "serve/json_answer.h"
#include "serve/serve_services.h"

#define PLAIN		   "text/plain; charset=utf-8"
#define JSON		   "application/json"
#define TIMELINE_STEPS 240
#define QUERY_BYTES	   ((size_t) 1024 * 1024) /* limit of the memory of decoded parameters */

/*
 * A selection in the query string: query, from, until; for a difference leftQuery, leftFrom, and so
 * on.
 */
typedef struct RenderSide
{
	PfsText query;
	int64_t from_us;
	int64_t until_us;
} RenderSide;

typedef struct RenderQuery
{
	Arena arena;
	Budget budget;
	RenderSide sides[2]; /* one side; for a difference left and right */
	PfsText format;
	int64_t max_nodes;
} RenderQuery;

/* Reads a parameter of one side. Returns NULL; on failure, the reason of the refusal. */
static const char *
read_side(RenderSide *side, const char *name, PfsText value, int64_t now_us)
{
	static const char bad_time[] = "a time of the query is not valid";

	if (strcmp(name, "query") == 0)
		side->query = value;
	else if (!query_time(value, now_us,
						 strcmp(name, "from") == 0 ? &side->from_us : &side->until_us))
		return bad_time;
	return NULL;
}

/* Reads one parameter; unknown ones are ignored. */
static const char *
render_read_parameter(RenderQuery *query, PfsText key, PfsText value, int64_t now_us)
{
	static const struct
	{
		const char *key;
		const char *name;
		int side;
	} keys[] = { { "query", "query", 0 },	   { "from", "from", 0 },
				 { "until", "until", 0 },	   { "leftQuery", "query", 0 },
				 { "leftFrom", "from", 0 },	   { "leftUntil", "until", 0 },
				 { "rightQuery", "query", 1 }, { "rightFrom", "from", 1 },
				 { "rightUntil", "until", 1 } };

	/* An empty parameter counts as absent. */
	if (value.length == 0)
		return NULL;
	if (pfs_text_equals(key, "format"))
		query->format = value;
	else if (pfs_text_equals(key, "max-nodes") || pfs_text_equals(key, "maxNodes"))
		return pfs_parse_int64(value, &query->max_nodes) == PFS_READ_OK
				   ? NULL
				   : "the number of nodes is not a number";
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (pfs_text_equals(key, keys[i].key))
			return read_side(&query->sides[keys[i].side], keys[i].name, value, now_us);
	return NULL;
}

/*
 * Reads the query string. Returns false after answering. Call arena_fini(&query->arena) in either
 * case.
 */
static bool
render_read(Asked *asked, RenderQuery *query)
{
	const char *given = asked->call->query != NULL ? asked->call->query : "";
	const int64_t now_us = clock_ns(CLOCK_REALTIME) / 1000;
	PfsText rest = { given, (uint32_t) strlen(given) };
	const char *error = NULL;
	PfsText value;
	PfsText key;

	*query = (RenderQuery){ .budget = { .limit_bytes = QUERY_BYTES, .share = asked->call->memory },
							.format = { "json", 4 } };
	arena_init(&query->arena, &query->budget);
	for (int i = 0; i < 2; i++)
		query->sides[i] = (RenderSide){ { "", 0 }, now_us, now_us };
	while (error == NULL && query_next(&rest, &query->arena, &key, &value, &error))
		error = render_read_parameter(query, key, value, now_us);
	for (int i = 0; i < 2 && error == NULL; i++)
		if (query->sides[i].from_us > query->sides[i].until_us)
			error = "the time range ends before it begins";
	return error == NULL || asked_refuse(asked, GRPC_INVALID_ARGUMENT, error);
}

/* Splits TYPE{matchers} into the fields of a request. */
static SelectRequest
render_request(const RenderQuery *query, int side)
{
	const RenderSide *given = &query->sides[side];
	PfsText matchers = given->query;
	PfsText type = { given->query.data, 0 };

	/* Without a brace the whole query is a type, and all its series are selected. */
	while (type.length < given->query.length && type.data[type.length] != '{')
		type.length++;
	matchers = pfs_part(matchers, type.length, matchers.length);
	type = pfs_trim(type);
	return (SelectRequest){ .type = { (const uint8_t *) type.data, type.length },
							.selector = { (const uint8_t *) matchers.data, matchers.length },
							.start_ms = given->from_us / 1000,
							.end_ms = given->until_us / 1000,
							.max_nodes = query->max_nodes };
}

static void
render_put(Buffer *out, const char *text)
{
	buffer_put_bytes(out, text, strlen(text));
}

/* Returns one part of a profile type's id. */
static Span
render_type_part(Span type, int index)
{
	const uint8_t *part = type.bytes;
	const uint8_t *end = type.bytes + type.length;
	const uint8_t *colon;

	for (; index > 0; index--)
	{
		colon = memchr(part, ':', (size_t) (end - part));
		part = colon != NULL ? colon + 1 : end;
	}
	colon = memchr(part, ':', (size_t) (end - part));
	return (Span){ part, (size_t) ((colon != NULL ? colon : end) - part) };
}

static bool
render_is(Span text, const char *word)
{
	return text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}

/*
 * Appends the metadata. Pyroscope's viewers show values as times because of its units and sample
 * rate.
 */
static void
render_put_metadata(Buffer *out, Span type, const char *format)
{
	const Span sample_type = render_type_part(type, 1);
	const bool is_cpu = render_is(sample_type, "cpu");
	const bool counts = render_is(sample_type, "inuse_objects") ||
						render_is(sample_type, "alloc_objects") ||
						render_is(sample_type, "goroutine") || render_is(sample_type, "samples");

	render_put(out, ",\"metadata\":{\"format\":\"");
	render_put(out, format);
	render_put(out, "\",\"spyName\":\"\",\"sampleRate\":");
	render_put(out, is_cpu ? "1000000000" : "100");
	render_put(out, ",\"units\":");
	if (is_cpu || counts)
		render_put(out, is_cpu ? "\"samples\"" : "\"objects\"");
	else
		json_put_text(out, render_type_part(type, 2));
	render_put(out, ",\"name\":");
	json_put_text(out, sample_type);
	render_put(out, "},\"groups\":null,\"heatmap\":null,\"timeline\":");
}

/* Returns the length of a timeline's steps, such that the range has some hundred steps. */
static int64_t
timeline_step_s(const SelectRequest *request)
{
	const int64_t length_s = (request->end_ms - request->start_ms) / 1000;
	const int64_t unit_s = 10;

	return (length_s / TIMELINE_STEPS / unit_s + 1) * unit_s;
}

/* Appends zeros up to an index; *next is the index to write next. */
static void
timeline_fill(Buffer *out, int64_t *next, int64_t index)
{
	for (; *next < index; (*next)++)
		render_put(out, *next > 0 ? ",0" : "0");
}

/* Appends {startTime, samples, durationDelta}: the sum of each step in the range. */
static void
timeline_put_rows(Buffer *out, const SelectRequest *request, const Selection *selection,
				  const Result *result, int64_t step_s)
{
	const int64_t first = request->start_ms / 1000 / step_s;
	const int64_t count = request->end_ms / 1000 / step_s - first + 1;
	char text[96];
	int64_t next = 0;

	snprintf(text, sizeof(text), "{\"startTime\":%lld,\"samples\":[", (long long) (first * step_s));
	render_put(out, text);
	for (size_t i = 0; result != NULL && i < result_rows(result); i++)
	{
		const int64_t begin_ms = result_int8_at(result, i, 2);
		const int64_t index = begin_ms / 1000 / step_s - first;
		const double value = selection_value(selection, result_float8_at(result, i, 3));

		/* A row outside of the steps would shift all values after it. */
		if (index < next || index >= count)
			continue;
		timeline_fill(out, &next, index);
		snprintf(text, sizeof(text), "%s%.0f", next++ > 0 ? "," : "", value > 0 ? value : 0);
		render_put(out, text);
	}
	timeline_fill(out, &next, count);
	snprintf(text, sizeof(text), "],\"durationDelta\":%lld,\"watermarks\":null}",
			 (long long) step_s);
	render_put(out, text);
}

/* Appends the timeline of a request. Returns false after answering with an error. */
static bool
put_timeline(Asked *asked, const SelectRequest *request, Buffer *out)
{
	const int64_t step_s = timeline_step_s(request);
	const SeriesSteps steps = { .from_ms = request->start_ms,
								.to_ms = request->end_ms + 1,
								.origin_ms = 0,
								.length_ms = step_s * 1000 };
	Selection selection;
	Result *result = NULL;
	bool good;

	/* The steps align to the epoch, because timeline_put_rows() counts them from there. */
	good = selection_read(asked, &selection, request->type, request->selector);
	if (good && !selection.is_empty)
	{
		result = query_timeseries(asked, request, &selection, &steps);
		good = result != NULL;
	}
	/* A selection that matches nothing has a timeline of zeros. */
	if (good)
		timeline_put_rows(out, request, &selection, result, step_s);
	result_free(result);
	selection_fini(&selection);
	return good;
}

/* Appends a flame graph; for a difference, also the totals of both sides. */
static void
put_flamebearer(const FlameLevels *levels, Buffer *out)
{
	char ticks[96];

	render_put(out, "{\"version\":1,\"flamebearer\":");
	flame_levels_put_json(levels, out);
	if (!levels->is_diff)
		return;
	snprintf(ticks, sizeof(ticks), ",\"leftTicks\":%lld,\"rightTicks\":%lld",
			 (long long) levels->left_ticks, (long long) levels->right_ticks);
	render_put(out, ticks);
}

void
render(Host *host, Call *call)
{
	Asked asked = { .serving = serving_of(host), .call = call };
	Buffer *out = &call->answer.body;
	RenderQuery query;
	SelectRequest request;
	bool good = render_read(&asked, &query);

	if (good)
	{
		request = render_request(&query, 0);
		if (pfs_text_equals(query.format, "dot"))
		{
			call->answer.content = PLAIN;
			good = answer_dot(&asked, &request, out);
		}
		else if (pfs_text_equals(query.format, "json"))
		{
			call->answer.content = JSON;
			/* The graph opens the JSON object, to which metadata and timeline are added. */
			good = answer_flamegraph(&asked, &request, put_flamebearer, out);
			if (good)
			{
				render_put_metadata(out, request.type, "single");
				good = put_timeline(&asked, &request, out);
				render_put(out, "}");
			}
		}
		else
			good = asked_refuse(&asked, GRPC_INVALID_ARGUMENT, "the format must be json or dot");
	}
	/* The request points into the arena, so it is freed after the answer is complete. */
	arena_fini(&query.arena);
	asked_end(&asked, good);
}

void
render_diff(Host *host, Call *call)
{
	Asked asked = { .serving = serving_of(host), .call = call };
	Buffer *out = &call->answer.body;
	RenderQuery query;
	SelectRequest left;
	SelectRequest right;
	bool good = render_read(&asked, &query);

	if (good)
	{
		left = render_request(&query, 0);
		right = render_request(&query, 1);
		call->answer.content = JSON;
		good = answer_diff(&asked, &left, &right, put_flamebearer, out);
	}
	if (good)
	{
		render_put_metadata(out, left.type, "double");
		/* A difference has two ranges, and so no timeline. */
		render_put(out, "null}");
	}
	arena_fini(&query.arena);
	asked_end(&asked, good);
}
