/*
 * stream_encode.c
 *		Encodes values as a stream, in whichever packing is smaller.
 */
#include "codec/stream.h"

#include <string.h>

#include "codec/distinct.h"
#include "codec/zstd_context.h"

/* below this length the overhead of a zstd frame exceeds its saving */
#define PLANES_MIN_BYTES 128
#define PLANES_MIN_ROWS	 64

/* planes cost more to decode, so they must save at least a tenth */
#define PLANES_MAX_SHARE_PERCENT 90

/*
 * PFS_EFFORT_FAST: estimates the planes from one block in PLANES_SAMPLE_BLOCKS, and tries them only
 * if the estimate is well below the bits, because zstd never quite reaches the entropy
 */
#define PLANES_SAMPLE_BLOCKS		4
/* about the size of the frames' headers and of the section table's entries */
#define STRIPE_OVERHEAD_BYTES		128
#define PLANES_MAX_ESTIMATE_PERCENT 75

typedef struct StreamEncoder
{
	PfsEffort effort;
	uint64_t planes_bytes; /* packing "bits" only: estimated size of the data as planes */
	PfsBuffer entries;	   /* head and block entries */
	PfsBuffer table;	   /* section table */
	PfsBuffer data;
	PfsBuffer sections[PFS_SECTION_COUNT]; /* planes of the stripe that is being filled */
	PfsBlockDraft draft;
	PfsEntryContext context;
} StreamEncoder;

static void
encoder_init(StreamEncoder *encoder, PfsPacking packing, PfsEffort effort, PfsAllocator allocator)
{
	encoder->context = (PfsEntryContext) PFS_ENTRY_CONTEXT_INIT;
	encoder->planes_bytes = 0;
	encoder->effort = effort;
	pfs_buffer_init(&encoder->entries, allocator);
	pfs_buffer_init(&encoder->table, allocator);
	pfs_buffer_init(&encoder->data, allocator);
	for (int section = 0; section < PFS_SECTION_COUNT; section++)
		pfs_buffer_init(&encoder->sections[section], allocator);
	pfs_buffer_put_byte(&encoder->entries, (uint8_t) packing);
}

static void
encoder_fini(StreamEncoder *encoder)
{
	pfs_buffer_fini(&encoder->entries);
	pfs_buffer_fini(&encoder->table);
	pfs_buffer_fini(&encoder->data);
	for (int section = 0; section < PFS_SECTION_COUNT; section++)
		pfs_buffer_fini(&encoder->sections[section]);
}

static void
put_bits(PfsBuffer *data, const uint64_t *numbers, const PfsArrayShape *array)
{
	uint8_t *bytes = pfs_buffer_extend(data, pfs_array_size(array));

	if (bytes != NULL)
		pfs_array_pack(numbers, array, bytes);
}

static void
put_planes(PfsBuffer *sections, const uint64_t *numbers, const PfsArrayShape *array)
{
	for (uint32_t plane = 0; plane < pfs_plane_count(array->bits); plane++)
	{
		uint8_t *bytes = pfs_buffer_extend(&sections[plane], array->count);

		for (uint32_t i = 0; bytes != NULL && i < array->count; i++)
			bytes[i] = (uint8_t) (numbers[i] >> (8 * plane));
	}
}

/*
 * Compresses a section's bytes into the room after data, without adding them to its length.
 * *written is 0 if the bytes do not compress. Returns false if out of memory.
 */
