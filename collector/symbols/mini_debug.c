/*
 * mini_debug.c
 *		Unpacking of xz.
 */
#include "symbols/mini_debug.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#define MINI_PACKED_MAX_BYTES (8U << 20)
#define MINI_MAX_BYTES		  (16U << 20)
#define MINI_MEMORY_BYTES	  (64U << 20) /* of the decoder */

/*
 * Unpacks xz into a buffer of MINI_MAX_BYTES; returns how many bytes, 0 where it is no sound xz
 * stream.
 */
static size_t
unpack(const uint8_t *packed, size_t packed_bytes, uint8_t *bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t size_bytes = 0;

	if (lzma_stream_decoder(&stream, MINI_MEMORY_BYTES, 0) != LZMA_OK)
		return 0;
	stream.next_in = packed;
	stream.avail_in = packed_bytes;
	stream.next_out = bytes;
	stream.avail_out = MINI_MAX_BYTES;
	if (lzma_code(&stream, LZMA_FINISH) == LZMA_STREAM_END)
		size_bytes = stream.total_out;
	lzma_end(&stream);
	return size_bytes;
}

bool
mini_debug_open(const ElfFile *binary, MiniDebug *mini)
{
	const ElfExtent *section = &binary->debug_data;
	ElfSource source = { .fd = -1 };
	uint8_t *packed;
	uint8_t *bytes;

	memset(mini, 0, sizeof(*mini));
	if (section->size_bytes == 0 || section->size_bytes > MINI_PACKED_MAX_BYTES)
		return false;
	packed = malloc(section->size_bytes);
	bytes = malloc(MINI_MAX_BYTES);
	if (packed != NULL && bytes != NULL &&
		elf_source_read(&binary->source, section->offset, packed, section->size_bytes))
		source.size_bytes = unpack(packed, section->size_bytes, bytes);
	if (source.size_bytes > 0)
		mini->bytes = malloc(source.size_bytes);
	if (mini->bytes != NULL)
	{
		memcpy(mini->bytes, bytes, source.size_bytes);
		source.memory = mini->bytes;
		if (elf_file_init(&mini->file, &source) != 0)
			mini_debug_close(mini);
	}
	free(packed);
	free(bytes);
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
