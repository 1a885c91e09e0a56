/*
 * folded.c
 *		folded(): one line per stack, in the format of flamegraph.pl, inferno and speedscope.
 */
#include "tree/flame_rows.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "base/srf.h"
#include "merge/merged.h"
#include "views/view.h"

PG_FUNCTION_INFO_V1(profstore_folded);
PG_FUNCTION_INFO_V1(profstore_folded_of);

/* Appends a name, with the separators of frames and lines replaced. */
static void
append_name(StringInfo stack, const char *name)
{
	for (const char *c = name; *c != '\0'; c++)
	{
		if (*c == ';')
			appendStringInfoChar(stack, ':');
		else if ((unsigned char) *c < ' ')
			appendStringInfoChar(stack, ' ');
		else
			appendStringInfoChar(stack, *c);
	}
}

static void
folded_put_row(const PfsResult *result, const char *stack, int length, int64 value)
{
	Datum values[2] = { PointerGetDatum(cstring_to_text_with_len(stack, length)),
						Int64GetDatum(value) };
	bool nulls[2] = { false, false };

	pfs_result_put(result, values, nulls);
	pfree(DatumGetPointer(values[0]));
}

/*
 * Puts a row per stack and closes the tree. Rows come depth first, so the text of a stack is its
 * parent's text and one more name: ends[level] is the length of the text up to a level. If the text
 * would be too long from level cut on, it consists of the levels that fit, PFS_FRAMES_CUT, and the
 * leaf's name.
 */
static void
put_stacks(const PfsResult *result, PfsFrameTree *tree)
{
	static const char no_frames[] = "[empty stack]";
	PfsFlameScan *flame = pfs_flame_scan_begin(tree, PFS_NO_ROW_LIMIT);
	PfsFlameRow row;
	StringInfoData stack;
	uint32 capacity = 0;
	int *ends = NULL;
	int32 cut = PG_INT32_MAX;
	int path_end;

	initStringInfo(&stack);
	PFS_RESERVE(ends, capacity, 1);
	ends[0] = 0;
	pfs_flame_scan_next(flame, &row);
	if (row.self.value != 0)
		folded_put_row(result, no_frames, (int) strlen(no_frames), row.self.value);
	while (pfs_flame_scan_next(flame, &row))
	{
		PFS_RESERVE(ends, capacity, (uint64) row.level + 1);
		stack.len = ends[row.level - 1];
		if (row.level <= cut)
			cut = stack.len > PFS_STACK_TEXT_MAX_BYTES ? row.level : PG_INT32_MAX;
		if (row.level == cut)
			appendStringInfoString(&stack, ";" PFS_FRAMES_CUT);
		path_end = stack.len;
		if (row.level > 1)
			appendStringInfoChar(&stack, ';');
		append_name(&stack, pfs_symbol_name(tree->symbols, row.node->symbol));
		ends[row.level] = row.level < cut ? stack.len : path_end;
		if (row.self.value != 0)
			folded_put_row(result, stack.data, stack.len, row.self.value);
	}
	pfs_frame_tree_close(tree);
}

PGDLLEXPORT Datum
profstore_folded(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	PfsSelection *selection = pfs_selection_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	PfsFrameTree *tree = pfs_frame_tree_take(pfs_stack_stream_begin(selection), &filters, false);

	if (pfs_frame_tree_is_empty(tree))
		pfs_selection_tell_empty(selection);
	put_stacks(&result, tree);
	return (Datum) 0;
}

PGDLLEXPORT Datum
profstore_folded_of(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);

	put_stacks(&result, pfs_frame_tree_take(pfs_merged_stream(fcinfo, "sums"), &filters, false));
	return (Datum) 0;
}
