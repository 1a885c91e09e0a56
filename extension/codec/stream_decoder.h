/*
 * stream_decoder.h
 *		The decoder of a stream: stream_open.c fills it in, stream_decode.c decodes with it.
 */
#ifndef PFS_STREAM_DECODER_H
#define PFS_STREAM_DECODER_H

#include "codec/group_bits.h"
#include "codec/stream.h"

#define PFS_NO_STRIPE UINT32_MAX
#define PFS_NO_BLOCK  UINT32_MAX

typedef struct PfsSection
{
	PfsSectionCode code;
	uint32_t raw_length;	/* unpacked bytes; 0: the section does not exist */
	uint32_t stored_length; /* bytes in the stream */
	size_t offset;			/* position in the stream */
} PfsSection;

struct PfsStreamDecoder
{
	PfsAllocator allocator;
	const uint8_t *bytes;
	PfsPacking packing;
	uint32_t block_count;
	PfsBlockShape *shapes; /* one per block */
	size_t *offsets;	   /* packing "bits": offset of each block's data in the stream */
	PfsSection *sections;  /* packing "planes": PFS_SECTION_COUNT per stripe */
	uint32_t stripe;	   /* packing "planes": the stripe in stripe_bytes, or PFS_NO_STRIPE */
	/* packing "planes": the unpacked sections of that stripe, one after another */
	uint8_t *stripe_bytes;
	size_t stripe_capacity; /* bytes of the largest stripe */
	bool needs_groups;		/* some block can be decoded only with its groups */
	bool has_null_blocks;	/* some block has no value */
	uint32_t distinct_count;
	PfsStreamDecoder *distinct; /* decoder of the dictionary; NULL: blocks hold values, not ranks */
	int64_t *dictionary; /* values of the dictionary, for the blocks of it that have been decoded */
	bool *has_distinct;	 /* which blocks of the dictionary have been decoded */
	uint32_t values_block; /* the block in values[], or PFS_NO_BLOCK */
	int64_t *values; /* one decoded block for pfs_stream_values(); NULL until its first call */
	uint64_t symbols[PFS_BLOCK_ROWS + PFS_GROUP_SLACK_VALUES];
	uint64_t lengths[PFS_BLOCK_ROWS];
	uint64_t units[PFS_BLOCK_ROWS + PFS_GROUP_SLACK_VALUES];
	uint8_t group_bits[PFS_GROUP_BITS_MAX_BYTES + 16];
	PfsRisingPlan rising;
};

static inline PfsStatus
pfs_stream_fail(PfsError *error, PfsStatus status, const char *message, size_t offset)
{
	error->message = message;
	error->offset = offset;
	return status;
}

static inline void *
pfs_stream_allocate(PfsStreamDecoder *decoder, size_t bytes)
{
	return decoder->allocator.realloc(decoder->allocator.context, NULL, bytes);
}

#endif
