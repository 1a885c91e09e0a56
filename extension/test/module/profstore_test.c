/*
 * profstore_test.c
 *		A module for tests: reports the memory that queries used, the shapes of cached trees,
 *		and the labels that the agent sees.
 *
 * Only clusters of tests have this module. It finds the extension's module through rendezvous
 * variables, whichever of the two is loaded first.
 */
#include "base/memory_peak.h"
#include "dictionary/tree/tree_cache.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(memory_peak);
PG_FUNCTION_INFO_V1(tree_shapes);
PG_FUNCTION_INFO_V1(published_labels);

/* Largest memory of a query since memory_peak() was called. */
static Size peak_bytes;

/* Records the memory of the running statement and its transaction, without the caches. */
static void
look(void)
{
	Size bytes = MemoryContextMemAllocated(TopTransactionContext, true);

	if (PortalContext != NULL)
		bytes += MemoryContextMemAllocated(PortalContext, true);
	peak_bytes = Max(peak_bytes, bytes);
}

/* memory_peak(): returns the largest memory of a query since its last call, in bytes. */
PGDLLEXPORT Datum
memory_peak(PG_FUNCTION_ARGS)
{
	Size bytes = peak_bytes;

	*(PfsMemoryLook *) find_rendezvous_variable(PFS_MEMORY_LOOK) = look;
	peak_bytes = 0;
	PG_RETURN_INT64((int64) bytes);
}

/*
 * tree_shapes() -> nodes, shapes, placings: the number of nodes that the session has cached, the
 * number of shapes in which they have been put in order, and the number of places of all shapes
 * made so far
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

/* A set of labels as programs outside of the process read it: custom labels, version 1. */
typedef struct ForeignText
{
	Size length;
	const char *bytes;
} ForeignText;

typedef struct ForeignSet
{
	struct
	{
		ForeignText key;
		ForeignText value;
	} * labels;
	Size count;
	Size capacity;
} ForeignSet;

/* published_labels() returns the labels of this moment as JSON; NULL if there is no set. */
PGDLLEXPORT Datum
published_labels(PG_FUNCTION_ARGS)
{
	ForeignSet **variable =
		(ForeignSet **) load_external_function("$libdir/profstore", "profstore_current_labels",
											   true, NULL);
	const ForeignSet *set = *variable;
	StringInfoData json;

	if (set == NULL)
		PG_RETURN_NULL();
	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	for (Size i = 0; i < set->count; i++)
	{
		const ForeignText *key = &set->labels[i].key;
		const ForeignText *value = &set->labels[i].value;

		appendStringInfoString(&json, i == 0 ? "" : ", ");
		escape_json(&json, pnstrdup(key->bytes, key->length));
		appendStringInfoString(&json, ": ");
		escape_json(&json, pnstrdup(value->bytes, value->length));
	}
	appendStringInfoChar(&json, '}');
	PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data)));
}
