/*
 * patched.h
 *		Bit-packed arrays in which a few large numbers do not widen all others.
 *
 * The lowest kept_bits of every number are bit-packed. A number with more bits is *patched*: its
 * position, as a gap from the patched number before, and its bits above the kept ones follow in two
 * more bit-packed arrays of patch_count numbers each.
 */
#ifndef PFS_PATCHED_H
#define PFS_PATCHED_H

#include "codec/segment.h"

typedef struct PfsArrayShape
{
	uint32_t count;		  /* numbers, up to PFS_BLOCK_ROWS */
	uint32_t patch_count; /* how many of them are patched */
	uint8_t bits;		  /* bits of the largest number, 0 .. 64 */
	uint8_t kept_bits;	  /* bits packed for every number; equal to bits if nothing is patched */
	uint8_t gap_bits;	  /* bits of a gap between patched numbers, 0 .. 10 */
} PfsArrayShape;

/*
 * Returns the shape that takes the fewest bytes. bits may be more than the numbers need.
 * pfs_array_size() returns those bytes.
 */
PfsArrayShape pfs_array_plan(const uint64_t *numbers, uint32_t count, unsigned bits);
size_t pfs_array_size(const PfsArrayShape *shape);

/* Writes pfs_array_size bytes. */
void pfs_array_pack(const uint64_t *numbers, const PfsArrayShape *shape, uint8_t *bytes);

/* Reads pfs_array_size bytes into numbers[]. Returns false if a patch lies outside the array. */
bool pfs_array_unpack(const uint8_t *bytes, const PfsArrayShape *shape, uint64_t *numbers);

#endif
