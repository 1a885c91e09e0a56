/*
 * stream.h
 *		A stream: all blocks of one array of values. segment_format.h describes its bytes.
 */
#ifndef PFS_STREAM_H
#define PFS_STREAM_H

#include "codec/block.h"

/*
 * Encodes 1 .. PFS_SEGMENT_MAX_ROWS values; nulls may be NULL. groups has an entry per block; pass
 * NULL if the decoder will not know the groups. The caller frees the bytes. Returns false, with
 * nothing to free, if out of memory.
 */
bool pfs_stream_encode(const int64_t *values, const bool *nulls, uint32_t row_count,
					   const PfsBlockGroups *groups, PfsEffort effort, PfsAllocator allocator,
					   PfsBytes *bytes);

/*
 * Decodes a stream: holds the parsed block entries and, for packing "planes", one unpacked stripe.
 */
typedef struct PfsStreamDecoder PfsStreamDecoder;

/*
 * Parses head, entries and section table, and checks that their sizes add up to length. Keeps the
 * pointer to the bytes, whose CRC the caller has checked. The caller sets error->stream.
 */
PfsStatus pfs_stream_open(const uint8_t *bytes, size_t length, uint32_t row_count,
						  PfsAllocator allocator, PfsStreamDecoder **decoder, PfsError *error);
void pfs_stream_close(PfsStreamDecoder *decoder); /* accepts NULL */

/* Sets the least and the greatest value of a block. Returns false if all are null. */
bool pfs_stream_range(PfsStreamDecoder *decoder, uint32_t block, int64_t *least, int64_t *greatest);

/* Return true if the block, or any block of the stream, can be decoded only with its groups. */
bool pfs_stream_block_needs_groups(const PfsStreamDecoder *decoder, uint32_t block);
bool pfs_stream_needs_groups(const PfsStreamDecoder *decoder);

/* Returns true if some block has no value, because all of its rows are null. */
bool pfs_stream_has_null_blocks(const PfsStreamDecoder *decoder);

/*
 * Writes the block's values: PFS_BLOCK_ROWS, fewer in the last block. groups may be NULL if the
 * block does not need them.
 */
PfsStatus pfs_stream_block(PfsStreamDecoder *decoder, uint32_t block, const PfsBlockGroups *groups,
						   int64_t *values, PfsError *error);

/*
 * Returns true if pfs_stream_block_units() works for the block: it has values, and the stream has
 * no dictionary.
 */
bool pfs_stream_block_has_units(const PfsStreamDecoder *decoder, uint32_t block);

/* Decodes a block to units instead of values. They are valid until another block is decoded. */
PfsStatus pfs_stream_block_units(PfsStreamDecoder *decoder, uint32_t block,
								 const PfsBlockGroups *groups, PfsUnits *units, PfsError *error);

/* Returns the number of distinct values in the stream's dictionary; 0 if it has none. */
uint32_t pfs_stream_distinct_count(const PfsStreamDecoder *decoder);

/* Replaces ranks (places in the dictionary) by their values; count is at least 1. */
PfsStatus pfs_stream_look_up(PfsStreamDecoder *decoder, uint32_t count, int64_t *values,
							 PfsError *error);

/* Like pfs_stream_values(), but returns ranks. The stream must have a dictionary. */
PfsStatus pfs_stream_ranks(PfsStreamDecoder *decoder, uint32_t first, uint32_t count,
						   int64_t *ranks, PfsError *error);

/*
 * Copies count values from number first on. count is at most PFS_BLOCK_ROWS. If the stream needs
 * groups, it must have one value per group, and lengths is the stream with the number of rows of
 * each group, minus 1; otherwise lengths is NULL.
 */
PfsStatus pfs_stream_values(PfsStreamDecoder *decoder, PfsStreamDecoder *lengths, uint32_t first,
							uint32_t count, int64_t *values, PfsError *error);

static inline uint32_t
pfs_block_count(uint32_t row_count)
{
	return (row_count + PFS_BLOCK_ROWS - 1) / PFS_BLOCK_ROWS;
}

/* Returns the number of rows of a block in a segment of row_count rows. */
static inline uint32_t
pfs_block_rows(uint32_t row_count, uint32_t block)
{
	uint32_t left = row_count - block * PFS_BLOCK_ROWS;

	return left < PFS_BLOCK_ROWS ? left : PFS_BLOCK_ROWS;
}

/* Returns the number of one-byte planes of an array of that many bits. */
static inline uint32_t
pfs_plane_count(unsigned bits)
{
	return (bits + 7) / 8;
}

/* Returns the number of the block's bytes in a section: 0 if it has no such plane. */
static inline uint32_t
pfs_section_part(const PfsBlockShape *shape, uint32_t section)
{
	const PfsArrayShape *array = section < PFS_SECTION_LENGTHS ? &shape->symbols : &shape->lengths;
	uint32_t plane = section < PFS_SECTION_LENGTHS ? section : section - PFS_SECTION_LENGTHS;

	return plane < pfs_plane_count(array->bits) ? array->count : 0;
}

#endif
