/*
 * buffers.c
 *		Finds and unpacks buffers. A compressed buffer begins with its unpacked length.
 *
 *   OFFSET  SIZE
 *   0       8     unpacked bytes; -1: not compressed
 *   8       …     a frame of LZ4 or zstd
 */
#include "arrow/buffers.h"

#include <lz4frame.h>
#include <zstd.h>

#define BUFFER_BYTES   16
#define NOT_COMPRESSED (-1)

static bool
buffer_fail(ArrowBatch *batch, const char *error)
{
	batch->error = error;
	return false;
}

/* Unpacks an LZ4 frame of exactly length bytes. */
static bool
unpack_lz4(Span packed, uint8_t *to, size_t length)
{
	LZ4F_dctx *context = NULL;
	size_t in = 0;
	size_t out = 0;
	/* LZ4F_decompress() returns 0 once the frame is complete. */
	size_t hint = 1;

	if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
		return false;

	/* a call that neither reads nor writes shows that the frame is incomplete or too long */
	while (hint != 0)
	{
		size_t read = packed.length - in;
		size_t written = length - out;

		hint = LZ4F_decompress(context, to + out, &written, packed.bytes + in, &read, NULL);
		if (LZ4F_isError(hint) || (read == 0 && written == 0))
			break;
		in += read;
		out += written;
	}
	LZ4F_freeDecompressionContext(context);
	/* nothing may follow the frame, and the frame must have exactly the stated length */
	return hint == 0 && in == packed.length && out == length;
}

/* Unpacks a buffer of the body into the arena. */
static bool
buffer_unpack(ArrowBatch *batch, Span packed, Span *buffer)
{
	int64_t length;
	uint8_t *to;
	bool good;

	if (packed.length < sizeof(int64_t))
		return buffer_fail(batch, "a compressed buffer does not state its length");
	length = (int64_t) little_endian(packed.bytes, sizeof(int64_t));
	packed.bytes += sizeof(int64_t);
	packed.length -= sizeof(int64_t);
	*buffer = packed;
	/* writers leave a buffer as it is if compression would make it longer */
	if (length == NOT_COMPRESSED)
		return true;
	if (length < 0 || length > INT32_MAX)
		return buffer_fail(batch, "a compressed buffer has an impossible length");
	/* The arena's budget limits what a few compressed bytes may expand to. */
	to = arena_alloc(batch->arena, (size_t) length + 1);
	if (to == NULL)
		return buffer_fail(batch, NULL);
	good = batch->codec == ARROW_LZ4_FRAME ? unpack_lz4(packed, to, (size_t) length)
										   : ZSTD_decompress(to, (size_t) length, packed.bytes,
															 packed.length) == (size_t) length;
	*buffer = (Span){ to, (size_t) length };
	return good || buffer_fail(batch, "a buffer cannot be unpacked");
}

bool
arrow_buffer_next(ArrowBatch *batch, Span *buffer)
{
	const uint8_t *place;
	uint64_t at;
	uint64_t length;

	if (batch->buffer >= batch->buffers.count)
		return buffer_fail(batch, "a record batch has fewer buffers than its columns need");
	place = batch->buffers.bytes.bytes + batch->buffers.at + (size_t) BUFFER_BYTES * batch->buffer;
	batch->buffer++;
	at = little_endian(place, 8);
	length = little_endian(place + 8, 8);
	if (at > batch->body.length || length > batch->body.length - at)
		return buffer_fail(batch, "a buffer lies outside of its record batch");

	/*
	 * Each byte of the body must belong to only one buffer, as all writers arrange it; so it is
	 * unpacked and read only once.
	 */
	if (length > batch->body.length - batch->taken)
		return buffer_fail(batch, "buffers of a record batch overlap");
	batch->taken += length;
	*buffer = (Span){ batch->body.bytes + at, length };
	return length == 0 || batch->codec == ARROW_PLAIN || buffer_unpack(batch, *buffer, buffer);
}
