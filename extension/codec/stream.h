/*
 * stream.h
 *		A stream: all blocks of one array of values. What the bytes are is told in format.h.
 */
#ifndef PFS_STREAM_H
#define PFS_STREAM_H

#include "codec/block.h"

/*
 * Encodes 1 .. PFS_SEGMENT_MAX_ROWS values; nulls may be NULL. groups are those of each block, or
 * NULL where the decoder will not know them. The bytes are the caller's to free. False: out of
 * memory, and nothing to free.
 */
bool pfs_stream_encode(const int64_t *values, const bool *nulls, uint32_t row_count,
					   const PfsBlockGroups *groups, PfsEffort effort, PfsAllocator allocator,
					   PfsBytes *bytes);

/* A decoder of a stream: the block entries, parsed, and for packing "planes" one decoded group. */
typedef struct PfsStreamDecoder PfsStreamDecoder;

/*
 * Parses head, entries and section table; checks that their sizes add up to the stream's. Keeps the
 * pointer to the bytes, whose CRC the caller has checked. error->stream is the caller's to set.
 */
PfsStatus pfs_stream_open(const uint8_t *bytes, size_t length, uint32_t row_count,
						  PfsAllocator allocator, PfsStreamDecoder **decoder, PfsError *error);
void pfs_stream_close(PfsStreamDecoder *decoder); /* accepts NULL */

/* Least and greatest value of a block; false where all are null. */
bool pfs_stream_range(PfsStreamDecoder *decoder, uint32_t block, int64_t *least, int64_t *greatest);

/* Whether a block, or one of them, can only be decoded beside its groups. */
bool pfs_stream_block_needs_groups(const PfsStreamDecoder *decoder, uint32_t block);
bool pfs_stream_needs_groups(const PfsStreamDecoder *decoder);

/*
 * Writes the block's values: PFS_BLOCK_ROWS, fewer in the last block. groups may be NULL where the
 * stream does not need them.
 */
PfsStatus pfs_stream_block(PfsStreamDecoder *decoder, uint32_t block, const PfsBlockGroups *groups,
						   int64_t *values, PfsError *error);

/* Whether a block comes in units, as all do that have values, but for those of a dictionary. */
bool pfs_stream_block_has_units(const PfsStreamDecoder *decoder, uint32_t block);

/* The units of such a block in place of its values; they stay until another is decoded. */
PfsStatus pfs_stream_block_units(PfsStreamDecoder *decoder, uint32_t block,
								 const PfsBlockGroups *groups, PfsUnits *units, PfsError *error);

/* How many distinct values the stream tells in a dictionary, ascending; 0: it has none. */
uint32_t pfs_stream_distinct_count(const PfsStreamDecoder *decoder);

/* Puts the values in the place of ranks, which are places in the dictionary; at least one. */
PfsStatus pfs_stream_look_up(PfsStreamDecoder *decoder, uint32_t count, int64_t *values,
							 PfsError *error);

/* The same as pfs_stream_values, but ranks in the place of values, of a stream that has these. */
PfsStatus pfs_stream_ranks(PfsStreamDecoder *decoder, uint32_t first, uint32_t count,
						   int64_t *ranks, PfsError *error);

/*
 * Copies up to PFS_BLOCK_ROWS values from any place on. The stream must not need groups, or have a
 * value for each: then lengths is the stream of their rows, minus 1; else it is NULL.
 */
PfsStatus pfs_stream_values(PfsStreamDecoder *decoder, PfsStreamDecoder *lengths, uint32_t first,
							uint32_t count, int64_t *values, PfsError *error);

static inline uint32_t
pfs_block_count(uint32_t row_count)
{
	return (row_count + PFS_BLOCK_ROWS - 1) / PFS_BLOCK_ROWS;
}

/* Rows of a block of a segment of that many rows. */
static inline uint32_t
pfs_block_rows(uint32_t row_count, uint32_t block)
{
	uint32_t left = row_count - block * PFS_BLOCK_ROWS;

	return left < PFS_BLOCK_ROWS ? left : PFS_BLOCK_ROWS;
}

/* Planes of one byte that an array of that many bits has. */
static inline uint32_t
pfs_plane_count(unsigned bits)
{
	return (bits + 7) / 8;
}

/* Symbols of the block in that section: 0 where it has no such plane. */
static inline uint32_t
pfs_section_part(const PfsBlockShape *shape, uint32_t section)
{
	const PfsArrayShape *array = section < PFS_SECTION_LENGTHS ? &shape->symbols : &shape->lengths;
	uint32_t plane = section < PFS_SECTION_LENGTHS ? section : section - PFS_SECTION_LENGTHS;

	return plane < pfs_plane_count(array->bits) ? array->count : 0;
}

#endif
