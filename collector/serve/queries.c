/*
 * queries.c
 *		The SQL statements and their parameters.
 *
 * In Pyroscope, profile types have five parts, so ":delta" is left out. If a type exists with and
 * without ":delta", the one without is shown with ":instant". Labels that begin with "__" belong to
 * the protocol: they are the parts of the profile type.
 */
#include "serve/queries.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#define FAILURE "could not query profiles"

/* Limit of the nodes of a flame graph; the default is Pyroscope's. */
#define NODES_MAX	  1048576
#define NODES_DEFAULT 8192
#define DOT_DEFAULT	  100

/* SQL: a value in the quotes of selectors. */
#define QUOTED(value)                        \
	"'\"' || replace(replace(replace(" value \
	", '\\', '\\\\'), '\"', '\\\"'), E'\\n', '\\n') || '\"'"

/*
 * SQL: whether a matcher m matches a value. The regular expressions of parse_selector() are
 * anchored.
 */
#define FITS(value)                                                     \
	"CASE m.operator"                                                   \
	" WHEN '=' THEN coalesce(" value ", '') = m.value"                  \
	" WHEN '!=' THEN coalesce(" value ", '') <> m.value"                \
	" WHEN '=~' THEN coalesce(" value ", '') ~ (m.value COLLATE \"C\")" \
	" ELSE coalesce(" value ", '') !~ (m.value COLLATE \"C\") END"

/* SQL: the parts of a profile type as labels of the protocol. */
#define OWN_LABELS(id)                                                                       \
	"jsonb_build_object('__profile_type__', " id ", '__name__', split_part(" id ", ':', 1)," \
	" '__type__', split_part(" id ", ':', 2), '__unit__', split_part(" id ", ':', 3),"       \
	" '__period_type__', split_part(" id ", ':', 4), '__period_unit__', split_part(" id      \
	", ':', 5))"

#define TYPES                                                                               \
	"types AS MATERIALIZED (SELECT t.profile_type, t.first_seen, t.last_seen,"              \
	" regexp_replace(t.profile_type, ':delta$', '') ||"                                     \
	" CASE WHEN NOT t.delta AND EXISTS (SELECT FROM profstore.profile_types() d"            \
	" WHERE d.profile_type = t.profile_type || ':delta') THEN ':instant' ELSE '' END AS id" \
	" FROM profstore.profile_types() t)"

/*
 * SQL: the matchers of a parsed selector p. Its metric name stands for one of the protocol's
 * labels.
 */
#define MATCHERS                                                                    \
	"(SELECT u.label, u.operator, u.value, u.label LIKE '\\_\\_%' AS is_own"        \
	" FROM (SELECT u.label, u.operator, u.value"                                    \
	" FROM unnest(p.labels, p.operators, p.\"values\") u(label, operator, value)"   \
	" UNION ALL SELECT CASE WHEN p.profile_type LIKE '%:%' THEN '__profile_type__'" \
	" ELSE '__name__' END, '=', p.profile_type WHERE p.profile_type IS NOT NULL) u)"

/*
 * SQL: the labels, including those of the protocol, of the series that $1 (selectors) selects in
 * [$2, $3).
 */
#define FOUND                                                                                           \
	"WITH " TYPES ","                                                                                   \
	" matchers AS (SELECT w.n, m.* FROM unnest($1) WITH ORDINALITY w(selector, n)"                      \
	" CROSS JOIN LATERAL profstore.parse_selector(w.selector) p"                                        \
	" CROSS JOIN LATERAL " MATCHERS " m),"                                                              \
	" found AS (SELECT s.labels || o.labels AS labels"                                                  \
	" FROM unnest($1) WITH ORDINALITY w(selector, n)"                                                   \
	" CROSS JOIN LATERAL profstore.series((SELECT '{' ||"                                               \
	" coalesce(string_agg(m.label || m.operator || " QUOTED(                                            \
		"m.value") ", ', '), '') || '}'"                                                                \
				   " FROM matchers m WHERE m.n = w.n AND NOT m.is_own), $2, $3) s"                      \
				   " JOIN types t ON t.profile_type = s.profile_type"                                   \
				   " CROSS JOIN LATERAL (SELECT " OWN_LABELS(                                           \
					   "t.id") ") o(labels)"                                                            \
							   " WHERE NOT EXISTS (SELECT FROM matchers m WHERE m.n = w.n AND m.is_own" \
							   " AND NOT " FITS("o.labels ->> m.label") "))"

