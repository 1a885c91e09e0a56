/*
 * querier.c
 *		The methods of Pyroscope's QuerierService, over Connect: protobuf and JSON.
 *
 * JSON requests are converted to protobuf before a method runs, and its answer to JSON afterwards.
 */

#include "http_server/json_body.h"
#include "http_server/protobuf.h"
#include "otlp/json.h"
#include "receive/inflate.h"
#include "serve/answers.h"
#include "serve/json_answer.h"
#include "serve/serve_schema.h"
#include "serve/serve_services.h"

/* Limit of the points of one series; Prometheus has an equal one. */
#define POINTS_MAX 11000

/* Limit of times: the years 1 to 9999 are within it. */
#define MS_MAX INT64_C(400000000000000)

/*
 * Writes the answer of a method to a request into call->answer.body. Returns false after an error.
 */
typedef bool (*QuerierMethod)(Asked *asked, const SelectRequest *request);

/* --- requests --- */

/* Unpacks the body in place. Returns false after answering. */
static bool
querier_inflate(Asked *asked)
{
	switch (inflate_call(asked->call, asked->serving->options->host.max_message))
	{
		case INFLATE_OK:
			return true;
		case INFLATE_TOO_LARGE:
			return asked_refuse(asked, GRPC_RESOURCE_EXHAUSTED,
								"the unpacked request is larger than --max-message");
		case INFLATE_NO_MEMORY:
			return asked_no_memory(asked);
		case INFLATE_MALFORMED:
			break;
	}
	return asked_refuse(asked, GRPC_INVALID_ARGUMENT, "the request cannot be unpacked");
}

/* Replaces a JSON body by its protobuf. Returns false after answering. */
static bool
querier_read_json(Asked *asked, const JsonMessage *schema)
{
	JsonBodyEnd end;

	if (asked->call->content != CONTENT_JSON)
		return true;
	end = json_body_read(asked->call, schema);
	if (end == JSON_BODY_NO_MEMORY)
		return asked_no_memory(asked);
	/* json_body_read() has answered with the place of the error. */
	if (end == JSON_BODY_INVALID)
		metric_add(&asked->serving->metrics.questions_refused_total, 1);
	return end == JSON_BODY_READ;
}

/* Replaces the answer's protobuf by its JSON. Returns false after answering. */
static bool
querier_write_json(Asked *asked, const JsonMessage *schema)
{
	Call *call = asked->call;
	const Span message = { (const uint8_t *) call->answer.body.bytes, call->answer.body.length };
	Buffer text = { NULL };
	bool good;

	if (call->answer.body.failed)
		return asked_no_memory(asked);
	if (call->content != CONTENT_JSON)
		return true;
	good = json_put_message(&text, message, schema);
	if (!good || text.failed)
	{
		const bool no_memory = text.failed;

		buffer_fini(&text);
		return no_memory ? asked_no_memory(asked)
						 : asked_refuse(asked, GRPC_INTERNAL, "the answer is malformed");
	}
	/* The protobuf goes before the answer is charged, so only the JSON counts. */
	buffer_fini(&call->answer.body);
	call->answer.body = text;
	return true;
}

/* Reads the fields of the request by their meanings. Returns false after answering. */
static bool
querier_read(Asked *asked, Span message, const SelectFields fields, SelectRequest *request)
{
	bool is_unsupported;
	const char *error = select_request_read(request, message, fields, &is_unsupported);

	if (error != NULL)
		return asked_refuse(asked, is_unsupported ? GRPC_UNIMPLEMENTED : GRPC_INVALID_ARGUMENT,
							error);
	/* Within these bounds, sums and differences of times and steps do not overflow. */
	if (request->start_ms < -MS_MAX || request->start_ms > MS_MAX || request->end_ms < -MS_MAX ||
		request->end_ms > MS_MAX)
		return asked_refuse(asked, GRPC_INVALID_ARGUMENT, "times must be milliseconds since 1970");
	return true;
}

typedef struct QuerierKind
{
	const JsonMessage *request;
	const JsonMessage *answer;
	const SelectField *fields;
	QuerierMethod method;
} QuerierKind;

