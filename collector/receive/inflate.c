/*
 * inflate.c
 *		Unpacks gzip with the reader of pprof files; zstd as a stream with a bounded window.
 */
#include "receive/inflate.h"

#include <stdlib.h>
#include <sys/param.h>
#include <zstd.h>

#include "formats/gunzip.h"

#define ZSTD_WINDOW_LOG_MAX 23 /* 8 MiB */
#define FIRST_BYTES			((size_t) 64 * 1024)

static InflateEnd
gunzip(const uint8_t *bytes, size_t length, const InflateLimits *limits, uint8_t **result,
	   size_t *result_length)
{
	const PfsAllocator allocator = { share_realloc, limits->memory };
	PfsBytes unpacked = { NULL, 0 };
	PfsReadError error;

	switch (pfs_gunzip(bytes, length, limits->max_bytes, allocator, NULL, &unpacked, &error))
	{
		case PFS_READ_OK:
			*result = unpacked.data;
			*result_length = unpacked.length;
			return INFLATE_OK;
		case PFS_READ_TOO_LARGE:
			return INFLATE_TOO_LARGE;
		case PFS_READ_NO_MEMORY:
			return INFLATE_NO_MEMORY;
		case PFS_READ_MALFORMED:
		case PFS_READ_OUT_OF_RANGE:
			break;
	}
	return INFLATE_MALFORMED;
}

/*
 * Decompresses all frames of the input. The output buffer doubles up to one byte beyond the limit,
 * by which a result of exactly the limit differs from a larger one.
 */
static InflateEnd
unzstd_all(ZSTD_DCtx *context, ZSTD_inBuffer *input, ZSTD_outBuffer *output,
		   const InflateLimits *limits)
{
	const size_t max_bytes = limits->max_bytes;
	size_t left = 1;

	/* While the output is full, the decoder may hold bytes for which it had no room. */
	while (input->pos < input->size || output->pos == output->size)
	{
		if (output->pos == output->size)
		{
			size_t size = MIN(MAX(output->size * 2, FIRST_BYTES), max_bytes + 1);
			void *grown =
				output->pos > max_bytes ? NULL : share_realloc(limits->memory, output->dst, size);

			/* The byte beyond the limit was used. */
			if (output->pos > max_bytes)
				return INFLATE_TOO_LARGE;
			if (grown == NULL)
				return INFLATE_NO_MEMORY;
			output->dst = grown;
			output->size = size;
		}
		left = ZSTD_decompressStream(context, output, input);
		if (ZSTD_isError(left))
			return INFLATE_MALFORMED;
		/* The result is 0 at the end of a frame, but another frame may follow. */
		if (left == 0 && input->pos == input->size)
			break;
	}
	if (output->pos > max_bytes)
		return INFLATE_TOO_LARGE;
	return left == 0 ? INFLATE_OK : INFLATE_MALFORMED;
}

/* Unpacks zstd. Returns the reason of a failure, with the memory released. */
static InflateEnd
unzstd(const uint8_t *bytes, size_t length, const InflateLimits *limits, uint8_t **result,
	   size_t *result_length)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	ZSTD_inBuffer input = { bytes, length, 0 };
	ZSTD_outBuffer output = { NULL, 0, 0 };
	InflateEnd end = INFLATE_NO_MEMORY;

	if (context != NULL)
	{
		/* This limits the memory that a frame's header can demand. */
		ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
		end = unzstd_all(context, &input, &output, limits);
	}
	ZSTD_freeDCtx(context);
	if (end != INFLATE_OK)
	{
		share_realloc(limits->memory, output.dst, 0);
		return end;
	}
	*result = output.dst;
	*result_length = output.pos;
	return INFLATE_OK;
}

InflateEnd
inflate_body(CallEncoding encoding, const uint8_t *bytes, size_t length,
			 const InflateLimits *limits, uint8_t **result, size_t *result_length)
{
	return encoding == ENCODING_GZIP ? gunzip(bytes, length, limits, result, result_length)
									 : unzstd(bytes, length, limits, result, result_length);
}

InflateEnd
inflate_call(Call *call, size_t max_bytes)
{
	const InflateLimits limits = { max_bytes, call->memory };
	uint8_t *unpacked;
	size_t length;
	InflateEnd end;

	/* An empty body is not unpacked, although some clients set the header of a compressed one. */
	if (call->encoding == ENCODING_IDENTITY || call->body_length == 0 ||
		(call->content == CONTENT_GRPC && !call->is_compressed))
		return INFLATE_OK;
	end = inflate_body(call->encoding, call->body, call->body_length, &limits, &unpacked, &length);
	if (end != INFLATE_OK)
		return end;
	free(call->body);
	call->body = unpacked;
	call->body_length = call->body_capacity = length;
	return INFLATE_OK;
}
