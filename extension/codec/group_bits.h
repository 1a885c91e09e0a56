/*
 * group_bits.h
 *		Blocks of rows whose groups the decoder knows: times that rise within a group, values that
 *		grow with its length, or that part its sum. How bits are laid out is told in format.h.
 */
#ifndef PFS_GROUP_BITS_H
#define PFS_GROUP_BITS_H

#include "codec/block.h"

/* Values beyond the last that decoding may write to. */
#define PFS_GROUP_SLACK_VALUES 8

/*
 * How a rising group of so many rows is stored, for each number of rows up to most_rows. It depends
 * on the range alone, so it is kept from block to block.
 */
typedef struct PfsRisingPlan
{
	uint64_t range; /* 0: not planned yet */
	uint32_t most_rows;
	uint8_t modes[PFS_BLOCK_ROWS + 1];
	uint16_t bits[PFS_BLOCK_ROWS + 1]; /* of the group bits */
} PfsRisingPlan;

/*
 * Draft a block of units (the values without least value and divisor, which the draft's shape has);
 * false where they are not of that kind, or their range is too large. Parted blocks take least
 * value and divisor from the groups, which must know their sums.
 */
bool pfs_rising_draft(const uint64_t *units, const PfsBlockGroups *groups, PfsBlockDraft *draft);
bool pfs_banded_draft(const uint64_t *units, const PfsBlockGroups *groups, PfsBlockDraft *draft);
bool pfs_parted_draft(const uint64_t *units, const PfsBlockGroups *groups, PfsBlockDraft *draft);

/*
 * Units from symbols[] and group bits. group_bits has PFS_GROUP_BITS_MAX_BYTES and 16 bytes more,
 * of which the first are the block's; units has room for the block's rows and
 * PFS_GROUP_SLACK_VALUES; those of rows that are not wanted may be any. False: groups and bits do
 * not fit together.
 */
bool pfs_rising_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups,
						const uint64_t *symbols, const uint8_t *group_bits, PfsRisingPlan *plan,
						uint64_t *units);

/* The same, without symbols. */
bool pfs_parted_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups,
						const uint8_t *group_bits, uint64_t *units);

/* The same in place, units[] being what the array of symbols holds. */
bool pfs_banded_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups,
						const uint8_t *group_bits, uint64_t *units);

#endif