static bool
compress_section(StreamEncoder *encoder, const uint8_t *bytes, size_t length, size_t *written)
{
	size_t capacity = pfs_zstd_bound(length);
	/* Room for two results, the second behind the first. */
	uint8_t *target = pfs_buffer_reserve(&encoder->data, 2 * capacity);
	size_t other;

	if (target == NULL)
		return false;
	if (encoder->effort == PFS_EFFORT_FAST)
		return pfs_zstd_compress(target, capacity, bytes, length, PFS_ZSTD_QUICK, written);
	/*
	 * Compress with both kinds of search and keep the shorter result: matches found by chance cost
	 * more than they save.
	 */
	if (!pfs_zstd_compress(target, capacity, bytes, length, PFS_ZSTD_LITERALS, written) ||
		!pfs_zstd_compress(target + capacity, capacity, bytes, length, PFS_ZSTD_REPEATS, &other))
		return false;
	if (other != 0 && (*written == 0 || other < *written))
	{
		memcpy(target, target + capacity, other);
		*written = other;
	}
	return true;
}

/* Appends a section to the data, with the shortest code, and empties it. */
static bool
flush_section(StreamEncoder *encoder, PfsBuffer *section)
{
	size_t length = section->length;
	size_t written = 0;

	if (length == 0)
		return true;
	/* The bytes stay valid until the section is written to again, in the next stripe. */
	section->length = 0;
	/* all bytes are equal: each equals its successor */
	if (memcmp(section->data, section->data + 1, length - 1) == 0)
	{
		pfs_buffer_put_byte(&encoder->table, PFS_SECTION_REPEAT);
		pfs_buffer_put_byte(&encoder->data, section->data[0]);
		return true;
	}
	if (!compress_section(encoder, section->data, length, &written))
		return false;
	if (written != 0 && written * 100 < length * PLANES_MAX_SHARE_PERCENT)
	{
		pfs_buffer_put_byte(&encoder->table, PFS_SECTION_ZSTD);
		pfs_buffer_put_varint(&encoder->table, written);
		/*
		 * The frame lies in the room that compress_section() has reserved: only the length changes.
		 */
		pfs_buffer_extend(&encoder->data, written);
		return true;
	}
	pfs_buffer_put_byte(&encoder->table, PFS_SECTION_RAW);
	pfs_buffer_put(&encoder->data, section->data, length);
	return true;
}

static bool
flush_stripe(StreamEncoder *encoder)
{
	for (int section = 0; section < PFS_SECTION_COUNT; section++)
		/* put_planes() does not report failures of its buffers; this check does. */
		if (encoder->sections[section].failed ||
			!flush_section(encoder, &encoder->sections[section]))
			return false;
	return true;
}

/* Appends the draft of one block in packing "bits", and updates the estimate for planes. */
static void
put_block_bits(StreamEncoder *encoder, uint32_t block)
{
	const PfsBlockDraft *draft = &encoder->draft;

	pfs_entry_write(&encoder->entries, &draft->shape, &encoder->context);
	put_bits(&encoder->data, draft->symbols, &draft->shape.symbols);
	put_bits(&encoder->data, draft->lengths, &draft->shape.lengths);
	pfs_buffer_put(&encoder->data, draft->group_bits, draft->shape.group_bytes);
	/*
	 * The estimate serves PFS_EFFORT_FAST, whose segments will be merged again: computing the
	 * entropy of every block would not pay, so one of PLANES_SAMPLE_BLOCKS stands for the others.
	 */
	if (block % PFS_STRIPE_BLOCKS == 0)
		encoder->planes_bytes += STRIPE_OVERHEAD_BYTES;
	if (block % PLANES_SAMPLE_BLOCKS == 0 && !pfs_block_needs_groups(&draft->shape))
		encoder->planes_bytes += pfs_block_planes_cost(draft) / 8 * PLANES_SAMPLE_BLOCKS;
}

/* Appends the draft of one block in packing "planes". Returns false if out of memory. */
static bool
put_block_planes(StreamEncoder *encoder, uint32_t block)
{
	const PfsBlockDraft *draft = &encoder->draft;

	pfs_entry_write(&encoder->entries, &draft->shape, &encoder->context);
	put_planes(encoder->sections + PFS_SECTION_SYMBOLS, draft->symbols, &draft->shape.symbols);
	put_planes(encoder->sections + PFS_SECTION_LENGTHS, draft->lengths, &draft->shape.lengths);
	/* encode_blocks() flushes the last stripe, which may be shorter. */
	return (block + 1) % PFS_STRIPE_BLOCKS != 0 || flush_stripe(encoder);
}

