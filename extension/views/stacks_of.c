/*
 * stacks_of.c
 *		stacks_of(): merged stacks as arrays of names.
 */
#include "tree/flame_rows.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "base/srf.h"
#include "views/view.h"

PG_FUNCTION_INFO_V1(profstore_stacks_of);

static void
stacks_put_row(const PfsResult *result, Datum *names, int count, int64 value)
{
	ArrayType *stack = count == 0 ? construct_empty_array(TEXTOID)
								  : construct_array(names, count, TEXTOID, -1, false, TYPALIGN_INT);
	Datum values[2] = { PointerGetDatum(stack), Int64GetDatum(value) };
	bool nulls[2] = { false, false };

	pfs_result_put(result, values, nulls);
	pfree(stack);
}

static void
stacks_forget_names(Datum *names, int32 first, int32 end)
{
	for (int32 i = first; i < end; i++)
		pfree(DatumGetPointer(names[i]));
}

PGDLLEXPORT Datum
profstore_stacks_of(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	PfsSelection *selection = pfs_selection_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	PfsFrameTree *tree = pfs_frame_tree_take(pfs_stack_stream_begin(selection), &filters, false);
	PfsFlameScan *flame;
	PfsFlameRow row;
	uint32 name_capacity = 0;
	uint32 size_capacity = 0;
	Datum *names = NULL;
	Size *sizes = NULL;
	int32 depth = 0; /* number of names in memory */
	int32 cut = PG_INT32_MAX;

	if (pfs_frame_tree_is_empty(tree))
		pfs_selection_tell_empty(selection);
	flame = pfs_flame_scan_begin(tree, PFS_NO_ROW_LIMIT);
	while (pfs_flame_scan_next(flame, &row))
	{
		int32 count = row.level;

		PFS_RESERVE(names, name_capacity, (uint64) row.level + 1);
		PFS_RESERVE(sizes, size_capacity, (uint64) row.level + 1);
		if (row.level == 0)
			sizes[0] = 0;
		else
		{
			const char *name = pfs_symbol_name(tree->symbols, row.node->symbol);

			if (row.level <= cut)
				cut = sizes[row.level - 1] > PFS_STACK_TEXT_MAX_BYTES ? row.level : PG_INT32_MAX;
			count = row.level < cut ? row.level : cut + 1;
			stacks_forget_names(names, Min(row.level, cut) - 1, depth);
			if (row.level >= cut)
				names[cut - 1] = CStringGetTextDatum(PFS_FRAMES_CUT);
			names[count - 1] = CStringGetTextDatum(name);
			sizes[row.level] = sizes[row.level - 1] + strlen(name);
			depth = count;
		}
		if (row.self.value != 0)
			stacks_put_row(&result, names, count, row.self.value);
	}
	pfs_frame_tree_close(tree);
	return (Datum) 0;
}
