/*
 * shard_wire.h
 *		What the coordinator asks the nodes of a distributed table, and their answers: bytes.
 *
 * A request is one value, an answer a list of blocks of up to PFS_SHARD_BLOCK_ROWS rows:
 *
 *	request:	1 byte	protocol
 *				1 byte	columns, bits of PfsSampleColumns; 0: only the ends of the tiers
 *				1 byte	part, of PfsSegmentPart
 *				1 byte	flags
 *				signed	from, to
 *				list	ids of series
 *				list	ids of stacks, if the flags say so
 *	block:		1 byte	kind
 *				1 byte	columns
 *				varint	number of rows
 *				then for each column but value: the first number, and the differences of the others,
 *				signed; for value: a varint, which divides all numbers, and their quotients, signed
 *
 * A list is a varint, the number of ids, then the ids in ascending order: the first signed, the
 * others as varints, less the one before. Signed numbers are zigzag varints.
 */
#ifndef PFS_SHARD_WIRE_H
#define PFS_SHARD_WIRE_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "base/arrays.h"
#include "select/sample_columns.h"
#include "store/segment/summary.h"

/*
 * Version of this format. A node refuses other versions. Increase it when these bytes or their
 * meaning change.
 */
#define PFS_SHARD_PROTOCOL 2

#define PFS_SHARD_BLOCK_ROWS 1024

typedef struct PfsShardRequest
{
	int columns;
	PfsSegmentPart part;
	bool delta; /* the profile type's values add up over time */
	TimestampTz from;
	TimestampTz to;
	PfsNumbers series;
	bool has_stacks; /* only the stacks of the list count */
	PfsNumbers stacks;
} PfsShardRequest;

typedef enum PfsShardKind
{
	PFS_SHARD_SAMPLES = 1,
	PFS_SHARD_TIER,	   /* times are starts of a tier's buckets */
	PFS_SHARD_SCRAPES, /* rows of a tier whose values are the times of their scrapes */
	PFS_SHARD_ENDS /* a single row: time and value are the ends of the tiers, from fine to coarse */
} PfsShardKind;

typedef struct PfsShardBlock
{
	PfsShardKind kind;
	int columns;
	uint32 row_count;
	int64 *values[PFS_COLUMN_COUNT]; /* room for PFS_SHARD_BLOCK_ROWS each */
} PfsShardBlock;

/* Encode a request or a block as a value in CurrentMemoryContext. */
bytea *pfs_shard_request_encode(const PfsShardRequest *request);
bytea *pfs_shard_block_encode(const PfsShardBlock *block);

/*
 * Returns the request; its arrays are in CurrentMemoryContext. Raises
 * OBJECT_NOT_IN_PREREQUISITE_STATE for another protocol, DATA_CORRUPTED for bytes that
 * pfs_shard_request_encode() does not write.
 */
PfsShardRequest pfs_shard_request_decode(const bytea *bytes);

/* Allocates the arrays of a block. */
void pfs_shard_block_init(PfsShardBlock *block);

/*
 * Fills the arrays of a block. Raises DATA_CORRUPTED for bytes that pfs_shard_block_encode() does
 * not write.
 */
void pfs_shard_block_decode(PfsShardBlock *block, const bytea *bytes);

#endif