/* The array to encode. */
typedef struct Source
{
	const int64_t *values;
	const bool *nulls; /* may be NULL */
	uint32_t row_count;
	const PfsBlockGroups *groups; /* one per block, or NULL */
} Source;

/* Encodes all blocks with one encoder, or with both in one pass. Returns false if out of memory. */
static bool
encode_blocks(StreamEncoder *bits, StreamEncoder *planes, const Source *source)
{
	const bool *nulls = source->nulls;
	/* A draft for planes alone must not use groups. */
	const PfsBlockGroups *groups = bits == NULL ? NULL : source->groups;

	for (uint32_t block = 0; block < pfs_block_count(source->row_count); block++)
	{
		uint32_t start = block * PFS_BLOCK_ROWS;

		pfs_block_draft(source->values + start, nulls == NULL ? NULL : nulls + start,
						pfs_block_rows(source->row_count, block),
						groups == NULL ? NULL : &groups[block], bits == NULL ? NULL : &bits->draft,
						planes == NULL ? NULL : &planes->draft);
		if (bits != NULL)
			put_block_bits(bits, block);
		if (planes != NULL && !put_block_planes(planes, block))
			return false;
	}
	if (planes != NULL && (!flush_stripe(planes) || planes->entries.failed ||
						   planes->table.failed || planes->data.failed))
		return false;
	return bits == NULL || (!bits->entries.failed && !bits->data.failed);
}

static size_t
encoder_length(const StreamEncoder *encoder)
{
	return encoder->entries.length + encoder->table.length + encoder->data.length;
}

/* PFS_EFFORT_FAST: decides from the estimate whether planes are worth trying. */
static bool
planes_may_pay(const StreamEncoder *bits)
{
	return bits->data.length >= PLANES_MIN_BYTES &&
		   bits->planes_bytes * 100 < bits->data.length * PLANES_MAX_ESTIMATE_PERCENT;
}

/*
 * Encodes the values and sets *best to the encoder with the better stream. Returns false if out of
 * memory.
 */
static bool
stream_encode_values(StreamEncoder *bits, StreamEncoder *planes, const Source *source,
					 PfsEffort effort, StreamEncoder **best)
{
	/*
	 * Dense encoding drafts each block once for both packings; the fast one drafts again only if
	 * the estimate promises a gain.
	 */
	bool both = effort == PFS_EFFORT_DENSE && source->row_count >= PLANES_MIN_ROWS;

	*best = bits;
	if (!encode_blocks(bits, both ? planes : NULL, source))
		return false;
	if (!both && !planes_may_pay(bits))
		return true;
	if (!both && !encode_blocks(NULL, planes, source))
		return false;
	if (bits->data.length >= PLANES_MIN_BYTES &&
		encoder_length(planes) * 100 < encoder_length(bits) * PLANES_MAX_SHARE_PERCENT)
		*best = planes;
	return true;
}

/* Encodes the values without a dictionary. */
static bool
encode_stream(const Source *source, PfsEffort effort, PfsAllocator allocator, PfsBytes *bytes)
{
	StreamEncoder *encoders = allocator.realloc(allocator.context, NULL, 2 * sizeof(StreamEncoder));
	StreamEncoder *best;
	bool done;

	if (encoders == NULL)
		return false;
	encoder_init(&encoders[0], PFS_PACKING_BITS, effort, allocator);
	encoder_init(&encoders[1], PFS_PACKING_PLANES, effort, allocator);
	done = stream_encode_values(&encoders[0], &encoders[1], source, effort, &best);
	if (done)
	{
		/*
		 * Entries, section table and data are the order of segment_format.h. Packing "bits" has an
		 * empty table.
		 */
		pfs_buffer_put(&best->entries, best->table.data, best->table.length);
		pfs_buffer_put(&best->entries, best->data.data, best->data.length);
		done = !best->entries.failed;
	}
	if (done)
		*bytes = pfs_buffer_take(&best->entries);
	encoder_fini(&encoders[0]);
	encoder_fini(&encoders[1]);
	allocator.realloc(allocator.context, encoders, 0);
	return done;
}

