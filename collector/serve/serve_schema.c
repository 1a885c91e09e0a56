/*
 * serve_schema.c
 *		Fields of the messages of Pyroscope's querier, API module 1.6.
 */
#include "serve/serve_schema.h"

#include "otlp/json_define.h"

#define PUBLIC(name, ...)                                          \
	static const JsonField name##_fields[] = { __VA_ARGS__, END }; \
	const JsonMessage name = { name##_fields }

static const JsonField no_fields[] = { END };
const JsonMessage schema_empty = { no_fields };

DEFINE(label_pair, ONE("name", 1, JSON_STRING), ONE("value", 2, JSON_STRING));

PUBLIC(schema_types_request, ONE("start", 1, JSON_NUMBER), ONE("end", 2, JSON_NUMBER));
DEFINE(profile_type, ONE("ID", 1, JSON_STRING), ONE("name", 2, JSON_STRING),
	   ONE("sampleType", 4, JSON_STRING), ONE("sampleUnit", 5, JSON_STRING),
	   ONE("periodType", 6, JSON_STRING), ONE("periodUnit", 7, JSON_STRING));
PUBLIC(schema_types_answer, MESSAGES("profileTypes", 1, &profile_type));

PUBLIC(schema_names_request, LIST("matchers", 1, JSON_STRING), ONE("start", 2, JSON_NUMBER),
	   ONE("end", 3, JSON_NUMBER));
PUBLIC(schema_values_request, ONE("name", 1, JSON_STRING), LIST("matchers", 2, JSON_STRING),
	   ONE("start", 3, JSON_NUMBER), ONE("end", 4, JSON_NUMBER));
PUBLIC(schema_names_answer, LIST("names", 1, JSON_STRING));

PUBLIC(schema_series_request, LIST("matchers", 1, JSON_STRING), LIST("labelNames", 2, JSON_STRING),
	   ONE("start", 3, JSON_NUMBER), ONE("end", 4, JSON_NUMBER));
DEFINE(labels, MESSAGES("labels", 1, &label_pair));
PUBLIC(schema_series_answer, MESSAGES("labelsSet", 2, &labels));

DEFINE(call_location, ONE("name", 1, JSON_STRING));
DEFINE(go_pgo, ONE("keepLocations", 1, JSON_NUMBER), ONE("aggregateCallees", 2, JSON_BOOL));
DEFINE(stack_selector, MESSAGES("callSite", 1, &call_location), MESSAGE("goPgo", 2, &go_pgo));
DEFINE(async_request, ONE("requestId", 1, JSON_STRING), ONE("type", 2, JSON_NUMBER));

static const char *const format_names[] = {
	"PROFILE_FORMAT_UNSPECIFIED", "PROFILE_FORMAT_FLAMEGRAPH", "PROFILE_FORMAT_TREE",
	"PROFILE_FORMAT_DOT",		  "PROFILE_FORMAT_PPROF",	   NULL
};
static const char *const aggregation_names[] = { "TIME_SERIES_AGGREGATION_TYPE_SUM",
												 "TIME_SERIES_AGGREGATION_TYPE_AVERAGE", NULL };
static const char *const exemplar_names[] = { "EXEMPLAR_TYPE_UNSPECIFIED", "EXEMPLAR_TYPE_NONE",
											  "EXEMPLAR_TYPE_INDIVIDUAL", "EXEMPLAR_TYPE_SPAN",
											  NULL };

PUBLIC(schema_stacktraces_request, ONE("profileTypeID", 1, JSON_STRING),
	   ONE("labelSelector", 2, JSON_STRING), ONE("start", 3, JSON_NUMBER),
	   ONE("end", 4, JSON_NUMBER), ONE("maxNodes", 5, JSON_NUMBER),
	   CHOICE("format", 6, format_names), MESSAGE("stackTraceSelector", 7, &stack_selector),
	   LIST("profileIdSelector", 8, JSON_STRING), MESSAGE("async", 9, &async_request),
	   LIST("traceIdSelector", 10, JSON_STRING), LIST("spanSelector", 11, JSON_STRING));
DEFINE(level, LIST("values", 1, JSON_NUMBER));
DEFINE(flame_graph, LIST("names", 1, JSON_STRING), MESSAGES("levels", 2, &level),
	   ONE("total", 3, JSON_NUMBER), ONE("maxSelf", 4, JSON_NUMBER));
DEFINE(pprof_profile, MESSAGE("profile", 1, &schema_profile));
PUBLIC(schema_stacktraces_answer, MESSAGE("flamegraph", 1, &flame_graph),
	   ONE("dot", 3, JSON_STRING), MESSAGE("pprof", 5, &pprof_profile));

PUBLIC(schema_span_request, ONE("profileTypeID", 1, JSON_STRING),
	   ONE("labelSelector", 2, JSON_STRING), LIST("spanSelector", 3, JSON_STRING),
	   ONE("start", 4, JSON_NUMBER), ONE("end", 5, JSON_NUMBER), ONE("maxNodes", 6, JSON_NUMBER),
	   CHOICE("format", 7, format_names));
PUBLIC(schema_span_answer, MESSAGE("flamegraph", 1, &flame_graph));

PUBLIC(schema_profile_request, ONE("profileTypeID", 1, JSON_STRING),
	   ONE("labelSelector", 2, JSON_STRING), ONE("start", 3, JSON_NUMBER),
	   ONE("end", 4, JSON_NUMBER), ONE("maxNodes", 5, JSON_NUMBER),
	   MESSAGE("stackTraceSelector", 6, &stack_selector), LIST("profileIdSelector", 7, JSON_STRING),
	   LIST("traceIdSelector", 8, JSON_STRING));

PUBLIC(schema_select_series_request, ONE("profileTypeID", 1, JSON_STRING),
	   ONE("labelSelector", 2, JSON_STRING), ONE("start", 3, JSON_NUMBER),
	   ONE("end", 4, JSON_NUMBER), LIST("groupBy", 5, JSON_STRING), ONE("step", 6, JSON_DOUBLE),
	   CHOICE("aggregation", 7, aggregation_names),
	   MESSAGE("stackTraceSelector", 8, &stack_selector), ONE("limit", 9, JSON_NUMBER),
	   CHOICE("exemplarType", 10, exemplar_names));
DEFINE(point, ONE("value", 1, JSON_DOUBLE), ONE("timestamp", 2, JSON_NUMBER));
DEFINE(series, MESSAGES("labels", 1, &label_pair), MESSAGES("points", 2, &point));
PUBLIC(schema_select_series_answer, MESSAGES("series", 1, &series));

PUBLIC(schema_diff_request, MESSAGE("left", 1, &schema_stacktraces_request),
	   MESSAGE("right", 2, &schema_stacktraces_request));
DEFINE(flame_graph_diff, LIST("names", 1, JSON_STRING), MESSAGES("levels", 2, &level),
	   ONE("total", 3, JSON_NUMBER), ONE("maxSelf", 4, JSON_NUMBER),
	   ONE("leftTicks", 5, JSON_NUMBER), ONE("rightTicks", 6, JSON_NUMBER));
PUBLIC(schema_diff_answer, MESSAGE("flamegraph", 1, &flame_graph_diff));

PUBLIC(schema_stats_answer, ONE("dataIngested", 1, JSON_BOOL),
	   ONE("oldestProfileTime", 2, JSON_NUMBER), ONE("newestProfileTime", 3, JSON_NUMBER));

/* --- pprof --- */

DEFINE(pprof_value_type, ONE("type", 1, JSON_NUMBER), ONE("unit", 2, JSON_NUMBER));
DEFINE(pprof_label, ONE("key", 1, JSON_NUMBER), ONE("str", 2, JSON_NUMBER),
	   ONE("num", 3, JSON_NUMBER), ONE("numUnit", 4, JSON_NUMBER));
DEFINE(pprof_sample, LIST("locationId", 1, JSON_UNSIGNED), LIST("value", 2, JSON_NUMBER),
	   MESSAGES("label", 3, &pprof_label));
DEFINE(pprof_mapping, ONE("id", 1, JSON_UNSIGNED), ONE("memoryStart", 2, JSON_UNSIGNED),
	   ONE("memoryLimit", 3, JSON_UNSIGNED), ONE("fileOffset", 4, JSON_UNSIGNED),
	   ONE("filename", 5, JSON_NUMBER), ONE("buildId", 6, JSON_NUMBER),
	   ONE("hasFunctions", 7, JSON_BOOL), ONE("hasFilenames", 8, JSON_BOOL),
	   ONE("hasLineNumbers", 9, JSON_BOOL), ONE("hasInlineFrames", 10, JSON_BOOL));
DEFINE(pprof_line, ONE("functionId", 1, JSON_UNSIGNED), ONE("line", 2, JSON_NUMBER));
DEFINE(pprof_location, ONE("id", 1, JSON_UNSIGNED), ONE("mappingId", 2, JSON_UNSIGNED),
	   ONE("address", 3, JSON_UNSIGNED), MESSAGES("line", 4, &pprof_line),
	   ONE("isFolded", 5, JSON_BOOL));
DEFINE(pprof_function, ONE("id", 1, JSON_UNSIGNED), ONE("name", 2, JSON_NUMBER),
	   ONE("systemName", 3, JSON_NUMBER), ONE("filename", 4, JSON_NUMBER),
	   ONE("startLine", 5, JSON_NUMBER));
PUBLIC(schema_profile, MESSAGES("sampleType", 1, &pprof_value_type),
	   MESSAGES("sample", 2, &pprof_sample), MESSAGES("mapping", 3, &pprof_mapping),
	   MESSAGES("location", 4, &pprof_location), MESSAGES("function", 5, &pprof_function),
	   LIST("stringTable", 6, JSON_STRING), ONE("dropFrames", 7, JSON_NUMBER),
	   ONE("keepFrames", 8, JSON_NUMBER), ONE("timeNanos", 9, JSON_NUMBER),
	   ONE("durationNanos", 10, JSON_NUMBER), MESSAGE("periodType", 11, &pprof_value_type),
	   ONE("period", 12, JSON_NUMBER), LIST("comment", 13, JSON_NUMBER),
	   ONE("defaultSampleType", 14, JSON_NUMBER));
