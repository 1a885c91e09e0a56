/*
 * merged.h
 *		The type profstore.stack_sums: a value per stack, merged and kept.
 *
 * A varlena of these bytes, which compress and go to TOAST like any other:
 *
 *	1 byte	format version
 *	varint	number of stacks
 *	then for each, by ascending stack id: varint, the id less the one before (the first: less 0); zigzag varint, the value
 *
 * No value is 0. As text: {stack id:value,…}. The ids mean what they mean in the stack dictionary of the same database.
 */
#ifndef PFS_MERGED_H
#define PFS_MERGED_H

#include "profstore.h"

#include "fmgr.h"
#include "query/stack_sums.h"

/*
 * The stacks of an argument; none where it is NULL. Lives in CurrentMemoryContext. Raises DATA_CORRUPTED for bytes
 * that pfs_merged_encode does not write.
 */
PfsStackSums pfs_merged_get(FunctionCallInfo fcinfo, int argument);

/* The same from the bytes themselves; error is the code to raise. */
PfsStackSums pfs_merged_decode(const char *bytes, Size length, int error);

/* The datum of sums by ascending stack id; those of value 0 are left out. */
Datum pfs_merged_encode(const PfsStackSums *sums);

#endif
