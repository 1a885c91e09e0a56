/*
 * chunk_nodes.c
 *		The SQL function that shows chunks: chunk_nodes.
 */
#include "profstore.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"

#include "dictionary/cache/dictionary.h"
#include "dictionary/tree/chunk.h"
#include "dictionary/tree/chunk_format.h"

PG_FUNCTION_INFO_V1(profstore_chunk_nodes);

/*
 * chunk_nodes(partition_id, node_count, first_node, last_node, payload): the nodes of a chunk; ids
 * and parents include the partition
 */
PGDLLEXPORT Datum
profstore_chunk_nodes(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	const PfsChunkNodes *nodes;
	int64 partition = (int64) PG_GETARG_INT32(0) << PFS_NODE_BITS;

	if (SRF_IS_FIRSTCALL())
	{
		PfsChunkRow row = { PG_GETARG_INT32(0), PG_GETARG_INT32(1), PG_GETARG_INT64(2),
							PG_GETARG_INT64(3) };
		MemoryContext caller;
		PfsChunkNodes *decoded;
		TupleDesc descriptor;

		call = SRF_FIRSTCALL_INIT();
		caller = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "chunk_nodes must return rows");
		call->tuple_desc = BlessTupleDesc(descriptor);
		decoded = palloc0(sizeof(PfsChunkNodes));
		pfs_chunk_nodes_reserve(decoded, (uint32) Min(Max(row.node_count, 1), PFS_CHUNK_MAX_NODES));
		pfs_chunk_decode(&row, PG_GETARG_BYTEA_PP(4), decoded);
		call->user_fctx = decoded;
		MemoryContextSwitchTo(caller);
	}

	call = SRF_PERCALL_SETUP();
	nodes = call->user_fctx;
	if (call->call_cntr < nodes->node_count)
	{
		uint64 i = call->call_cntr;
		bool nulls[3] = { false };
		Datum values[3];

		values[0] = Int64GetDatum(partition | nodes->numbers[i]);
		values[1] = Int64GetDatum(nodes->parents[i] == 0 ? 0 : partition | nodes->parents[i]);
		values[2] = Int32GetDatum(nodes->locations[i]);
		SRF_RETURN_NEXT(call, HeapTupleGetDatum(heap_form_tuple(call->tuple_desc, values, nulls)));
	}
	SRF_RETURN_DONE(call);
}
