/*
 * block.h
 *		Encodes up to PFS_BLOCK_ROWS values as one block, which is a shape and symbols, and decodes
 *		it.
 *
 * segment_format.h describes how symbols come from values, and how a shape is stored.
 */
#ifndef PFS_BLOCK_H
#define PFS_BLOCK_H

#include "codec/bytes.h"
#include "codec/patched.h"
#include "codec/segment_format.h"

/* A block entry of a stream, with the fields that follow from it. */
typedef struct PfsBlockShape
{
	PfsTransform transform;
	uint32_t row_count;	   /* 1 .. PFS_BLOCK_ROWS */
	PfsArrayShape symbols; /* one per run, or per row; none for NULLS and CONSTANT */
	PfsArrayShape lengths; /* rows of each run, minus 1; none if the block has no runs */
	int64_t least;		   /* smallest value */
	uint64_t range;		   /* units from the smallest to the largest value */
	uint64_t divisor;	   /* size of a unit */
	uint64_t first;		   /* q[0], for DELTA and DELTA2 */
	int64_t step;		   /* q[1] - q[0], for DELTA2 */
	int64_t base;		   /* least delta (DELTA), or least delta of deltas (DELTA2) */
	uint32_t group_bytes;  /* bytes of the group bits, for RISING, BANDED and PARTED */
	uint32_t band_bits;	   /* for BANDED: bits of a number in each band, four bits a band */
} PfsBlockShape;

/* A block that is being encoded. */
typedef struct PfsBlockDraft
{
	PfsBlockShape shape;
	uint64_t symbols[PFS_BLOCK_ROWS];
	uint64_t lengths[PFS_BLOCK_ROWS];
	uint8_t group_bits[PFS_GROUP_BITS_MAX_BYTES + 8]; /* with room to store whole words */
} PfsBlockDraft;

/* The groups of a block of rows, or of a block that has one value for each group. */
typedef struct PfsBlockGroups
{
	uint32_t count;
	const int64_t *lengths; /* rows of each group, minus 1; they add up to the block's rows */
	bool has_value_each;	/* the block has one value per group */
	const int64_t *sums;	/* sum of (value - least) / unit of each group, or NULL */
	const bool *wanted;		/* groups whose rows must be decoded; NULL: all */
	int64_t least;			/* subtracted from each value that is summed */
	uint64_t unit;
} PfsBlockGroups;

/* Fields that an entry inherits from the entries before it. */
typedef struct PfsEntryContext
{
	int64_t least;
	uint64_t divisor;
} PfsEntryContext;

#define PFS_ENTRY_CONTEXT_INIT \
	{                          \
		0, 1                   \
	}

static inline int64_t
pfs_block_greatest(const PfsBlockShape *shape)
{
	return (int64_t) ((uint64_t) shape->least + shape->range * shape->divisor);
}

/* Computes the smallest and the largest of values; count is at least 1. */
void pfs_value_range(const int64_t *values, uint32_t count, int64_t *least, int64_t *greatest);

/* Greatest common divisor; if one number is 0, returns the other. */
uint64_t pfs_common_divisor(uint64_t left, uint64_t right);

/*
 * Fills in the drafts: each gets the shape and symbols that take the fewest bytes in its packing.
 * Pass NULL for a packing that is not needed. nulls may be NULL; the values of null rows are not
 * read. Pass groups only if the decoder will know them, otherwise NULL.
 */
void pfs_block_draft(const int64_t *values, const bool *nulls, uint32_t row_count,
					 const PfsBlockGroups *groups, PfsBlockDraft *bits, PfsBlockDraft *planes);

/* Estimates the bits of the draft's arrays as planes, after entropy coding. */
uint64_t pfs_block_planes_cost(const PfsBlockDraft *draft);

static inline bool
pfs_block_has_runs(const PfsBlockShape *shape)
{
	return shape->lengths.count > 0;
}

/* Returns true if symbols can be decoded only together with the block's groups. */
static inline bool
pfs_block_needs_groups(const PfsBlockShape *shape)
{
	return shape->transform >= PFS_TRANSFORM_RISING;
}

/*
 * pfs_entry_write() writes a block entry; pfs_entry_read() reads one, for a block of row_count
 * rows. It returns PFS_CORRUPT for bytes that our encoder never writes, and PFS_UNSUPPORTED for a
 * transform or flag of a later version.
 */
void pfs_entry_write(PfsBuffer *buffer, const PfsBlockShape *shape, PfsEntryContext *context);
PfsStatus pfs_entry_read(PfsCursor *cursor, uint32_t row_count, PfsEntryContext *context,
						 PfsBlockShape *shape);

/*
 * Makes values from symbols: undoes the encoder's steps in reverse. symbols[] is overwritten;
 * values may be the same array if the block has no runs. Pass NULL as lengths if it has none.
 * Returns false if the runs do not add up to row_count.
 */
bool pfs_block_restore(const PfsBlockShape *shape, uint64_t *symbols, const uint64_t *lengths,
					   int64_t *values);

/* Repeats each value lengths[i] + 1 times. Returns false if that does not make row_count values. */
bool pfs_spread_runs(const int64_t *run_values, const uint64_t *lengths, uint32_t run_count,
					 uint32_t row_count, int64_t *values);

#endif
