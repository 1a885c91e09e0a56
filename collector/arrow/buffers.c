/*
 * buffers.c
 *		A buffer's place is checked against the body; a compressed one says its length in front.
 *
 *		OFFSET	SIZE
 *		0		8	bytes when unpacked; -1: not compressed
 *		8		…	a frame of LZ4, or of zstd
 */
#include "arrow/buffers.h"

#include <lz4frame.h>
#include <zstd.h>

#define BUFFER_BYTES   16
#define NOT_COMPRESSED (-1)

static bool
fail(ArrowBatch *batch, const char *error)
{
	batch->error = error;
	return false;
}

static bool
unpack_lz4(Span packed, uint8_t *to, size_t length)
{
	LZ4F_dctx *context = NULL;
	size_t in = 0;
	size_t out = 0;
	size_t hint = 1;

	if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
		return false;

	/* a call that neither reads nor writes would go on for ever */
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
	return hint == 0 && in == packed.length && out == length;
}

static bool
unpack(ArrowBatch *batch, Span packed, Span *buffer)
{
	int64_t length;
	uint8_t *to;
	bool good;

	if (packed.length < sizeof(int64_t))
		return fail(batch, "a compressed buffer does not say its length");
	length = (int64_t) little_endian(packed.bytes, sizeof(int64_t));
	packed.bytes += sizeof(int64_t);
	packed.length -= sizeof(int64_t);
	*buffer = packed;
	if (length == NOT_COMPRESSED)
		return true;
	if (length < 0 || length > INT32_MAX)
		return fail(batch, "a compressed buffer has an impossible length");
	to = arena_alloc(batch->arena, (size_t) length + 1);
	if (to == NULL)
		return fail(batch, NULL);
	good = batch->codec == ARROW_LZ4_FRAME ? unpack_lz4(packed, to, (size_t) length)
										   : ZSTD_decompress(to, (size_t) length, packed.bytes,
															 packed.length) == (size_t) length;
	*buffer = (Span){ to, (size_t) length };
	return good || fail(batch, "a buffer cannot be unpacked");
}

bool
arrow_buffer_next(ArrowBatch *batch, Span *buffer)
{
	const uint8_t *place;
	uint64_t at;
	uint64_t length;

	if (batch->buffer >= batch->buffers.count)
		return fail(batch, "a record batch has fewer buffers than its columns need");
	place = batch->buffers.bytes.bytes + batch->buffers.at + (size_t) BUFFER_BYTES * batch->buffer;
	batch->buffer++;
	at = little_endian(place, 8);
	length = little_endian(place + 8, 8);
	if (at > batch->body.length || length > batch->body.length - at)
		return fail(batch, "a buffer lies outside of its record batch");

	/* bytes are unpacked, and looked at, once: writers lay buffers out one behind the other */
	if (length > batch->body.length - batch->taken)
		return fail(batch, "buffers of a record batch lie in each other");
	batch->taken += length;
	*buffer = (Span){ batch->body.bytes + at, length };
	return length == 0 || batch->codec == ARROW_PLAIN || unpack(batch, *buffer, buffer);
}
