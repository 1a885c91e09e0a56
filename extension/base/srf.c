/*
 * srf.c
 *		Puts rows into the tuplestore of a function's result.
 */
#include "base/srf.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"

#include "base/version.h"

#define ROWS_CONTEXT "profstore rows"

/*
 * Returns the memory context for all results of a query. Its allocator packs tuples, whereas the
 * usual one rounds each up to a power of two. One context serves all calls: if a function is called
 * for each of many rows, its results are freed after each call, but a context per call would remain
 * until the end of the query.
 */
static MemoryContext
rows_context(MemoryContext query)
{
	MemoryContext child = query->firstchild;

	while (child != NULL && strcmp(child->name, ROWS_CONTEXT) != 0)
		child = child->nextchild;
	return child != NULL ? child : pfs_generation_context(query, ROWS_CONTEXT);
}

/* Describes the rows of the calling function; a set of a scalar type has one column. */
static TupleDesc
result_descriptor(FunctionCallInfo fcinfo)
{
	Oid type;
	TupleDesc descriptor;

	switch (get_call_result_type(fcinfo, &type, &descriptor))
	{
		case TYPEFUNC_COMPOSITE:
			return CreateTupleDescCopy(descriptor);
		case TYPEFUNC_SCALAR:
			descriptor = CreateTemplateTupleDesc(1);
			TupleDescInitEntry(descriptor, 1, "value", type, -1, 0);
			return descriptor;
		default:
			elog(ERROR, "return type must be a row type or a scalar type");
	}
}

PfsResult
pfs_result_begin(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	PfsResult result = { NULL, NULL, NULL };
	MemoryContext caller;

	pfs_extension_require_current();
	if (info != NULL && IsA(info, ReturnSetInfo) && (info->allowedModes & PFS_SFRM_TAKER))
	{
		result.taker = ((PfsTakerInfo *) info)->taker;
		return result;
	}
	if (info == NULL || !IsA(info, ReturnSetInfo) || !(info->allowedModes & SFRM_Materialize))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("set-valued function called in context that cannot accept a set")));
	caller = MemoryContextSwitchTo(info->econtext->ecxt_per_query_memory);
	result.descriptor = result_descriptor(fcinfo);
	MemoryContextSwitchTo(rows_context(CurrentMemoryContext));
	result.store =
		tuplestore_begin_heap((info->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
	MemoryContextSwitchTo(caller);
	info->returnMode = SFRM_Materialize;
	info->setResult = result.store;
	info->setDesc = result.descriptor;
	return result;
}

void
pfs_result_put(const PfsResult *result, const Datum *values, const bool *nulls)
{
	/* tuplestore_putvalues() does not modify the arrays, but its parameters lack const */
	tuplestore_putvalues(result->store, result->descriptor, unconstify(Datum *, values),
						 unconstify(bool *, nulls));
}

Datum
pfs_text_or_null(const char *text, bool *is_null)
{
	*is_null = text == NULL;
	return text == NULL ? (Datum) 0 : CStringGetTextDatum(text);
}
