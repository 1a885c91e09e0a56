/*
 * tree_export.c
 *		Frames get numbers in the order of the tree.
 */
#include "export/tree_export.h"

#include "base/arrays.h"
#include "export/view_text.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

PfsTreeExport
pfs_tree_export(FunctionCallInfo fcinfo)
{
	PfsTreeExport export = { 0 };
	PfsSelection *selection = pfs_selection_get(fcinfo, PFS_TREE_ARG_SELECTOR);
	PfsFilters filters = pfs_frame_filters_get(fcinfo, PFS_TREE_ARG_FILTERS);
	PfsFrameTree *tree = pfs_frame_tree_query(selection, &filters, false);
	uint32 symbol_count;
	uint32 *numbers;

	export.title = text_to_cstring(PG_GETARG_TEXT_PP(PFS_TREE_ARG_SELECTOR));
	export.selection = selection;
	export.rows = pfs_flame_rows(tree, PFS_NO_ROW_LIMIT);
	if (pfs_symbols_dropped(tree->symbols) != NULL)
		export.title =
			psprintf("%s, %s", export.title,
					 pfs_share_text(fcinfo, PFS_TREE_ARG_FILTERS,
									(double) export.rows.rows[0].total.value,
									pfs_symbols_dropped(tree->symbols), selection->unit));
	symbol_count = pfs_symbol_count(tree->symbols);
	numbers = PFS_ARRAY0(uint32, symbol_count);
	export.frames = PFS_ARRAY(PfsTreeFrame, symbol_count);
	export.frame_of_row = PFS_ARRAY(uint32, export.rows.count);
	for (uint32 i = 1; i < export.rows.count; i++)
	{
		const PfsFrameNode *node = export.rows.rows[i].node;

		if (numbers[node->symbol] == 0)
		{
			export.frames[export.frame_count++] =
				(PfsTreeFrame){ pfs_symbol_name(tree->symbols, node->symbol),
								pfs_frame_source(node->location, node->line) };
			numbers[node->symbol] = export.frame_count;
		}
		export.frame_of_row[i] = numbers[node->symbol] - 1;
	}
	return export;
}

Datum
pfs_json_to_jsonb(const StringInfoData *json)
{
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json->data));
}
