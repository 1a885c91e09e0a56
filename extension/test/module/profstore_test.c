/*
 * profstore_test.c
 *		What tests ask in their session: the memory that queries had, how trees of stacks lie.
 *
 * Nothing but the clusters of the tests has this module. It meets the other one in rendezvous
 * variables, whichever is loaded first.
 */
#include "base/memory_peak.h"
#include "dictionary/tree/tree_cache.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(memory_peak);
PG_FUNCTION_INFO_V1(tree_shapes);

/* The most since memory_peak() was called. */
static Size peak_bytes;

/* What the running statement and its transaction have taken, the caches aside. */
static void
look(void)
{
	Size bytes = MemoryContextMemAllocated(TopTransactionContext, true);

	if (PortalContext != NULL)
		bytes += MemoryContextMemAllocated(PortalContext, true);
	peak_bytes = Max(peak_bytes, bytes);
}

/* memory_peak() returns the peak of the memory of queries since its last call, in bytes. */
PGDLLEXPORT Datum
memory_peak(PG_FUNCTION_ARGS)
{
	Size bytes = peak_bytes;

	*(PfsMemoryLook *) find_rendezvous_variable(PFS_MEMORY_LOOK) = look;
	peak_bytes = 0;
	PG_RETURN_INT64((int64) bytes);
}

/*
 * tree_shapes() -> nodes, shapes, placings: nodes that the session has cached, the shapes in which
 * it has put them in order, and how many places these had in all
 */
PGDLLEXPORT Datum
tree_shapes(PG_FUNCTION_ARGS)
{
	dlist_head *trees = *find_rendezvous_variable(PFS_CACHED_TREES);
	int64 nodes = 0;
	int64 shapes = 0;
	int64 placings = 0;
	TupleDesc descriptor;
	bool nulls[3] = { false };
	Datum values[3];
	dlist_iter iterator;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE || trees == NULL)
		elog(ERROR, "tree_shapes must return a row, after a query of stacks");
	dlist_foreach(iterator, trees)
	{
		const PfsTreeCache *cache = dlist_container(PfsTreeCache, use, iterator.cur);

		nodes += cache->tree.node_count;
		shapes += cache->shape_count;
		placings += (int64) cache->placings;
	}
	values[0] = Int64GetDatum(nodes);
	values[1] = Int64GetDatum(shapes);
	values[2] = Int64GetDatum(placings);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}