/* Handles a call: reads its body, runs the method, and gives the answer back. */
static void
querier_answer(Host *host, Call *call, const QuerierKind *kind)
{
	Asked asked = { .serving = serving_of(host), .call = call };
	SelectRequest request;
	/* The request points into the body, which therefore stays until the method has returned. */
	const bool good =
		querier_inflate(&asked) && querier_read_json(&asked, kind->request) &&
		querier_read(&asked, (Span){ call->body, call->body_length }, kind->fields, &request) &&
		kind->method(&asked, &request) && querier_write_json(&asked, kind->answer);

	asked_end(&asked, good);
}

/* Defines a method's handler. */
#define METHOD(name, request, answer, ...)                                            \
	void querier_##name(Host *host, Call *call)                                       \
	{                                                                                 \
		static const SelectFields fields = { __VA_ARGS__ };                           \
		static const QuerierKind kind = { &request, &answer, fields, method_##name }; \
                                                                                      \
		querier_answer(host, call, &kind);                                            \
	}

/* --- types and labels --- */

/* Refuses a list that exceeds the limit, rather than cutting it. */
static bool
list_fits(Asked *asked, Result *result)
{
	if (result == NULL)
		return false;
	if (result_rows(result) <= QUERY_LIST_MAX)
		return true;
	result_free(result);
	return asked_refuse(asked, GRPC_RESOURCE_EXHAUSTED,
						"the list has more than 100000 items: use matchers");
}

/* Appends ProfileType{1 ID, 2 name, 4 to 7 parts} of an id. */
static void
put_type(Buffer *out, const char *id, size_t length)
{
	static const unsigned numbers[] = { 2, 4, 5, 6, 7 };
	const char *end = id + length;
	const char *part = id;
	Buffer type = { NULL };

	buffer_put_field(&type, 1, id, length);
	/* A sixth part, ":instant", is in the id only, because the message has no field for it. */
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && part < end; i++)
	{
		const char *colon = memchr(part, ':', (size_t) (end - part));
		const char *stop = colon != NULL ? colon : end;

		buffer_put_field(&type, numbers[i], part, (size_t) (stop - part));
		part = stop + 1;
	}
	buffer_put_field(out, 1, type.bytes, type.length);
	out->failed |= type.failed;
	buffer_fini(&type);
}

static bool
method_profile_types(Asked *asked, const SelectRequest *request)
{
	Result *result = query_types(asked, request->start_ms, request->end_ms);

	if (!list_fits(asked, result))
		return false;
	for (size_t i = 0; i < result_rows(result); i++)
	{
		size_t length;
		const char *id = result_bytes_at(result, i, 0, &length);

		put_type(&asked->call->answer.body, id, length);
	}
	result_free(result);
	return true;
}

METHOD(profile_types, schema_types_request,
	   schema_types_answer, [1] = SELECT_START, [2] = SELECT_END)

/* Appends a column of texts as field 1. */
static bool
put_names(Asked *asked, Result *result)
{
	if (!list_fits(asked, result))
		return false;
	for (size_t i = 0; i < result_rows(result); i++)
	{
		size_t length;
		const char *name = result_bytes_at(result, i, 0, &length);

		buffer_put_field(&asked->call->answer.body, 1, name, length);
	}
	result_free(result);
	return true;
}

static bool
method_label_names(Asked *asked, const SelectRequest *request)
{
	return put_names(asked, query_label_names(asked, request));
}

METHOD(label_names, schema_names_request,
	   schema_names_answer, [1] = SELECT_MATCHER, [2] = SELECT_START, [3] = SELECT_END)

static bool
method_label_values(Asked *asked, const SelectRequest *request)
{
	if (request->name.length == 0)
		return asked_refuse(asked, GRPC_INVALID_ARGUMENT, "the name of the label is missing");
	return put_names(asked, query_label_values(asked, request));
}

METHOD(label_values, schema_values_request, schema_names_answer, [1] = SELECT_NAME,
	   [2] = SELECT_MATCHER, [3] = SELECT_START, [4] = SELECT_END)

