/*
 * codec_server.c
 *		Gives the codec memory from palloc, and raises its errors as server errors.
 */
#include "store/segment/codec_server.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

static void *
palloc_realloc(void *context, void *pointer, size_t bytes)
{
	if (bytes == 0)
	{
		if (pointer != NULL)
			pfree(pointer);
		return NULL;
	}
	if (pointer == NULL)
		/*
		 * palloc raises an error if memory is out, so the codec's PFS_NO_MEMORY comes only from
		 * zstd.
		 */
		return MemoryContextAllocExtended(context, bytes, MCXT_ALLOC_HUGE);
	return repalloc_huge(pointer, bytes);
}

PfsAllocator
pfs_palloc_allocator(MemoryContext context)
{
	PfsAllocator allocator = { palloc_realloc, context };

	return allocator;
}

/* Returns the table's name in the form of a regclass constant. */
static const char *
qualified_name(Relation relation)
{
	return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
									  RelationGetRelationName(relation));
}

/*
 * Raises the error for a damaged roll-up. Roll-ups can be built again, so nothing needs to be
 * restored.
 */
pg_noreturn static void
rollup_error(Relation relation, PfsStatus status, const PfsError *error)
{
	ereport(ERROR, (errcode(status == PFS_UNSUPPORTED ? ERRCODE_FEATURE_NOT_SUPPORTED
													  : ERRCODE_DATA_CORRUPTED),
					errmsg("cannot read a roll-up of table \"%s\": %s",
						   RelationGetRelationName(relation), error->message),
					errdetail("Stream %d, offset %zu.", error->stream, error->offset),
					errhint("Delete the rows of profstore.rollups. Compaction makes roll-ups "
							"again.")));
}

void
pfs_segment_error(Relation relation, int64 segment_no, PfsStatus status, const PfsError *error)
{
	const char *table = RelationGetRelationName(relation);

	if (segment_no == PFS_NO_SEGMENT && status != PFS_NO_MEMORY)
		rollup_error(relation, status, error);
	switch (status)
	{
		case PFS_UNSUPPORTED:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot read a segment of table \"%s\": %s", table, error->message),
					 errdetail("Segment %lld, stream %d.", (long long) segment_no, error->stream),
					 errhint("Install the version of profstore that wrote it, or a later one.")));
			break;
		case PFS_NO_MEMORY:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
					 errdetail("Segment %lld of table \"%s\".", (long long) segment_no, table)));
			break;
		case PFS_CORRUPT:
		case PFS_OK:
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("a segment of table \"%s\" is damaged: %s", table, error->message),
			 errdetail("Segment %lld, stream %d, offset %zu.", (long long) segment_no,
					   error->stream, error->offset),
			 errhint("Restore the table from a backup or a standby, or give up the segment's "
					 "rows by profstore.remove_segment('%s', %lld).",
					 qualified_name(relation), (long long) segment_no)));
}
