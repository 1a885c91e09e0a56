/*
 * filtered_share.c
 *		filtered_share(): the share of a selection that the filters keep, and the shares that
 *		each filter drops.
 */
#include "profstore.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/memutils.h"

#include "dictionary/cache/dictionary.h"
#include "dictionary/cache/doubts.h"
#include "merge/stack_stream.h"
#include "tree/stack_verdicts.h"
#include "views/view.h"

enum
{
	COL_WHOLE,
	COL_KEPT,
	COL_KEPT_SHARE,
	COL_NOT_FOCUSED,
	COL_IGNORED,
	COL_WITHOUT_FRAMES,
	COL_COUNT
};

PG_FUNCTION_INFO_V1(profstore_filtered_share);

/* Adds the value of each stack to the sum of its verdict. */
static void
sum_verdicts(PfsStackStream *stacks, const PfsFilters *filters, int128 *by_verdict)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "profstore subset stacks",
												  ALLOCSET_DEFAULT_SIZES);
	PfsSymbols *symbols;
	PfsStackSums sums;

	pfs_dictionary_begin();
	symbols = pfs_symbols_create(filters);
	while (pfs_stack_stream_next(stacks, &sums))
	{
		MemoryContext caller = MemoryContextSwitchTo(context);
		PfsStackSubsets subsets = pfs_stack_subsets_begin(&sums, false);
		PfsStackSubset subset;

		while (pfs_stack_subsets_next(&subsets, &subset))
		{
			const PfsStackVerdict *verdicts = pfs_stack_verdicts(&subset, symbols);

			for (uint32 i = 0; i < subset.stack_count; i++)
			{
				by_verdict[verdicts == NULL ? PFS_STACK_PASSES : verdicts[i]] +=
					subset.stacks[i].sides.value;
			}
		}
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
}

PGDLLEXPORT Datum
profstore_filtered_share(PG_FUNCTION_ARGS)
{
	PfsSelection *selection = pfs_selection_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	PfsStackStream *stacks = pfs_stack_stream_begin(selection);
	int128 by_verdict[PFS_STACK_WITHOUT_FRAMES + 1] = { 0 };
	int128 whole = 0;
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT] = { false };
	TupleDesc descriptor;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	sum_verdicts(stacks, &filters, by_verdict);
	pfs_stack_stream_end(stacks);
	for (size_t i = 0; i < lengthof(by_verdict); i++)
		whole += by_verdict[i];
	values[COL_WHOLE] = Int64GetDatum(pfs_clip(whole));
	values[COL_KEPT] = Int64GetDatum(pfs_clip(by_verdict[PFS_STACK_PASSES]));
	values[COL_KEPT_SHARE] = pfs_share_or_null((double) by_verdict[PFS_STACK_PASSES],
											   (double) whole, &nulls[COL_KEPT_SHARE]);
	values[COL_NOT_FOCUSED] = Int64GetDatum(pfs_clip(by_verdict[PFS_STACK_NOT_FOCUSED]));
	values[COL_IGNORED] = Int64GetDatum(pfs_clip(by_verdict[PFS_STACK_IGNORED]));
	values[COL_WITHOUT_FRAMES] = Int64GetDatum(pfs_clip(by_verdict[PFS_STACK_WITHOUT_FRAMES]));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}
