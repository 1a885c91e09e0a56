/*
 * queries.h
 *		All SQL of "serve": each function runs one query as the client.
 *
 * The caller frees results. NULL means that the call was answered with an error. Times are
 * milliseconds since 1970; ranges include both ends, as in Pyroscope.
 */
#ifndef COLLECTOR_SERVE_QUERIES_H
#define COLLECTOR_SERVE_QUERIES_H

#include "serve/asked.h"
#include "serve/select_request.h"

/* Limit of the rows of a list. If there are more, a query returns one row more than this. */
#define QUERY_LIST_MAX 100000

/* Limit of the points of all series of a query. */
#define QUERY_POINTS_MAX 500000

/* A profile type with label matchers, and a range, in the form that the SQL functions accept. */
typedef struct Selection
{
	Buffer selector; /* in the syntax of the extension */
	Buffer unit;
	bool is_delta;
	bool is_empty; /* a matcher contradicts the profile type, so nothing is selected */
} Selection;

/*
 * Translates a profile type's id and matchers of Pyroscope. Returns false after answering the call.
 * Call selection_fini() in either case.
 */
bool selection_read(Asked *asked, Selection *selection, Span type, Span matchers);
void selection_fini(Selection *selection);

/* Returns the profile types. Columns: id. */
Result *query_types(Asked *asked, int64_t start_ms, int64_t end_ms);

/* Returns the names of labels, including the protocol's. Columns: name. */
Result *query_label_names(Asked *asked, const SelectRequest *request);

/* Returns the values of the label request->name. Columns: value. */
Result *query_label_values(Asked *asked, const SelectRequest *request);

/* Returns the series. Columns: labels, as an array of texts: name, value, name, ... */
Result *query_series(Asked *asked, const SelectRequest *request);

/*
 * Returns a flame graph, depth first. Columns: level, value, self, label. If a call site is
 * requested, the graph contains all stacks with the last function of the call site. is_whole
 * requests all stacks and a very large number of nodes.
 */
Result *query_flamegraph(Asked *asked, const SelectRequest *request, const Selection *selection,
						 bool is_whole);

/*
 * Returns a difference, depth first. Columns: level, value, self, label; value and self of the
 * right side.
 */
Result *query_flamegraph_diff(Asked *asked, const SelectRequest *left, const Selection *left_is,
							  const SelectRequest *right, const Selection *right_is);

/* Returns a profile. Columns: profile, compressed by gzip. */
Result *query_pprof(Asked *asked, const SelectRequest *request, const Selection *selection);

/* Returns a call graph in the DOT language. Columns: dot. */
Result *query_dot(Asked *asked, const SelectRequest *request, const Selection *selection);

/* The samples of a time series, in [from_ms, to_ms), and its steps; one begins at origin_ms. */
typedef struct SeriesSteps
{
	int64_t from_ms;
	int64_t to_ms;
	int64_t origin_ms;
	int64_t length_ms; /* length of a step */
} SeriesSteps;

/*
 * Returns time series. Columns: number of the series, labels like query_series(), beginning of the
 * step in ms, value for selection_value().
 */
Result *query_timeseries(Asked *asked, const SelectRequest *request, const Selection *selection,
						 const SeriesSteps *steps);

/*
 * Converts a value of query_timeseries() to the unit of the profile type: the sum of the samples
 * whose times lie in the step. Levels, such as memory in use, are averages.
 */
double selection_value(const Selection *selection, double value);

/* Returns statistics. Columns: whether there are series, oldest and newest time in ms. */
Result *query_stats(Asked *asked);

#endif
