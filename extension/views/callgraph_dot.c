/*
 * callgraph_dot.c
 *		Writes a call graph in DOT, the language of Graphviz. The size of a box shows the function's
 *		self value; colours and arrows show totals.
 */
#include "views/callgraph.h"

#include <math.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(profstore_callgraph_dot);

typedef struct Scale
{
	/* unit of the profile type; the last scale of each unit takes all smaller values */
	const char *unit;
	double least;
	const char *suffix;
} Scale;

static const Scale SCALES[] = {
	{ "nanoseconds", 3600e9, "h" }, { "nanoseconds", 60e9, "min" },
	{ "nanoseconds", 1e9, "s" },	{ "nanoseconds", 1e6, "ms" },
	{ "nanoseconds", 1e3, "us" },	{ "nanoseconds", 1, "ns" },
	{ "bytes", 1073741824, "GB" },	{ "bytes", 1048576, "MB" },
	{ "bytes", 1024, "kB" },		{ "bytes", 1, "B" },
};

/*
 * Appends a value with a readable unit, such as 1.23s or 4.50MB; a plain number if the unit is none
 * of those.
 */
static void
dot_append_value(StringInfo dot, int64 value, const char *unit)
{
	double size = fabs((double) value);

	for (size_t i = 0; i < lengthof(SCALES); i++)
	{
		const Scale *scale = &SCALES[i];

		if (strcmp(scale->unit, unit) != 0)
			continue;
		/*
		 * a larger scale begins at the value that the smaller one would round up to it: 999.995 ms
		 * is shown as 1 s
		 */
		if (scale->least != 1 &&
			size < scale->least - (scale[1].least > 1 ? scale[1].least / 200 : 0))
			continue;
		if (scale->least == 1)
			appendStringInfo(dot, INT64_FORMAT "%s", value, scale->suffix);
		else
			appendStringInfo(dot, "%.2f%s", (double) value / scale->least, scale->suffix);
		return;
	}
	appendStringInfo(dot, INT64_FORMAT, value);
}

/*
 * Appends text for a quoted string of DOT: escapes quotes and backslashes, and replaces control
 * characters by blanks.
 */
static void
append_quoted(StringInfo dot, const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
	{
		if (*c == '"' || *c == '\\')
			appendStringInfoChar(dot, '\\');
		appendStringInfoChar(dot, (unsigned char) *c < ' ' ? ' ' : *c);
	}
}

static double
share_of(int64 value, int64 whole)
{
	return whole == 0 ? 0 : Min(fabs((double) value / (double) whole), 1);
}

/*
 * Appends a colour between grey (share 0) and red (share 1): light for the background of a box,
 * dark for lines.
 */
static void
append_colour(StringInfo dot, double share, bool light)
{
	double red = light ? 0.93 : 0.60 + 0.10 * share;
	double other = light ? 0.93 - 0.20 * sqrt(share) : 0.60 * (1 - sqrt(share));

	appendStringInfo(dot, "\"#%02x%02x%02x\"", (int) (red * 255), (int) (other * 255),
					 (int) (other * 255));
}

/* Appends the box of a function. */
static void
append_function(StringInfo dot, uint32 place, const PfsCallgraph *graph, const char *unit)
{
	const PfsFunctionTotal *function = &graph->functions[place];
	double self_share = share_of(function->self.value, graph->whole);
	double total_share = share_of(function->total.value, graph->whole);

	appendStringInfo(dot, "  N%u [label=\"", place + 1);
	append_quoted(dot, function->name);
	appendStringInfoString(dot, "\\n");
	dot_append_value(dot, function->self.value, unit);
	appendStringInfo(dot, " (%.2f%%)", 100 * self_share);
	if (function->total.value != function->self.value)
	{
		appendStringInfoString(dot, "\\nof ");
		dot_append_value(dot, function->total.value, unit);
		appendStringInfo(dot, " (%.2f%%)", 100 * total_share);
	}
	appendStringInfo(dot, "\" fontsize=%d color=", 8 + (int) (24 * sqrt(self_share)));
	append_colour(dot, total_share, false);
	appendStringInfoString(dot, " fillcolor=");
	append_colour(dot, total_share, true);
	appendStringInfoString(dot, "]\n");
}

static void
append_edge(StringInfo dot, const PfsCallEdge *edge, const PfsCallgraph *graph, const char *unit)
{
	double share = share_of(edge->value, graph->whole);

	appendStringInfo(dot, "  N%u -> N%u [label=\" ", edge->caller + 1, edge->callee + 1);
	dot_append_value(dot, edge->value, unit);
	appendStringInfo(dot, "\" weight=%d penwidth=%.1f color=", 1 + (int) (100 * share),
					 1 + 5 * share);
	append_colour(dot, share, false);
	appendStringInfo(dot, "%s]\n", edge->indirect ? " style=\"dotted\"" : "");
}

static void
append_graph(StringInfo dot, const PfsCallgraph *graph, const PfsSelection *selection)
{
	appendStringInfoString(dot, "digraph \"");
	append_quoted(dot, selection->profile_type);
	appendStringInfoString(dot, "\" {\n  label=\"");
	append_quoted(dot, selection->profile_type);
	appendStringInfo(dot, "\\n%s to ", timestamptz_to_str(selection->from));
	appendStringInfo(dot, "%s\\ntotal ", timestamptz_to_str(selection->to));
	dot_append_value(dot, graph->whole, selection->unit);
	appendStringInfoString(dot, "\" labelloc=t\n"
								"  node [shape=box style=filled fontname=\"sans-serif\"]\n"
								"  edge [fontname=\"sans-serif\" fontsize=9]\n");
	for (uint32 i = 0; i < graph->function_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		append_function(dot, i, graph, selection->unit);
	}
	for (uint32 i = 0; i < graph->edge_count; i++)
		append_edge(dot, &graph->edges[i], graph, selection->unit);
	appendStringInfoString(dot, "}\n");
}

PGDLLEXPORT Datum
profstore_callgraph_dot(PG_FUNCTION_ARGS)
{
	const PfsSelection *selection;
	PfsCallgraph graph = pfs_callgraph_query(fcinfo, &selection);
	StringInfoData dot;

	initStringInfo(&dot);
	append_graph(&dot, &graph, selection);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(dot.data, dot.len));
}
