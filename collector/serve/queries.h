/*
 * queries.h
 *		All SQL of "serve": each function runs one query as the client.
 *
 * Results are freed by the caller. NULL: the call was answered with an error. Times are
 * milliseconds since 1970, ranges include both, as in Pyroscope.
 */
#ifndef COLLECTOR_SERVE_QUERIES_H
#define COLLECTOR_SERVE_QUERIES_H

#include "serve/asked.h"
#include "serve/select_request.h"

/* Most rows of a list; a query returns one more if there are more. */
#define QUERY_LIST_MAX 100000

/* Most points of all series of a query. */
#define QUERY_POINTS_MAX 500000

/* A profile type with label matchers, and a range, as SQL functions take them. */
typedef struct Selection
{
	Buffer selector; /* in the syntax of the extension */
	Buffer unit;
	bool is_delta;
	bool is_empty; /* a matcher contradicts the profile type */
} Selection;

/*
 * Translates an id and matchers of Pyroscope. Returns false after answering the call. Call
 * selection_fini() in either case.
 */
bool selection_read(Asked *asked, Selection *selection, Span type, Span matchers);
void selection_fini(Selection *selection);

/* Columns: id. */
Result *query_types(Asked *asked, int64_t start_ms, int64_t end_ms);

/* Columns: name, of labels, and of the protocol's own. */
Result *query_label_names(Asked *asked, const SelectRequest *request);

/* Columns: value, of the label request->name. */
Result *query_label_values(Asked *asked, const SelectRequest *request);

/* Columns: labels, as an array of texts: name, value, name, ... */
Result *query_series(Asked *asked, const SelectRequest *request);

/*
 * Columns: level, value, self, label; depth first. Of a call site all stacks with its last
 * function; is_whole: all stacks, and so many nodes that hardly any is left out.
 */
Result *query_flamegraph(Asked *asked, const SelectRequest *request, const Selection *selection,
						 bool is_whole);

/* Columns: level, value, self, label, value and self of the right; depth first. */
Result *query_flamegraph_diff(Asked *asked, const SelectRequest *left, const Selection *left_is,
							  const SelectRequest *right, const Selection *right_is);

/* Columns: profile, in gzip. */
Result *query_pprof(Asked *asked, const SelectRequest *request, const Selection *selection);

/* Columns: dot. */
Result *query_dot(Asked *asked, const SelectRequest *request, const Selection *selection);

/* Columns: number of the series, labels as of query_series(), time in ms, value per second. */
Result *query_timeseries(Asked *asked, const SelectRequest *request, const Selection *selection);

/*
 * Converts a value of query_timeseries() to Pyroscope's: the sum over a step. Levels, such as
 * memory in use, are not summed.
 */
double selection_step_value(const Selection *selection, double value, double step_s);

/* Columns: whether there are series, oldest and newest time in ms. */
Result *query_stats(Asked *asked);

#endif
