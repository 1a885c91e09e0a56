/*
 * lz4_file.c
 *		Decompresses LZ4 frames in pieces.
 */
#include "exchange/lz4_file.h"

#include <errno.h>
#include <lz4frame.h>
#include <string.h>

#define PIECE_BYTES ((size_t) 1024 * 1024)

bool
lz4_is_frame(const char *bytes, size_t length)
{
	static const char magic[] = { 0x04, 0x22, 0x4D, 0x18 };

	return length >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0;
}

int
lz4_unpack(const char *bytes, size_t length, size_t bytes_max, Buffer *unpacked)
{
	LZ4F_dctx *context = NULL;
	size_t at = 0;
	size_t wanted = 1; /* 0 at the end of a frame */
	int err = 0;

	if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
		return -ENOMEM;
	while (err == 0 && (at < length || wanted != 0))
	{
		char *room = buffer_extend(unpacked, PIECE_BYTES);
		size_t read = length - at;
		size_t written = PIECE_BYTES;

		if (room == NULL)
		{
			err = -ENOMEM;
			break;
		}
		wanted = LZ4F_decompress(context, room, &written, bytes + at, &read, NULL);
		if (LZ4F_isError(wanted))
			written = 0;
		unpacked->length -= PIECE_BYTES - written;
		at += read;
		/* stop if a call neither reads nor writes, because it would be repeated forever */
		if (LZ4F_isError(wanted) || (read == 0 && written == 0))
			err = -EBADMSG;
		else if (unpacked->length > bytes_max)
			err = -EFBIG;
	}
	LZ4F_freeDecompressionContext(context);
	return err;
}