/* SQL: an object of labels as an array of names and values. */
#define PAIRS(labels)                                                             \
	"(SELECT coalesce(array_agg(x.text ORDER BY e.key COLLATE \"C\", x.n), '{}')" \
	" FROM jsonb_each_text(" labels ") e"                                         \
	" CROSS JOIN LATERAL (VALUES (1, e.key), (2, e.value)) x(n, text))"

/* --- parameters --- */

#define PARAMS_MAX STATEMENT_MAX_PARAMS

/* The parameters of a query that is being built. */
typedef struct QueryParams
{
	Buffer values[PARAMS_MAX];
	Oid types[PARAMS_MAX];
	int count;
} QueryParams;

static Buffer *
param_add(QueryParams *params, Oid type)
{
	params->types[params->count] = type;
	params->values[params->count] = (Buffer){ NULL };
	return &params->values[params->count++];
}

static void
param_bytes(QueryParams *params, const void *bytes, size_t length)
{
	buffer_put_bytes(param_add(params, WIRE_TEXT), bytes != NULL ? bytes : "", length);
}

static void
param_text(QueryParams *params, Span text)
{
	param_bytes(params, text.bytes, text.length);
}

/* Adds a time; infinity if it is later or earlier than the database's. */
static void
param_instant(QueryParams *params, int64_t time_ms)
{
	Buffer *value = param_add(params, WIRE_TIMESTAMPTZ);

	/* The bounds keep the conversion to microseconds from overflowing. */
	if (time_ms > INT64_MAX / 1000 - 1 || time_ms < INT64_MIN / 1000)
		buffer_put_int8(value, time_ms < 0 ? INT64_MIN : INT64_MAX);
	else
		wire_timestamp_param(value, time_ms * 1000);
}

/* Adds a time of a request. Clients send 0 for none, which becomes an open end. */
static void
param_time(QueryParams *params, int64_t time_ms, int64_t open_end)
{
	if (time_ms == 0)
		buffer_put_int8(param_add(params, WIRE_TIMESTAMPTZ), open_end);
	else
		param_instant(params, time_ms);
}

/*
 * Adds the range of a request. Pyroscope includes the end of a range, the SQL functions exclude it.
 */
static void
param_range(QueryParams *params, int64_t start_ms, int64_t end_ms)
{
	param_time(params, start_ms, INT64_MIN);
	/* 0 means an open end, and INT64_MAX has no successor. */
	param_time(params, end_ms == 0 || end_ms == INT64_MAX ? end_ms : end_ms + 1, INT64_MAX);
}

static void
param_texts(QueryParams *params, const SelectTexts *texts)
{
	Buffer *value = param_add(params, WIRE_TEXT_ARRAY);

	wire_array(value, WIRE_TEXT, texts->count);
	for (size_t i = 0; i < texts->count; i++)
		wire_bytes_element(value, texts->items[i].bytes, texts->items[i].length);
}

static void
param_int4(QueryParams *params, int64_t number)
{
	buffer_put_int4(param_add(params, WIRE_INT4), (int32_t) number);
}

/* Adds a trace, a span, and the last function of a call site; "" if absent. */
static void
param_stacks(QueryParams *params, const SelectRequest *request)
{
	const Span none = { (const uint8_t *) "", 0 };

	param_text(params, request->traces.count > 0 ? request->traces.items[0] : none);
	param_text(params, request->spans.count > 0 ? request->spans.items[0] : none);
	param_text(params, request->call_count > 0 ? request->calls[request->call_count - 1] : none);
}

/* Runs a query, and frees its parameters. */
static Result *
query_run(Asked *asked, const char *sql, QueryParams *params)
{
	Statement statement = {
		.sql = sql, .failure = FAILURE, .keep = true, .param_count = params->count
	};
	Result *result;

	for (int i = 0; i < params->count; i++)
		statement.params[i] = (StatementParam){ params->types[i], &params->values[i] };
	result = asked_query(asked, &statement);
	for (int i = 0; i < params->count; i++)
		buffer_fini(&params->values[i]);
	return result;
}

/* --- types and labels --- */

