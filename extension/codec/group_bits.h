/*
 * group_bits.h
 *		Blocks encoded with the help of groups: times that rise within a group (RISING), values
 *		that grow with the group's rows (BANDED), values that add up to the group's known sum
 *		(PARTED). segment_format.h describes the layout of the bits.
 */
#ifndef PFS_GROUP_BITS_H
#define PFS_GROUP_BITS_H

#include "codec/block.h"

/* decoding may write this many values past the last one */
#define PFS_GROUP_SLACK_VALUES 8

/*
 * Storage of a RISING group for each number of rows up to most_rows. It depends on the range alone,
 * so it is kept from block to block.
 */
typedef struct PfsRisingPlan
{
	uint64_t range; /* 0: not planned yet */
	uint32_t most_rows;
	uint8_t modes[PFS_BLOCK_ROWS + 1];
	uint16_t bits[PFS_BLOCK_ROWS + 1]; /* length of the group bits */
} PfsRisingPlan;

/*
 * Draft a block of units, which are the values without the least value and divisor in the draft's
 * shape. Return false if the units are not of that kind, or their range is too large.
 * pfs_parted_draft() takes least value and divisor from the groups, which must have sums.
 */
bool pfs_rising_draft(const uint64_t *units, const PfsBlockGroups *groups, PfsBlockDraft *draft);
bool pfs_banded_draft(const uint64_t *units, const PfsBlockGroups *groups, PfsBlockDraft *draft);
bool pfs_parted_draft(const uint64_t *units, const PfsBlockGroups *groups, PfsBlockDraft *draft);

/*
 * Restore units from symbols[] and group bits. group_bits is a copy of the block's bits with at
 * least 16 bytes of slack after PFS_GROUP_BITS_MAX_BYTES; units has room for the block's rows and
 * PFS_GROUP_SLACK_VALUES more. Units of rows that are not wanted are unspecified. Return false if
 * groups and bits do not fit together.
 */
bool pfs_rising_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups,
						const uint64_t *symbols, const uint8_t *group_bits, PfsRisingPlan *plan,
						uint64_t *units);

/* Like pfs_rising_restore(), but a PARTED block has no symbols. */
bool pfs_parted_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups,
						const uint8_t *group_bits, uint64_t *units);

/* Like pfs_rising_restore(), but in place: units[] holds the symbols on entry. */
bool pfs_banded_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups,
						const uint8_t *group_bits, uint64_t *units);

#endif
