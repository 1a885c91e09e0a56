/*
 * mini_debug.c
 *		Unpacks xz streams.
 */
#include "symbols/elf/mini_debug.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#define MINI_PACKED_MAX_BYTES (8U << 20)
#define MINI_MAX_BYTES		  (16U << 20)
#define MINI_DECODER_BYTES	  (10U << 20) /* default memory limit of xz, at least */
/* decoder and result may each take this part of the room */
#define MINI_ROOM_SHARE		  4

/* Returns the unpacked size by the index of an xz stream; 0 if it has no readable index. */
static uint64_t
mini_debug_unpacked_size(const uint8_t *packed, size_t packed_bytes)
{
	uint64_t memory_bytes = MINI_DECODER_BYTES;
	lzma_stream_flags footer;
	lzma_index *index;
	uint64_t size_bytes;
	size_t at;

	if (packed_bytes < 2 * LZMA_STREAM_HEADER_SIZE ||
		lzma_stream_footer_decode(&footer, packed + packed_bytes - LZMA_STREAM_HEADER_SIZE) !=
			LZMA_OK ||
		footer.backward_size > packed_bytes - 2 * LZMA_STREAM_HEADER_SIZE)
		return 0;
	at = packed_bytes - LZMA_STREAM_HEADER_SIZE - footer.backward_size;
	if (lzma_index_buffer_decode(&index, &memory_bytes, NULL, packed, &at,
								 packed_bytes - LZMA_STREAM_HEADER_SIZE) != LZMA_OK)
		return 0;
	size_bytes = lzma_index_uncompressed_size(index);
	lzma_index_end(index, NULL);
	return size_bytes;
}

/* Unpacks an xz stream of exactly the given size. Returns false if the stream is damaged. */
static bool
xz_unpack(const uint8_t *packed, size_t packed_bytes, uint64_t decoder_bytes, uint8_t *bytes,
		  size_t size_bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	bool whole;

	if (lzma_stream_decoder(&stream, decoder_bytes, 0) != LZMA_OK)
		return false;
	stream.next_in = packed;
	stream.avail_in = packed_bytes;
	stream.next_out = bytes;
	stream.avail_out = size_bytes;
	whole = lzma_code(&stream, LZMA_FINISH) == LZMA_STREAM_END && stream.total_out == size_bytes;
	lzma_end(&stream);
	return whole;
}

bool
mini_debug_open(const ElfFile *binary, size_t room_bytes, MiniDebug *mini)
{
	const ElfExtent *section = &binary->debug_data;
	uint64_t part_bytes = room_bytes / MINI_ROOM_SHARE;
	uint64_t decoder_bytes = part_bytes > MINI_DECODER_BYTES ? part_bytes : MINI_DECODER_BYTES;
	ElfSource source = { .fd = -1 };
	uint8_t *packed;

	memset(mini, 0, sizeof(*mini));
	if (section->size_bytes == 0 || section->size_bytes > MINI_PACKED_MAX_BYTES)
		return false;
	packed = malloc(section->size_bytes);
	if (packed != NULL &&
		elf_source_read(&binary->source, section->offset, packed, section->size_bytes))
		source.size_bytes = mini_debug_unpacked_size(packed, section->size_bytes);
	if (source.size_bytes > 0 && source.size_bytes <= MINI_MAX_BYTES &&
		source.size_bytes <= part_bytes)
		mini->bytes = malloc(source.size_bytes);
	if (mini->bytes != NULL)
	{
		source.memory = mini->bytes;
		if (!xz_unpack(packed, section->size_bytes, decoder_bytes, mini->bytes,
					   source.size_bytes) ||
			elf_file_init(&mini->file, &source) != 0)
			mini_debug_close(mini);
	}
	free(packed);
	return mini->bytes != NULL;
}

void
mini_debug_close(MiniDebug *mini)
{
	if (mini->bytes != NULL)
		elf_file_fini(&mini->file);
	free(mini->bytes);
	memset(mini, 0, sizeof(*mini));
}