Result *
query_types(Asked *asked, int64_t start_ms, int64_t end_ms)
{
	QueryParams params = { .count = 0 };

	param_range(&params, start_ms, end_ms);
	/*
	 * IS NOT TRUE keeps types whose times are unknown. One row more than QUERY_LIST_MAX shows that
	 * the list is too long.
	 */
	return query_run(asked,
					 "WITH " TYPES " SELECT t.id FROM types t"
					 " WHERE (t.last_seen + interval '1 minute' < $1 OR t.first_seen >= $2)"
					 " IS NOT TRUE ORDER BY t.id COLLATE \"C\" LIMIT 100001",
					 &params);
}

/* Adds selectors and the range. An empty selector, or none at all, selects everything. */
static void
param_matchers(QueryParams *params, const SelectRequest *request)
{
	static const Span everything = { (const uint8_t *) "{}", 2 };
	SelectTexts texts = request->matchers;

	if (texts.count == 0)
		texts.items[texts.count++] = everything;
	for (size_t i = 0; i < texts.count; i++)
		if (texts.items[i].length == 0)
			texts.items[i] = everything;
	param_texts(params, &texts);
	param_range(params, request->start_ms, request->end_ms);
}

Result *
query_label_names(Asked *asked, const SelectRequest *request)
{
	QueryParams params = { .count = 0 };

	param_matchers(&params, request);
	return query_run(asked,
					 FOUND " SELECT DISTINCT k.name COLLATE \"C\" FROM found f"
						   " CROSS JOIN LATERAL jsonb_object_keys(f.labels) k(name)"
						   " ORDER BY 1 LIMIT 100001",
					 &params);
}

Result *
query_label_values(Asked *asked, const SelectRequest *request)
{
	QueryParams params = { .count = 0 };

	param_matchers(&params, request);
	param_text(&params, request->name);
	return query_run(asked,
					 FOUND " SELECT DISTINCT (f.labels ->> $4) COLLATE \"C\" FROM found f"
						   " WHERE f.labels ->> $4 IS NOT NULL ORDER BY 1 LIMIT 100001",
					 &params);
}

Result *
query_series(Asked *asked, const SelectRequest *request)
{
	QueryParams params = { .count = 0 };

	param_matchers(&params, request);
	param_texts(&params, &request->labels);
	/* Without labels to group by, whole sets of labels are returned. */
	return query_run(
		asked,
		FOUND " SELECT " PAIRS(
			"d.labels") " FROM (SELECT DISTINCT f.labels FROM"
						" (SELECT CASE WHEN cardinality($4) = 0 THEN f.labels"
						" ELSE (SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}')"
						" FROM jsonb_each(f.labels) e WHERE e.key = ANY ($4)) END AS labels"
						" FROM found f) f ORDER BY 1 LIMIT 100001) d",
		&params);
}

Result *
query_stats(Asked *asked)
{
	QueryParams params = { .count = 0 };

	return query_run(asked,
					 "SELECT count(*) > 0, (extract(epoch FROM min(t.first_seen)) * 1000)::int8,"
					 " (extract(epoch FROM max(t.last_seen)) * 1000)::int8"
					 " FROM profstore.profile_types() t",
					 &params);
}

/* --- selections --- */

void
selection_fini(Selection *selection)
{
	buffer_fini(&selection->selector);
	buffer_fini(&selection->unit);
}

/* Returns true if the type has five parts, none of which could end the name within a selector. */
static bool
is_type_id(Span type)
{
	size_t colons = 0;

	for (size_t i = 0; i < type.length; i++)
	{
		colons += type.bytes[i] == ':';
		if (type.bytes[i] <= ' ' || strchr("{}()\"'`,", type.bytes[i]) != NULL)
			return false;
	}
	return colons == 4 || colons == 5;
}

static void
buffer_put_column(Buffer *buffer, const Result *result, int column)
{
	size_t length;
	const char *bytes = result_bytes(result, column, &length);

	buffer_put_bytes(buffer, bytes, length);
}

