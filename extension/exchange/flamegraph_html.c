/*
 * flamegraph_html.c
 *		flamegraph_html(): a flame graph as one self-contained page.
 */
#include "exchange/flame_json.h"

#include "exchange/page_template.h"
#include "query/flamegraph.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#define ARG_TITLE PFS_FLAME_ARG_COUNT

PG_FUNCTION_INFO_V1(profstore_flamegraph_html);

/*
 * Appends JSON so that HTML cannot end the element around it: "<" stands in strings alone, where an escape means
 * the same.
 */
static void
append_for_script(StringInfo page, const StringInfoData *json)
{
	for (int i = 0; i < json->len; i++)
	{
		if (json->data[i] == '<')
			appendStringInfoString(page, "\\u003c");
		else
			appendStringInfoCharMacro(page, json->data[i]);
	}
}

/* What the filters and the direction make of the graph, as a line for people. */
static char *
describe_view(FunctionCallInfo fcinfo, const PfsFlamegraph *flame)
{
	static const char *const names[] = { "focus", "ignore", "show", "hide" };
	StringInfoData view;

	initStringInfo(&view);
	if (flame->inverted)
		appendStringInfoString(&view, "inverted");
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		int argument = PFS_FLAME_ARG_FILTERS + i;
		char *value = PG_ARGISNULL(argument) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argument));

		if (value != NULL && *value != '\0')
			appendStringInfo(&view, "%s%s %s", view.len > 0 ? ", " : "", names[i], value);
	}
	return view.data;
}

/*
 * flamegraph_html(selector, from_ts, to_ts, max_nodes, inverted, focus, ignore, show, hide, granularity, title)
 */
PGDLLEXPORT Datum
profstore_flamegraph_html(PG_FUNCTION_ARGS)
{
	PfsFlamegraph flame = pfs_flamegraph_query(fcinfo, NULL);
	const char *selector = text_to_cstring(PG_GETARG_TEXT_PP(PFS_FLAME_ARG_SELECTOR));
	const char *title =
		PG_ARGISNULL(ARG_TITLE) ? selector : text_to_cstring(PG_GETARG_TEXT_PP(ARG_TITLE));
	StringInfoData json;
	StringInfoData page;

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	pfs_json_append_text(&json, "title", title, true);
	pfs_json_append_text(&json, "selector", selector, false);
	pfs_json_append_text(&json, "unit", flame.selection->unit, false);
	pfs_json_append_text(&json, "from", timestamptz_to_str(flame.selection->from), false);
	pfs_json_append_text(&json, "to", timestamptz_to_str(flame.selection->to), false);
	pfs_json_append_text(&json, "detail", describe_view(fcinfo, &flame), false);
	appendStringInfo(&json, ",\"inverted\":%s,\"tree\":", flame.inverted ? "true" : "false");
	pfs_flame_json_append(&json, &flame.rows);
	appendStringInfoChar(&json, '}');

	initStringInfo(&page);
	appendStringInfoString(&page, pfs_page_before_data);
	append_for_script(&page, &json);
	appendStringInfoString(&page, pfs_page_after_data);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(page.data, page.len));
}
