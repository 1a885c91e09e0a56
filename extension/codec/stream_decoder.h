/*
 * stream_decoder.h
 *		A stream's decoder from within: what stream_open.c fills in and stream_decode.c decodes by.
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
	uint32_t raw_length;	/* bytes when unpacked; 0: no such section */
	uint32_t stored_length; /* bytes in the stream */
	size_t offset;			/* in the stream */
} PfsSection;

struct PfsStreamDecoder
{
	PfsAllocator allocator;
	const uint8_t *bytes;
	PfsPacking packing;
	uint32_t block_count;
	PfsBlockShape *shapes;	/* one per block */
	size_t *offsets;		/* bits: of each block's data in the stream */
	PfsSection *sections;	/* planes: PFS_SECTION_COUNT per stripe */
	uint32_t stripe;		/* planes: the one in stripe_bytes, or PFS_NO_STRIPE */
	uint8_t *stripe_bytes;	/* planes: its sections, unpacked, one after another */
	size_t stripe_capacity; /* bytes of the largest stripe */
	bool needs_groups;		/* some block rests on groups */
	uint32_t distinct_count;
	PfsStreamDecoder *distinct; /* the values of the ranks; NULL: blocks hold values */
	int64_t *dictionary;		/* the same, as far as blocks of them have been decoded … */
	bool *has_distinct;			/* … which is told by block */
	uint32_t values_block;		/* the block in values, or PFS_NO_BLOCK */
	int64_t *values;			/* for pfs_stream_values; NULL until then */
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
