/*
 * stack_visit.c
 *		Walks the stacks part by part. If there is only one part, its walk is kept for the next
 *		visit.
 */
#include "tree/stack_visit.h"

#include "utils/memutils.h"

struct PfsStackVisit
{
	MemoryContext context; /* context of the walk */
	PfsStackStream *stream;
	PfsSymbols *symbols;
	/* walk of all stacks; NULL if it is not made yet, or there are too many stacks */
	PfsStackWalk *whole;
	PfsWideSides total;
	bool is_done; /* at least one visit is done */
};

PfsStackVisit *
pfs_stack_visit_begin(PfsStackStream *stream, PfsSymbols *symbols)
{
	PfsStackVisit *visit = palloc0(sizeof(PfsStackVisit));

	visit->context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore stack walk", ALLOCSET_DEFAULT_SIZES);
	visit->stream = stream;
	visit->symbols = symbols;
	return visit;
}

static void
visit_whole(PfsStackVisit *visit, const PfsFrameVisitor *visitor, void *state)
{
	MemoryContext caller = MemoryContextSwitchTo(visit->context);
	PfsStackSums sums;
	uint32 list = PFS_NO_WALKER;

	/* A second visit walks the same stacks, without resolving or filtering them again. */
	if (visit->whole == NULL)
	{
		visit->whole = pfs_stack_walk_create(visit->symbols, false, PFS_NO_SYMBOL);
		if (pfs_stack_stream_next(visit->stream, &sums))
			pfs_stack_walk_add(visit->whole, &sums, &list, &visit->total);
	}
	MemoryContextSwitchTo(caller);
	pfs_stack_walk_visit(visit->whole, visitor, state);
}

/* Visits the parts in turn. The memory of one part is in a context that is reset. */
static void
visit_parts(PfsStackVisit *visit, const PfsFrameVisitor *visitor, void *state)
{
	MemoryContext caller = MemoryContextSwitchTo(visit->context);
	MemoryContext context =
		AllocSetContextCreate(visit->context, "profstore part of a walk", ALLOCSET_DEFAULT_SIZES);
	PfsStackWalk *walk = pfs_stack_walk_create(visit->symbols, false, PFS_NO_SYMBOL);
	PfsStackSums sums;

	visit->total = (PfsWideSides){ 0, 0 };
	MemoryContextSwitchTo(context);
	while (pfs_stack_stream_next(visit->stream, &sums))
	{
		uint32 list = PFS_NO_WALKER;

		pfs_stack_walk_add(walk, &sums, &list, &visit->total);
		pfs_stack_walk_visit(walk, visitor, state);
		/* Ages go on from part to part, which pfs_stack_walk_clear() keeps track of. */
		pfs_stack_walk_clear(walk);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(caller);
	/* The walk itself was allocated here, too. */
	MemoryContextReset(visit->context);
}

PfsWideSides
pfs_stack_visit_all(PfsStackVisit *visit, const PfsFrameVisitor *visitor, void *state)
{
	if (pfs_stack_stream_is_whole(visit->stream))
		visit_whole(visit, visitor, state);
	else
	{
		/* The first visit finds the stream at its beginning. */
		if (visit->is_done)
			pfs_stack_stream_rewind(visit->stream);
		visit_parts(visit, visitor, state);
	}
	visit->is_done = true;
	return visit->total;
}

void
pfs_stack_visit_end(PfsStackVisit *visit)
{
	MemoryContextDelete(visit->context);
	pfree(visit);
}
