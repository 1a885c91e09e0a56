/*
 * stack_verdicts.c
 *		Derives the verdicts on stacks from those on the locations of their nodes.
 */
#include "tree/stack_verdicts.h"

#include "miscadmin.h"

#include "base/arrays.h"
#include "base/id_map.h"

/* Judges a location. If its names are not cached, loads the names of all nodes at once. */
static pg_noinline uint32
judge_location(const PfsStackSubset *subset, PfsSymbols *symbols, int32 location)
{
	if (!pfs_location_is_cached(location))
		pfs_stack_subset_load_names(subset);
	return pfs_symbols_judge(symbols, location);
}

/*
 * Marks the stacks whose paths have a location with a verdict. These are the stacks below the
 * topmost nodes with that verdict; stacks are in the order of their leaves. Each node is tested
 * once, and nodes below one with the verdict are not tested. Nodes on the path to a leaf whose
 * place is not greater than the previous leaf's were on that leaf's path, too.
 */
static void
mark_stacks(const PfsStackSubset *subset, PfsSymbols *symbols, PfsLocationVerdict verdict,
			uint8 *marks)
{
	const PfsIdMap *verdicts = pfs_symbols_verdicts(symbols);
	const PfsTreeShape *shape = &subset->shape;
	uint32 before = 0;
	uint32 marked_end = 0;

	for (uint32 i = 0; i < subset->stack_count; i++)
	{
		uint32 leaf = subset->ordered_leaves[i];
		uint32 highest = 0;

		CHECK_FOR_INTERRUPTS();
		/* The leaf lies behind the nodes below the last one with the verdict. */
		if (leaf >= marked_end)
		{
			/* Towards the root, so that the last node found is the topmost one. */
			for (uint32 place = leaf; place > before; place = shape->parents[place])
			{
				/* 0 means that the location has not been judged. */
				uint32 said = pfs_id_map_find(verdicts, shape->locations[place]);

				if (said == 0)
					said = judge_location(subset, symbols, shape->locations[place]);
				if (said & verdict)
					highest = place;
			}
			/* All stacks below this node have the verdict, too. */
			if (highest > 0)
				marked_end = shape->ends[highest];
		}
		if (leaf < marked_end)
			marks[i] |= (uint8) verdict;
		before = leaf;
	}
}

PfsStackVerdict *
pfs_stack_verdicts(const PfsStackSubset *subset, PfsSymbols *symbols)
{
	const PfsFilters *filters = pfs_symbols_filters(symbols);
	bool may_hide = filters->by[PFS_SHOW] != NULL || filters->by[PFS_HIDE] != NULL;
	PfsStackVerdict *verdicts;
	uint8 *marks;

	if (!pfs_filters_any(filters))
		return NULL;
	marks = PFS_ARRAY0(uint8, subset->stack_count);
	/* A pass for each kind of verdict, because the topmost node differs. */
	if (filters->by[PFS_FOCUS] != NULL)
		mark_stacks(subset, symbols, PFS_LOCATION_FOCUSED, marks);
	if (filters->by[PFS_IGNORE] != NULL)
		mark_stacks(subset, symbols, PFS_LOCATION_IGNORED, marks);
	if (may_hide)
		mark_stacks(subset, symbols, PFS_LOCATION_FRAMED, marks);
	verdicts = PFS_ARRAY(PfsStackVerdict, subset->stack_count);
	for (uint32 i = 0; i < subset->stack_count; i++)
		/* Marks are in the order of leaves, verdicts in that of the stacks. */
		verdicts[subset->order[i]] =
			filters->by[PFS_FOCUS] != NULL && !(marks[i] & PFS_LOCATION_FOCUSED)
				? PFS_STACK_NOT_FOCUSED
			: marks[i] & PFS_LOCATION_IGNORED				? PFS_STACK_IGNORED
			: may_hide && !(marks[i] & PFS_LOCATION_FRAMED) ? PFS_STACK_WITHOUT_FRAMES
															: PFS_STACK_PASSES;
	pfree(marks);
	return verdicts;
}

bool *
pfs_stacks_passing(const PfsStackSubset *subset, PfsSymbols *symbols)
{
	PfsStackVerdict *verdicts = pfs_stack_verdicts(subset, symbols);
	bool *passing;

	if (verdicts == NULL)
		return NULL;
	passing = PFS_ARRAY(bool, subset->stack_count);
	for (uint32 i = 0; i < subset->stack_count; i++)
	{
		PfsSides sides = subset->stacks[i].sides;

		passing[i] = verdicts[i] == PFS_STACK_PASSES;
		if (!passing[i])
			/* The view shows how much the filters have removed. */
			pfs_symbols_drop(symbols, sides.value, sides.base);
	}
	pfree(verdicts);
	return passing;
}
