/*
 * chunk_rows.c
 *		Rows of profstore.stack_chunks.
 */
#include "profstore.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/indexing.h"
#include "utils/rel.h"
#include "utils/xid8.h"

#include "dictionary/tree/chunk_format.h"
#include "dictionary/tree/chunk_rows.h"

uint64
pfs_chunk_horizon(Snapshot snapshot)
{
	uint64 next = U64FromFullTransactionId(ReadNextFullTransactionId());
	uint64 horizon = (next & ~(uint64) PG_UINT32_MAX) | snapshot->xmin;

	return horizon > next ? horizon - ((uint64) 1 << 32) : horizon;
}

void
pfs_stored_chunk_read(HeapTuple tuple, TupleDesc descriptor, PfsStoredChunk *chunk)
{
	Datum values[PFS_CHUNK_COLUMNS];
	bool nulls[PFS_CHUNK_COLUMNS];

	heap_deform_tuple(tuple, descriptor, values, nulls);
	chunk->row.partition_id = DatumGetInt32(values[PFS_CHUNK_PARTITION_ID - 1]);
	chunk->row.node_count = DatumGetInt32(values[PFS_CHUNK_NODE_COUNT - 1]);
	chunk->row.first_node = DatumGetInt64(values[PFS_CHUNK_FIRST_NODE - 1]);
	chunk->row.last_node = DatumGetInt64(values[PFS_CHUNK_LAST_NODE - 1]);
	chunk->xid = U64FromFullTransactionId(DatumGetFullTransactionId(values[PFS_CHUNK_XID - 1]));
	chunk->payload = values[PFS_CHUNK_PAYLOAD - 1];
}

void
pfs_stored_chunk_decode(const PfsStoredChunk *chunk, PfsChunkNodes *nodes)
{
	struct varlena *payload = PG_DETOAST_DATUM_PACKED(chunk->payload);

	/* the decoder reports a count that is out of range before it writes to the arrays */
	if (chunk->row.node_count > 0 && chunk->row.node_count <= PFS_CHUNK_MAX_NODES)
		pfs_chunk_nodes_reserve(nodes, (uint32) chunk->row.node_count);
	pfs_chunk_decode(&chunk->row, payload, nodes);
	if ((Pointer) payload != DatumGetPointer(chunk->payload))
		pfree(payload);
}

void
pfs_stored_chunk_insert(Relation table, int32 partition_id, uint64 xid, const PfsChunkNodes *nodes)
{
	bytea *payload = pfs_chunk_encode(nodes);
	Datum values[PFS_CHUNK_COLUMNS];
	bool nulls[PFS_CHUNK_COLUMNS] = { false };
	HeapTuple tuple;

	values[PFS_CHUNK_PARTITION_ID - 1] = Int32GetDatum(partition_id);
	values[PFS_CHUNK_NODE_COUNT - 1] = Int32GetDatum((int32) nodes->node_count);
	values[PFS_CHUNK_FIRST_NODE - 1] = Int64GetDatum(nodes->numbers[0]);
	values[PFS_CHUNK_LAST_NODE - 1] = Int64GetDatum(nodes->numbers[nodes->node_count - 1]);
	values[PFS_CHUNK_XID - 1] = FullTransactionIdGetDatum(FullTransactionIdFromU64(xid));
	values[PFS_CHUNK_PAYLOAD - 1] = PointerGetDatum(payload);
	tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
	CatalogTupleInsert(table, tuple);
	heap_freetuple(tuple);
	pfree(payload);
}
