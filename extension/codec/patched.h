/*
 * patched.h
 *		Bit-packed arrays in which a few large numbers do not widen all others.
 *
 * Of every number the lowest kept_bits are bit-packed; numbers with more bits are *patched*: their
 * positions, as gaps, and what lies above the kept bits follow in two bit-packed arrays of
 * patch_count.
 */
#ifndef PFS_PATCHED_H
#define PFS_PATCHED_H

#include "codec/segment.h"

typedef struct PfsArrayShape
{
	uint32_t count;		  /* numbers, up to PFS_BLOCK_ROWS */
	uint32_t patch_count; /* of them patched */
	uint8_t bits;		  /* that the largest number has, 0 .. 64 */
	uint8_t kept_bits;	  /* packed for every number; equals bits where nothing is patched */
	uint8_t gap_bits;	  /* of the numbers between one patch and the next, 0 .. 10 */
} PfsArrayShape;

/*
 * The shape that takes the fewest bytes, and how many bytes. bits may be more than the numbers
 * need.
 */
PfsArrayShape pfs_array_plan(const uint64_t *numbers, uint32_t count, unsigned bits);
size_t pfs_array_size(const PfsArrayShape *shape);

/* Writes pfs_array_size bytes. */
void pfs_array_pack(const uint64_t *numbers, const PfsArrayShape *shape, uint8_t *bytes);

/* Reads pfs_array_size bytes into numbers[]; false: a patch lies outside the array. */
bool pfs_array_unpack(const uint8_t *bytes, const PfsArrayShape *shape, uint64_t *numbers);

#endif