bool
selection_read(Asked *asked, Selection *selection, Span type, Span matchers)
{
	QueryParams params = { .count = 0 };
	Result *result;

	*selection = (Selection){ .is_empty = false };
	if (!is_type_id(type))
		return asked_refuse(
			asked, GRPC_INVALID_ARGUMENT,
			"a profile type must be NAME:SAMPLE_TYPE:SAMPLE_UNIT:PERIOD_TYPE:PERIOD_UNIT");
	param_text(&params, type);
	param_text(&params, matchers);
	/*
	 * One query finds the stored name of the type, writes the matchers as a selector, and tests
	 * those of the protocol against the parts of the type.
	 */
	result = query_run(
		asked,
		"SELECT n.profile_type || '{' || coalesce(string_agg(m.label || m.operator || " QUOTED(
			"m.value") ", ', ') FILTER (WHERE NOT m.is_own), '') || '}',"
					   " n.profile_type LIKE '%:delta', split_part($1, ':', 3),"
					   " coalesce(bool_and(NOT m.is_own OR " FITS(
						   "o.labels ->> m.label") "), true)"
												   " FROM (SELECT CASE WHEN $1 LIKE '%:instant' THEN left($1, -8)"
												   " WHEN EXISTS (SELECT FROM profstore.profile_types() t"
												   " WHERE t.profile_type = $1 || ':delta') THEN $1 || ':delta' ELSE $1 END) n(profile_type)"
												   " CROSS JOIN LATERAL (SELECT " OWN_LABELS(
													   "$1") ") o(labels)"
															 " CROSS JOIN LATERAL profstore.parse_selector(CASE WHEN btrim($2) = '' THEN '{}'"
															 " ELSE $2 END) p"
															 " LEFT JOIN LATERAL " MATCHERS
															 " m ON true GROUP BY n.profile_type",
		&params);
	if (result == NULL)
		return false;
	if (!result_is_row(result, 4))
	{
		result_free(result);
		return asked_refuse(asked, GRPC_INTERNAL, FAILURE);
	}
	buffer_put_column(&selection->selector, result, 0);
	selection->is_delta = result_is(result, 1, true);
	buffer_put_column(&selection->unit, result, 2);
	selection->is_empty = result_is(result, 3, false);
	result_free(result);
	return !selection->selector.failed && !selection->unit.failed ? true : asked_no_memory(asked);
}

double
selection_value(const Selection *selection, double value)
{
	static const char nanoseconds[] = "nanoseconds";

	if (selection->is_delta && selection->unit.length == strlen(nanoseconds) &&
		memcmp(selection->unit.bytes, nanoseconds, strlen(nanoseconds)) == 0)
		value = rint(value * 1e9); /* timeseries() has seconds; sums are whole numbers */
	return value;
}

/* --- profiles --- */

/* Checks the parts that all requests for profiles have. Returns false after answering. */
static bool
request_is_good(Asked *asked, const SelectRequest *request)
{
	if (request->start_ms > request->end_ms)
		return asked_refuse(asked, GRPC_INVALID_ARGUMENT, "the start is after the end");
	if (request->max_nodes < 0 || request->max_nodes > NODES_MAX)
		return asked_refuse(asked, GRPC_INVALID_ARGUMENT,
							"the number of nodes must be between 0 and 1048576");
	if (request->traces.count > 1 || request->spans.count > 1)
		return asked_refuse(asked, GRPC_UNIMPLEMENTED, "a query can select one trace and one span");
	return true;
}

static int64_t
nodes_of(const SelectRequest *request, int64_t otherwise)
{
	return request->max_nodes > 0 ? request->max_nodes : otherwise;
}

/* SQL: the arguments that param_stacks() adds, as $4 to $6. */
#define STACKS                                               \
	"trace => nullif($4, '')::uuid, span => nullif($5, '')," \
	" focus => CASE WHEN $6 <> '' THEN '{function=' || " QUOTED("$6") " || '}' END"

/* Adds selector, range, trace, span and function, as $1 to $6. */
static void
param_selection(QueryParams *params, const SelectRequest *request, const Selection *selection)
{
	param_bytes(params, selection->selector.bytes, selection->selector.length);
	param_range(params, request->start_ms, request->end_ms);
	param_stacks(params, request);
}

Result *
query_flamegraph(Asked *asked, const SelectRequest *request, const Selection *selection,
				 bool is_whole)
{
	QueryParams params = { .count = 0 };

	if (!request_is_good(asked, request))
		return NULL;
	param_selection(&params, request, selection);
	if (is_whole)
		buffer_reset(&params.values[5]); /* drop the function, to read all stacks */
	/* Nodes that are left out could belong to the call site, so all are requested. */
	param_int4(&params, is_whole ? NODES_MAX : nodes_of(request, NODES_DEFAULT));
	return query_run(asked,
					 "SELECT level, value, self, label"
					 " FROM profstore.flamegraph($1, $2, $3, max_nodes => $7, " STACKS
					 ") ORDER BY ord",
					 &params);
}