/* Appends LabelPair{1 name, 2 value} for each pair of texts of a column, as field 1. */
static void
put_pairs(Buffer *out, const Result *result, size_t row, int column)
{
	WireTexts texts = { .at = 0 };

	texts.bytes = result_bytes_at(result, row, column, &texts.length);
	while (wire_text_next(&texts))
	{
		const char *name = texts.text;
		const size_t name_length = texts.text_length;
		Buffer pair = { NULL };

		if (!wire_text_next(&texts))
			break;
		buffer_put_field(&pair, 1, name, name_length);
		buffer_put_field(&pair, 2, texts.text, texts.text_length);
		buffer_put_field(out, 1, pair.bytes, pair.length);
		out->failed |= pair.failed;
		buffer_fini(&pair);
	}
}

/* Answers with the sets of labels of the series, each as a message of pairs. */
static bool
method_series(Asked *asked, const SelectRequest *request)
{
	Result *result = query_series(asked, request);
	Buffer labels = { NULL };

	if (!list_fits(asked, result))
		return false;
	for (size_t i = 0; i < result_rows(result); i++)
	{
		buffer_reset(&labels);
		put_pairs(&labels, result, i, 0);
		buffer_put_field(&asked->call->answer.body, 2, labels.bytes, labels.length);
		asked->call->answer.body.failed |= labels.failed;
	}
	buffer_fini(&labels);
	result_free(result);
	return true;
}

METHOD(series, schema_series_request, schema_series_answer, [1] = SELECT_MATCHER,
	   [2] = SELECT_GROUP_BY, [3] = SELECT_START, [4] = SELECT_END)

static bool
method_profile_stats(Asked *asked, const SelectRequest *request)
{
	Buffer *out = &asked->call->answer.body;
	Result *result = query_stats(asked);

	if (result == NULL)
		return false;
	/* Without any series the answer is empty, because the times would be those of 1970. */
	if (result_is(result, 0, true))
	{
		buffer_put_number(out, 1, 1);
		buffer_put_number(out, 2, (uint64_t) result_int8(result, 1));
		buffer_put_number(out, 3, (uint64_t) result_int8(result, 2));
	}
	result_free(result);
	return true;
}

METHOD(profile_stats, schema_empty, schema_stats_answer, [1] = SELECT_NONE)

static bool
method_nothing(Asked *asked, const SelectRequest *request)
{
	return true;
}

METHOD(nothing, schema_empty, schema_empty, [1] = SELECT_NONE)

/* --- time series --- */

static bool
step_is_good(Asked *asked, const SelectRequest *request)
{
	const double length_s = (double) (request->end_ms - request->start_ms) / 1000;

	/* Without both ends the number of points is unknown. */
	if (request->start_ms == 0 || request->end_ms == 0)
		return asked_refuse(asked, GRPC_INVALID_ARGUMENT, "the range must have a start and an end");
	/* Written so that NaN is refused, too. */
	if (!(request->step_s >= 0.001 && request->step_s <= 1e9))
		return asked_refuse(asked, GRPC_INVALID_ARGUMENT, "the step must be 1 ms to 1e9 s");
	if (length_s / request->step_s > POINTS_MAX)
		return asked_refuse(asked, GRPC_INVALID_ARGUMENT,
							"the range has more than 11000 steps: use a longer step");
	return true;
}

/*
 * Returns Pyroscope's steps of a request. A point at time t has the samples after t - length, up to
 * and including the millisecond t. The first point is at the start of the range, the last one is
 * the last that is not after its end.
 */
static SeriesSteps
querier_steps(const SelectRequest *request)
{
	const int64_t length_ms = (int64_t) (request->step_s * 1e9) / 1000000;
	const int64_t begin_ms = request->start_ms - length_ms + 1;
	const int64_t count = (request->end_ms - request->start_ms) / length_ms + 1;

	return (SeriesSteps){ .from_ms = begin_ms,
						  .to_ms = begin_ms + count * length_ms,
						  .origin_ms = begin_ms,
						  .length_ms = length_ms };
}

/* Appends Point{1 value, 2 timestamp}, at the last millisecond of its step. */
static void
put_point(Buffer *out, int64_t end_ms, double value)
{
	Buffer point = { NULL };
	char bytes[PFS_WIRE_FIELD_MAX];
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	bits = htole64(bits);
	buffer_put_bytes(&point, bytes,
					 (size_t) (pfs_wire_put_varint(bytes,
												   1 << PFS_WIRE_TAG_SHIFT | PFS_WIRE_64_BITS) -
							   bytes));
	buffer_put_bytes(&point, &bits, sizeof(bits));
	buffer_put_number(&point, 2, (uint64_t) end_ms);
	buffer_put_field(out, 2, point.bytes, point.length);
	out->failed |= point.failed;
	buffer_fini(&point);
}

