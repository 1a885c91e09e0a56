/*
 * block.h
 *		One block: from up to PFS_BLOCK_ROWS values to a shape and symbols, and back.
 *
 * What a shape's fields mean on disk, and how symbols come from values, is told in format.h.
 */
#ifndef PFS_BLOCK_H
#define PFS_BLOCK_H

#include "codec/bytes.h"
#include "codec/format.h"
#include "codec/patched.h"

/* A block entry of a stream, with what follows from it. */
typedef struct PfsBlockShape
{
	PfsTransform transform;
	uint32_t row_count;	   /* 1 .. PFS_BLOCK_ROWS */
	PfsArrayShape symbols; /* none for NULLS and CONSTANT; of runs, or of rows */
	PfsArrayShape lengths; /* of runs, minus 1; none where the block has no runs */
	int64_t least;		   /* smallest value */
	uint64_t range;		   /* units from the smallest to the largest value */
	uint64_t divisor;	   /* size of a unit */
	uint64_t first;		   /* q[0], for DELTA and DELTA2 */
	int64_t step;		   /* q[1] - q[0], for DELTA2 */
	int64_t base;		   /* of deltas, or of deltas of deltas */
	uint32_t group_bytes;  /* of the group bits, for RISING, BANDED and PARTED */
	uint32_t band_bits;	   /* for BANDED: bits of a number in each band, four bits a band */
} PfsBlockShape;

/* A block on its way to the bytes. */
typedef struct PfsBlockDraft
{
	PfsBlockShape shape;
	uint64_t symbols[PFS_BLOCK_ROWS];
	uint64_t lengths[PFS_BLOCK_ROWS];
	uint8_t group_bits[PFS_GROUP_BITS_MAX_BYTES + 8]; /* with room to store whole words */
} PfsBlockDraft;

/* The groups of a block of rows; or of a block that has a value for each. */
typedef struct PfsBlockGroups
{
	uint32_t count;
	const int64_t *lengths; /* rows of each, minus 1; they add up to the block's rows */
	bool has_value_each;	/* the block's values are the groups' */
	const int64_t *sums;	/* of each: values minus least, in units; NULL: not known */
	const bool *wanted;		/* groups whose rows are to be decoded; NULL: all */
	int64_t least;			/* of sums */
	uint64_t unit;
} PfsBlockGroups;

/* What one entry takes over from those before it. */
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

/* Smallest and largest of at least one value. */
void pfs_value_range(const int64_t *values, uint32_t count, int64_t *least, int64_t *greatest);

/* The greatest; the other number where one is 0. */
uint64_t pfs_common_divisor(uint64_t left, uint64_t right);

/*
 * Fills in the drafts so that their symbols take the fewest bytes in each packing; a packing whose
 * draft is NULL is not asked for. nulls may be NULL; the values of null rows are not looked at.
 * groups is NULL where the decoder will not know them.
 */
void pfs_block_draft(const int64_t *values, const bool *nulls, uint32_t row_count,
					 const PfsBlockGroups *groups, PfsBlockDraft *bits, PfsBlockDraft *planes);

/* Bits that the draft's arrays take as planes, once an entropy coder has been over them. */
uint64_t pfs_block_planes_cost(const PfsBlockDraft *draft);

static inline bool
pfs_block_has_runs(const PfsBlockShape *shape)
{
	return shape->lengths.count > 0;
}

/* Whether only the groups of the block tell its symbols. */
static inline bool
pfs_block_needs_groups(const PfsBlockShape *shape)
{
	return shape->transform >= PFS_TRANSFORM_RISING;
}

/*
 * Writes the block entry; reads it, for a block of that many rows. PFS_CORRUPT: not an entry that
 * we write; PFS_UNSUPPORTED: a transform or flag of a later version.
 */
void pfs_entry_write(PfsBuffer *buffer, const PfsBlockShape *shape, PfsEntryContext *context);
PfsStatus pfs_entry_read(PfsCursor *cursor, uint32_t row_count, PfsEntryContext *context,
						 PfsBlockShape *shape);

/*
 * Values from symbols, undoing the steps in reverse. symbols[] is overwritten; values may be the
 * same array where the block has no runs. lengths is NULL where it has none. False: the runs do not
 * add up to row_count.
 */
bool pfs_block_restore(const PfsBlockShape *shape, uint64_t *symbols, const uint64_t *lengths,
					   int64_t *values);

/*
 * Writes each of the values as often as its length, plus 1, says. False: that does not make
 * row_count values.
 */
bool pfs_spread_runs(const int64_t *run_values, const uint64_t *lengths, uint32_t run_count,
					 uint32_t row_count, int64_t *values);

#endif
