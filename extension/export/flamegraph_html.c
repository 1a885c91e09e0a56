/*
 * flamegraph_html.c
 *		flamegraph_html() and flamegraph_diff_html(): a flame graph as one self-contained page.
 */
#include "profstore.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/arguments.h"
#include "export/flame_json.h"
#include "export/page_template.h"
#include "export/view_text.h"
#include "views/comparison.h"
#include "views/flamegraph.h"
#include "views/view.h"

PG_FUNCTION_INFO_V1(profstore_flamegraph_html);
PG_FUNCTION_INFO_V1(profstore_flamegraph_diff_html);

/*
 * Appends JSON so that it cannot end the HTML element around it: "<" occurs only in strings, where
 * an escape is equivalent.
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

/* Begins the page's data with the fields that all pages have; does not close the object. */
static void
begin_data(StringInfo json, FunctionCallInfo fcinfo, const PfsSelection *selection)
{
	const char *selector = pfs_argument_text(fcinfo, "selector");
	const char *title = pfs_argument_text(fcinfo, "title");

	initStringInfo(json);
	appendStringInfoChar(json, '{');
	pfs_json_append_text(json, "title", title != NULL ? title : selector, true);
	pfs_json_append_text(json, "selector", selector, false);
	pfs_json_append_text(json, "unit", selection->unit, false);
	pfs_json_append_text(json, "from", timestamptz_to_str(selection->from), false);
	pfs_json_append_text(json, "to", timestamptz_to_str(selection->to), false);
}

/* Ends the page's data with the tree and its texts. */
static void
append_tree(StringInfo json, PfsFlameScan *rows, bool is_diff)
{
	PfsFrameTexts *texts = pfs_frame_texts_create();

	pfs_flame_json_append(json, rows, is_diff, texts);
	appendStringInfoString(json, ",\"texts\":");
	pfs_frame_texts_append(json, texts);
	appendStringInfoChar(json, '}');
}

static text *
make_page(const StringInfoData *json)
{
	StringInfoData page;

	initStringInfo(&page);
	appendStringInfoString(&page, pfs_page_before_data);
	append_for_script(&page, json);
	appendStringInfoString(&page, pfs_page_after_data);
	return cstring_to_text_with_len(page.data, page.len);
}

PGDLLEXPORT Datum
profstore_flamegraph_html(PG_FUNCTION_ARGS)
{
	PfsFlamegraph flame = pfs_flamegraph_query(fcinfo);
	StringInfoData json;

	begin_data(&json, fcinfo, flame.selection);
	pfs_json_append_text(&json, "detail", pfs_view_text(fcinfo, flame.inverted ? "inverted" : ""),
						 false);
	appendStringInfo(&json, ",\"inverted\":%s,\"tree\":", flame.inverted ? "true" : "false");
	append_tree(&json, flame.rows, false);
	pfs_flamegraph_end(&flame);
	PG_RETURN_TEXT_P(make_page(&json));
}

/* the page colours nodes by their values, so no padding is needed */
PGDLLEXPORT Datum
profstore_flamegraph_diff_html(PG_FUNCTION_ARGS)
{
	PfsFilters filters = pfs_filters_get(fcinfo);
	uint32 max_nodes = pfs_max_nodes_get(fcinfo);
	PfsComparison comparison = pfs_comparison_query(fcinfo);
	PfsFrameTree *tree = pfs_comparison_tree(&comparison, &filters);
	PfsFlameScan *rows = pfs_flame_scan_begin(tree, max_nodes);
	bool by_rate = comparison.selection->delta && !pfs_comparison_is_absolute(fcinfo);
	const char *base_selector = pfs_argument_text(fcinfo, "base_selector");
	StringInfoData json;

	begin_data(&json, fcinfo, comparison.selection);
	if (base_selector != NULL)
		pfs_json_append_text(&json, "base_selector", base_selector, false);
	pfs_json_append_text(&json, "base_from", timestamptz_to_str(comparison.base->from), false);
	pfs_json_append_text(&json, "base_to", timestamptz_to_str(comparison.base->to), false);
	pfs_json_append_text(&json, "detail", pfs_view_text(fcinfo, by_rate ? "by rate" : "absolute"),
						 false);
	appendStringInfoString(&json, ",\"inverted\":false,\"diff\":true,\"tree\":");
	append_tree(&json, rows, true);
	pfs_frame_tree_close(tree);
	PG_RETURN_TEXT_P(make_page(&json));
}