/* Appends the series. The rows of a series are adjacent; steps without samples have no point. */
static void
querier_put_series(Buffer *out, const SeriesSteps *steps, const Selection *selection,
				   const Result *result)
{
	Buffer series = { NULL };

	for (size_t i = 0; i < result_rows(result); i++)
	{
		const double value = result_float8_at(result, i, 3);

		/* Only the first row of a series has its labels. */
		if (!result_is_null_at(result, i, 1))
		{
			/* A message begins with its length, so a series is written when the next one begins. */
			if (i > 0)
				buffer_put_field(out, 1, series.bytes, series.length);
			out->failed |= series.failed;
			buffer_reset(&series);
			put_pairs(&series, result, i, 1);
		}
		if (value != 0)
			put_point(&series, result_int8_at(result, i, 2) + steps->length_ms - 1,
					  selection_value(selection, value));
	}
	if (result_rows(result) > 0)
		buffer_put_field(out, 1, series.bytes, series.length);
	out->failed |= series.failed;
	buffer_fini(&series);
}

/* Answers with the points of time series, by the steps of the request. */
static bool
method_select_series(Asked *asked, const SelectRequest *request)
{
	SeriesSteps steps;
	Selection selection;
	Result *result = NULL;
	bool good;

	if (!step_is_good(asked, request))
		return false;
	steps = querier_steps(request);
	/* The SQL function can focus on one function only. */
	if (request->call_count > 1)
		return asked_refuse(asked, GRPC_UNIMPLEMENTED,
							"a series can select one function, not a call site");
	good = selection_read(asked, &selection, request->type, request->selector);
	if (good && request->is_average && selection.is_delta)
		good = asked_refuse(asked, GRPC_UNIMPLEMENTED,
							"profiles are not stored individually, so averages are not available");
	/* A selection that can match nothing is answered without asking the database. */
	if (good && !selection.is_empty)
	{
		result = query_timeseries(asked, request, &selection, &steps);
		good = result != NULL;
	}
	if (result != NULL)
		querier_put_series(&asked->call->answer.body, &steps, &selection, result);
	result_free(result);
	selection_fini(&selection);
	return good;
}

METHOD(select_series, schema_select_series_request,
	   schema_select_series_answer, [1] = SELECT_TYPE, [2] = SELECT_SELECTOR, [3] = SELECT_START,
	   [4] = SELECT_END, [5] = SELECT_GROUP_BY, [6] = SELECT_STEP, [7] = SELECT_AGGREGATION,
	   [8] = SELECT_STACKS, [9] = SELECT_LIMIT, [10] = SELECT_EXEMPLARS)

/* --- profiles --- */

static const SelectFields stacktraces_fields = {
	[1] = SELECT_TYPE,		  [2] = SELECT_SELECTOR, [3] = SELECT_START,  [4] = SELECT_END,
	[5] = SELECT_MAX_NODES,	  [6] = SELECT_FORMAT,	 [7] = SELECT_STACKS, [8] = SELECT_UNSUPPORTED,
	[9] = SELECT_UNSUPPORTED, [10] = SELECT_TRACE,	 [11] = SELECT_SPAN
};

/* Appends the output of answer_NAME() as a field of the answer. */
static bool
put_field_of(Asked *asked, unsigned number, bool good, const Buffer *message)
{
	if (good && message->length > 0)
		buffer_put_field(&asked->call->answer.body, number, message->bytes, message->length);
	return good;
}

/* Appends PprofProfile{1 profile} as field 5. */
static bool
put_pprof_field(Asked *asked, const SelectRequest *request)
{
	Buffer profile = { NULL };
	Buffer wrapped = { NULL };
	bool good = answer_pprof(asked, request, &profile);

	if (good)
		buffer_put_field(&wrapped, 1, profile.bytes, profile.length);
	good = put_field_of(asked, 5, good, &wrapped);
	asked->call->answer.body.failed |= wrapped.failed;
	buffer_fini(&profile);
	buffer_fini(&wrapped);
	return good;
}

