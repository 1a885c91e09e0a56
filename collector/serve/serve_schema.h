/*
 * serve_schema.h
 *		Names and numbers of the fields of Pyroscope's querier: querier.v1, types.v1, google.v1.
 */
#ifndef COLLECTOR_SERVE_SCHEMA_H
#define COLLECTOR_SERVE_SCHEMA_H

#include "otlp/json_schema.h"

extern const JsonMessage schema_types_request;
extern const JsonMessage schema_types_answer;
extern const JsonMessage schema_names_request;
extern const JsonMessage schema_values_request;
extern const JsonMessage schema_names_answer; /* answer of LabelNames and LabelValues */
extern const JsonMessage schema_series_request;
extern const JsonMessage schema_series_answer;
extern const JsonMessage schema_stacktraces_request;
extern const JsonMessage schema_stacktraces_answer;
extern const JsonMessage schema_span_request;
extern const JsonMessage schema_span_answer;
extern const JsonMessage schema_profile_request;
extern const JsonMessage schema_profile; /* pprof */
extern const JsonMessage schema_select_series_request;
extern const JsonMessage schema_select_series_answer;
extern const JsonMessage schema_diff_request;
extern const JsonMessage schema_diff_answer;
extern const JsonMessage schema_stats_answer;
extern const JsonMessage schema_empty;

#endif
