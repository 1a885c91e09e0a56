/*
 * merged.h
 *		The type profstore.stack_sums: a value per stack, merged and kept.
 *
 * A varlena of these bytes, which compress and go to TOAST like any other:
 *
 *	1 byte	format version
 *	varint	number of stacks
 *	then for each, by ascending stack id:
 *		varint, the id less the one before (the first: less 0)
 *		zigzag varint, the value
 *
 * No value is 0. As text: {stack id:value,…}. The ids mean what they mean in the stack dictionary
 * of the same database.
 */
#ifndef PFS_MERGED_H
#define PFS_MERGED_H

#include "profstore.h"

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "codec/bytes.h"
#include "merge/stack_stream.h"

/*
 * The stacks of an argument; none where it is NULL. Lives in CurrentMemoryContext. Raises
 * DATA_CORRUPTED for bytes that pfs_merged_encode does not write.
 */
PfsStackSums pfs_merged_get(FunctionCallInfo fcinfo, int argument);

/* The same as a stream. */
PfsStackStream *pfs_merged_stream(FunctionCallInfo fcinfo, int argument);

/* The same from the bytes themselves; error is the code to raise. */
PfsStackSums pfs_merged_decode(const char *bytes, Size length, int error);

/* The datum of sums by ascending stack id; those of value 0 are left out. */
Datum pfs_merged_encode(const PfsStackSums *sums);

/* The same one by one, for who does not want them all in memory. */
typedef struct PfsMergedReader
{
	PfsCursor cursor;
	int error;
	uint64 count; /* of all stacks, which the bytes are enough for */
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

/* Into CurrentMemoryContext. */
void pfs_merged_begin(PfsMergedWriter *writer);

/* By ascending stack id; of value 0 is none. */
void pfs_merged_put(PfsMergedWriter *writer, int64 stack_id, int64 value);
struct varlena *pfs_merged_finish(PfsMergedWriter *writer);

#endif
