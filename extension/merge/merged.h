/*
 * merged.h
 *		The type profstore.stack_sums: a stored list of one value per stack.
 *
 * A varlena with these bytes, which PostgreSQL compresses and stores in TOAST as usual:
 *
 *	1 byte	format version
 *	varint	number of stacks
 *	then for each, by ascending stack id:
 *		varint, the id less the one before (the first: less 0)
 *		zigzag varint, the value
 *
 * No value is 0. As text: {stack id:value,…}. The ids refer to the stack dictionary of the same
 * database.
 */
#ifndef PFS_MERGED_H
#define PFS_MERGED_H

#include "profstore.h"

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "codec/bytes.h"
#include "merge/stack_stream.h"

/*
 * Returns the stacks of the argument of a name; none if it is NULL. Lives in CurrentMemoryContext.
 * Raises DATA_CORRUPTED for bytes that pfs_merged_encode does not write, and
 * INSUFFICIENT_PRIVILEGE unless the current user may read the whole dictionary.
 */
PfsStackSums pfs_merged_get(FunctionCallInfo fcinfo, const char *name);

/* Like pfs_merged_get(), but returns a stream. */
PfsStackStream *pfs_merged_stream(FunctionCallInfo fcinfo, const char *name);

/* Encodes sums in ascending order of stack ids as a datum. Sums of value 0 are left out. */
Datum pfs_merged_encode(const PfsStackSums *sums);

/* Decodes stacks one by one, without holding all of them in memory. */
typedef struct PfsMergedReader
{
	PfsCursor cursor;
	int error;
	uint64 count; /* number of all stacks; the bytes are long enough for it */
	uint64 next;
	int64 last;
} PfsMergedReader;

PfsMergedReader pfs_merged_read(const char *bytes, Size length, int error);
bool pfs_merged_next(PfsMergedReader *reader, PfsStackSum *sum);

typedef struct PfsMergedWriter
{
	StringInfoData bytes;
	uint32 count;
	int64 last;
} PfsMergedWriter;

/* Starts a value in CurrentMemoryContext. */
void pfs_merged_begin(PfsMergedWriter *writer);

/* Appends a stack; ids must ascend. A stack of value 0 is left out. */
void pfs_merged_put(PfsMergedWriter *writer, int64 stack_id, int64 value);
struct varlena *pfs_merged_finish(PfsMergedWriter *writer);

#endif
