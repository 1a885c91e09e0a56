/*
 * tree_export.c
 *		Numbers frames in the order of the tree.
 */
#include "profstore.h"

#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"

#include "base/arguments.h"
#include "base/arrays.h"
#include "export/tree_export.h"
#include "export/view_text.h"
#include "tree/flame_rows.h"

/* State of the numbering. */
typedef struct Numbering
{
	uint32 *numbers; /* for each symbol, 1 + the number of its frame, or 0 if it has none yet */
	uint32 number_capacity;
	uint32 row_capacity;
	uint32 frame_capacity;
} Numbering;

static uint32
frame_number(PfsTreeExport *export, Numbering *numbering, const PfsFrameTree *tree,
			 const PfsFrameNode *node)
{
	uint32 known = numbering->number_capacity;

	PFS_RESERVE(numbering->numbers, numbering->number_capacity, (uint64) node->symbol + 1);
	memset(numbering->numbers + known, 0,
		   (Size) (numbering->number_capacity - known) * sizeof(uint32));
	if (numbering->numbers[node->symbol] == 0)
	{
		PFS_RESERVE(export->frames, numbering->frame_capacity, (uint64) export->frame_count + 1);
		export->frames[export->frame_count++] =
			(PfsTreeFrame){ pfs_symbol_name(tree->symbols, node->symbol),
							pfs_frame_source(node->location, node->line) };
		numbering->numbers[node->symbol] = export->frame_count;
	}
	return numbering->numbers[node->symbol] - 1;
}

static void
export_add_rows(PfsTreeExport *export, PfsFrameTree *tree)
{
	PfsFlameScan *flame = pfs_flame_scan_begin(tree, PFS_NO_ROW_LIMIT);
	Numbering numbering = { 0 };
	PfsFlameRow row;

	while (pfs_flame_scan_next(flame, &row))
	{
		PFS_RESERVE(export->rows, numbering.row_capacity, (uint64) export->row_count + 1);
		export->rows[export->row_count++] =
			(PfsTreeRow){ row.level,
						  row.level == 0 ? 0 : frame_number(export, &numbering, tree, row.node),
						  row.self.value };
	}
}

PfsTreeExport
pfs_tree_export(FunctionCallInfo fcinfo)
{
	PfsTreeExport export = { 0 };
	PfsSelection *selection = pfs_selection_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	PfsFrameTree *tree = pfs_frame_tree_take(pfs_stack_stream_begin(selection), &filters, false);

	export.selection = selection;
	export.title = pfs_argument_text(fcinfo, "selector");
	if (pfs_symbols_dropped(tree->symbols) != NULL)
		export.title =
			psprintf("%s, %s", export.title,
					 pfs_share_text(fcinfo, (double) tree->nodes[0].total.value,
									pfs_symbols_dropped(tree->symbols), selection->unit));
	if (pfs_frame_tree_is_empty(tree))
		pfs_selection_tell_empty(selection);
	export_add_rows(&export, tree);
	pfs_frame_tree_close(tree);
	return export;
}

Datum
pfs_json_to_jsonb(const StringInfoData *json)
{
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json->data));
}