/* Builds a stream with dictionary from the stream of ranks and the stream of distinct values. */
static bool
join_dictionary(const PfsBytes *ranks, const PfsBytes *dictionary, uint32_t distinct_count,
				PfsAllocator allocator, PfsBytes *bytes)
{
	PfsBuffer buffer;
	bool done;

	pfs_buffer_init(&buffer, allocator);
	/*
	 * The head of the stream of ranks becomes that of the whole; the rest of it follows the
	 * dictionary.
	 */
	pfs_buffer_put_byte(&buffer, ranks->data[0] | PFS_STREAM_DICTIONARY);
	pfs_buffer_put_varint(&buffer, distinct_count);
	pfs_buffer_put_varint(&buffer, dictionary->length);
	pfs_buffer_put(&buffer, dictionary->data, dictionary->length);
	pfs_buffer_put(&buffer, ranks->data + 1, ranks->length - 1);
	done = !buffer.failed;
	if (done)
		*bytes = pfs_buffer_take(&buffer);
	pfs_buffer_fini(&buffer);
	return done;
}

/* Encodes the values with a dictionary, and replaces *bytes if that saves at least a tenth. */
static bool
try_dictionary(const Source *source, PfsEffort effort, PfsAllocator allocator, PfsBytes *bytes)
{
	PfsDistinct distinct;
	PfsBytes ranks = { 0 };
	PfsBytes dictionary = { 0 };
	PfsBytes joined = { 0 };
	bool done = pfs_distinct_find(source->values, source->row_count, allocator, &distinct);

	if (!done || distinct.count == 0)
		return done;
	/* Ranks rise with the values, so they can use the same groups and have the same runs. */
	done = encode_stream(&(Source){ distinct.ranks, NULL, source->row_count, source->groups },
						 effort, allocator, &ranks) &&
		   encode_stream(&(Source){ distinct.values, NULL, distinct.count, NULL }, effort,
						 allocator, &dictionary) &&
		   join_dictionary(&ranks, &dictionary, distinct.count, allocator, &joined);
	/* Swap, so that the stream that is not kept is the one freed below. */
	if (done && joined.length * 100 < bytes->length * PLANES_MAX_SHARE_PERCENT)
	{
		PfsBytes plain = *bytes;

		*bytes = joined;
		joined = plain;
	}
	pfs_distinct_free(&distinct, allocator);
	if (ranks.data != NULL)
		allocator.realloc(allocator.context, ranks.data, 0);
	if (dictionary.data != NULL)
		allocator.realloc(allocator.context, dictionary.data, 0);
	if (joined.data != NULL)
		allocator.realloc(allocator.context, joined.data, 0);
	return done;
}

bool
pfs_stream_encode(const int64_t *values, const bool *nulls, uint32_t row_count,
				  const PfsBlockGroups *groups, PfsEffort effort, PfsAllocator allocator,
				  PfsBytes *bytes)
{
	Source source = { values, nulls, row_count, groups };

	if (!encode_stream(&source, effort, allocator, bytes))
		return false;
	/* PARTED blocks need sums of the values themselves, which ranks do not have */
	if (effort == PFS_EFFORT_DENSE && nulls == NULL && (groups == NULL || groups[0].sums == NULL) &&
		!try_dictionary(&source, effort, allocator, bytes))
	{
		allocator.realloc(allocator.context, bytes->data, 0);
		*bytes = (PfsBytes){ 0 };
		return false;
	}
	return true;
}