/* Answers with the stacks of a request, in the format that it names: one field for each format. */
static bool
method_merge_stacktraces(Asked *asked, const SelectRequest *request)
{
	Buffer message = { NULL };
	bool good;

	switch (request->format)
	{
		case FORMAT_DEFAULT:
		case FORMAT_FLAMEGRAPH:
			good =
				put_field_of(asked, 1,
							 answer_flamegraph(asked, request, flame_levels_put_message, &message),
							 &message);
			break;
		case FORMAT_DOT:
			good = put_field_of(asked, 3, answer_dot(asked, request, &message), &message);
			break;
		case FORMAT_PPROF:
			good = put_pprof_field(asked, request);
			break;
		default:
			good = asked_refuse(asked, GRPC_UNIMPLEMENTED,
								"the format must be FLAMEGRAPH, DOT or PPROF");
			break;
	}
	buffer_fini(&message);
	return good;
}

void
querier_merge_stacktraces(Host *host, Call *call)
{
	static const QuerierKind kind = { &schema_stacktraces_request, &schema_stacktraces_answer,
									  stacktraces_fields, method_merge_stacktraces };

	querier_answer(host, call, &kind);
}

static bool
method_merge_span_profile(Asked *asked, const SelectRequest *request)
{
	Buffer message = { NULL };
	bool good;

	/* The default, which is a flame graph, too, has the lowest number. */
	if (request->format > FORMAT_FLAMEGRAPH)
		return asked_refuse(asked, GRPC_UNIMPLEMENTED, "the format must be FLAMEGRAPH");
	good = put_field_of(asked, 1,
						answer_flamegraph(asked, request, flame_levels_put_message, &message),
						&message);
	buffer_fini(&message);
	return good;
}

METHOD(merge_span_profile, schema_span_request,
	   schema_span_answer, [1] = SELECT_TYPE, [2] = SELECT_SELECTOR, [3] = SELECT_SPAN,
	   [4] = SELECT_START, [5] = SELECT_END, [6] = SELECT_MAX_NODES, [7] = SELECT_FORMAT)

static bool
method_merge_profile(Asked *asked, const SelectRequest *request)
{
	return answer_pprof(asked, request, &asked->call->answer.body);
}

METHOD(
	merge_profile, schema_profile_request,
	schema_profile, [1] = SELECT_TYPE, [2] = SELECT_SELECTOR, [3] = SELECT_START, [4] = SELECT_END,
	[5] = SELECT_MAX_NODES, [6] = SELECT_STACKS, [7] = SELECT_UNSUPPORTED, [8] = SELECT_TRACE)

/* Answers with the difference of two requests. */
static bool
querier_answer_diff(Asked *asked, const Span sides[2])
{
	SelectRequest left;
	SelectRequest right;
	Buffer message = { NULL };
	const bool good =
		querier_read(asked, sides[0], stacktraces_fields, &left) &&
		querier_read(asked, sides[1], stacktraces_fields, &right) &&
		put_field_of(asked, 1,
					 answer_diff(asked, &left, &right, flame_levels_put_message, &message),
					 &message);

	buffer_fini(&message);
	return good;
}

/* Answers DiffRequest{1 left, 2 right}, which consists of two SelectMergeStacktracesRequest. */
void
querier_diff(Host *host, Call *call)
{
	Asked asked = { .serving = serving_of(host), .call = call };
	Span sides[2] = { { NULL, 0 }, { NULL, 0 } };
	bool good = querier_inflate(&asked) && querier_read_json(&asked, &schema_diff_request);

	if (good)
	{
		Message walk = message_of((Span){ call->body, call->body_length });

		/* The last occurrence of a field counts, as in every protobuf message. */
		while (message_next(&walk))
			if (field_is_message(&walk.field, 1) || field_is_message(&walk.field, 2))
				sides[walk.field.number - 1] = field_span(&walk.field);
		if (walk.error != NULL)
			good = asked_refuse(&asked, GRPC_INVALID_ARGUMENT, walk.error);
	}
	good = good && querier_answer_diff(&asked, sides) &&
		   querier_write_json(&asked, &schema_diff_answer);
	asked_end(&asked, good);
}