Result *
query_flamegraph_diff(Asked *asked, const SelectRequest *left, const Selection *left_is,
					  const SelectRequest *right, const Selection *right_is)
{
	QueryParams params = { .count = 0 };

	if (!request_is_good(asked, left) || !request_is_good(asked, right))
		return NULL;
	/* The left side is the base, whose range comes first and whose selector comes last. */
	param_bytes(&params, right_is->selector.bytes, right_is->selector.length);
	param_range(&params, left->start_ms, left->end_ms);
	param_range(&params, right->start_ms, right->end_ms);
	param_bytes(&params, left_is->selector.bytes, left_is->selector.length);
	param_int4(&params, nodes_of(left, nodes_of(right, NODES_DEFAULT)));
	return query_run(asked,
					 "SELECT level, value, self, label, \"valueRight\", \"selfRight\""
					 " FROM profstore.flamegraph_diff($1, $2, $3, $4, $5, base_selector => $6,"
					 " absolute => true, max_nodes => $7) ORDER BY ord",
					 &params);
}

Result *
query_pprof(Asked *asked, const SelectRequest *request, const Selection *selection)
{
	QueryParams params = { .count = 0 };

	if (!request_is_good(asked, request))
		return NULL;
	param_selection(&params, request, selection);
	return query_run(asked, "SELECT profstore.pprof($1, $2, $3, " STACKS ")", &params);
}

Result *
query_dot(Asked *asked, const SelectRequest *request, const Selection *selection)
{
	QueryParams params = { .count = 0 };

	if (!request_is_good(asked, request))
		return NULL;
	param_selection(&params, request, selection);
	param_int4(&params, nodes_of(request, DOT_DEFAULT));
	return query_run(asked,
					 "SELECT profstore.callgraph_dot($1, $2, $3, max_nodes => $7, " STACKS ")",
					 &params);
}

Result *
query_timeseries(Asked *asked, const SelectRequest *request, const Selection *selection,
				 const SeriesSteps *steps)
{
	QueryParams params = { .count = 0 };
	Result *result;
	char step[64];

	if (!request_is_good(asked, request))
		return NULL;
	param_bytes(&params, selection->selector.bytes, selection->selector.length);
	param_instant(&params, steps->from_ms);
	param_instant(&params, steps->to_ms);
	param_stacks(&params, request);
	/* in seconds, because PostgreSQL 14 reads at most 2^31 - 1 of a unit */
	snprintf(step, sizeof(step), "%" PRId64 ".%03d s", steps->length_ms / 1000,
			 (int) (steps->length_ms % 1000));
	param_bytes(&params, step, strlen(step));
	param_texts(&params, &request->labels);
	param_int4(&params, request->limit > 0 && request->limit < QUERY_LIST_MAX ? request->limit
																			  : QUERY_LIST_MAX + 1);
	param_instant(&params, steps->origin_ms);
	/*
	 * top chooses the series with the largest sums. Only the first row of a series has its labels,
	 * which would otherwise be repeated for each point.
	 */
	result = query_run(
		asked,
		"WITH points AS (SELECT t.labels, (extract(epoch FROM t.\"time\") * 1000)::int8 AS ms, t.value"
		" FROM profstore.timeseries($1, $2, $3, step => $7::interval, \"by\" => $8, " STACKS ","
		" absolute => true, origin => CASE WHEN isfinite($10) THEN $10 END) t),"
		" top AS (SELECT p.labels, row_number() OVER (ORDER BY p.labels) AS n FROM"
		" (SELECT p.labels FROM points p GROUP BY p.labels ORDER BY sum(p.value) DESC, p.labels"
		" LIMIT $9) p)"
		" SELECT t.n, CASE WHEN row_number() OVER (PARTITION BY t.n ORDER BY p.ms) = 1 THEN " PAIRS(
			"jsonb_strip_nulls(t.labels)") " END, p.ms, p.value"
										   " FROM points p JOIN top t ON t.labels = p.labels ORDER BY t.n, p.ms"
										   " LIMIT 500001",
		&params);
	if (result == NULL || result_rows(result) <= QUERY_POINTS_MAX)
		return result;
	result_free(result);
	asked_refuse(
		asked, GRPC_RESOURCE_EXHAUSTED,
		"the series have more than 500000 points: use a longer step, fewer labels or a limit");
	return NULL;
}
