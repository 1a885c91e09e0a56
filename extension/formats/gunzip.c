/*
 * gunzip.c
 *		Inflates small files at once, others in pieces.
 *
 * A gzip member ends with the size of its content. If that is small, libdeflate unpacks the file in
 * one call, in a third of zlib's time. zlib handles the rest: large files, which need pauses,
 * several members, and damaged files, for which it finds the error and its position.
 */
#include <libdeflate.h>
/* makes zlib declare its input as const */
#define ZLIB_CONST
#include <zlib.h>

#include "formats/gunzip.h"

/* zlib's number for a window of 32 KiB; 16 is added for the header and trailer of gzip. */
#define GZIP_WINDOW (15 + 16)

#define FIRST_BYTES (64 * 1024)

/* The fastest level, which Go's runtime uses for its profiles, too. */
#define GZIP_LEVEL 1

/* Largest file that is unpacked without a pause, which takes a few milliseconds. */
#define AT_ONCE_BYTES ((size_t) 2 * 1024 * 1024)

/* Bytes of a member's header and trailer, and the largest ratio of deflate. */
#define MEMBER_BYTES 18
#define DEFLATE_MOST 1032

/*
 * Allocates zlib's state. It comes from the caller's allocator, so that an error raised by the
 * allocator leaks nothing.
 */
static void *
zlib_alloc(void *context, uInt items, uInt size)
{
	const PfsAllocator *allocator = context;

	return allocator->realloc(allocator->context, NULL, (size_t) items * size);
}

static void
zlib_free(void *context, void *memory)
{
	const PfsAllocator *allocator = context;

	allocator->realloc(allocator->context, memory, 0);
}

bool
pfs_is_gzip(const uint8_t *bytes, size_t length)
{
	return length >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/*
 * Doubles the buffer, up to one byte beyond the limit. That byte distinguishes a file of exactly
 * the limit's size from a larger one.
 */
static PfsReadStatus
gunzip_make_room(PfsAllocator allocator, size_t max_bytes, PfsBytes *buffer, size_t *capacity)
{
	size_t wanted = *capacity == 0 ? FIRST_BYTES : *capacity * 2;
	uint8_t *grown;

	if (buffer->length > max_bytes)
		return PFS_READ_TOO_LARGE;
	if (wanted > max_bytes + 1)
		wanted = max_bytes + 1;
	grown = allocator.realloc(allocator.context, buffer->data, wanted);
	if (grown == NULL)
		return PFS_READ_NO_MEMORY;
	buffer->data = grown;
	*capacity = wanted;
	return PFS_READ_OK;
}

/* Limits the bytes that zlib gets or returns in one call. */
static uInt
piece_of(size_t bytes)
{
	return (uInt) (bytes < PFS_GZIP_PIECE_BYTES ? bytes : PFS_GZIP_PIECE_BYTES);
}

typedef struct Inflation
{
	z_stream stream;
	const uint8_t *bytes;
	size_t length;
	size_t max_bytes;
	PfsAllocator allocator;
	PfsPauseFn pause;
	PfsReadError *error;
} Inflation;

/* Unpacks all members of a file. */
static PfsReadStatus
inflate_all(Inflation *inflation, PfsBytes *result)
{
	z_stream *stream = &inflation->stream;
	size_t length = inflation->length;
	size_t consumed = 0;
	size_t capacity = 0;

	for (;;)
	{
		/*
		 * zlib may need several calls per buffer; each ends when its input or its output is used
		 * up.
		 */
		size_t in = length - consumed;
		size_t out;
		int code;

		pfs_pause(inflation->pause);
		if (result->length == capacity)
		{
			PfsReadStatus status =
				gunzip_make_room(inflation->allocator, inflation->max_bytes, result, &capacity);

			/* The message matters only if the status is not PFS_READ_OK. */
			*inflation->error = pfs_error_at(status == PFS_READ_TOO_LARGE ? "profile is too large"
																		  : "out of memory",
											 consumed);
			if (status != PFS_READ_OK)
				return status;
		}
		out = capacity - result->length;
		stream->next_in = inflation->bytes + consumed;
		stream->avail_in = piece_of(in);
		stream->next_out = result->data + result->length;
		stream->avail_out = piece_of(out);
		/* in and out become the bytes of this call. */
		in = stream->avail_in;
		out = stream->avail_out;
		code = inflate(stream, Z_NO_FLUSH);
		in -= stream->avail_in;
		out -= stream->avail_out;
		consumed += in;
		result->length += out;
		if (code == Z_STREAM_END)
		{
			if (consumed == length)
				break;
			/* the file continues with another member */
			inflateReset(stream);
		}
		else if (code == Z_MEM_ERROR)
		{
			*inflation->error = pfs_error_at("out of memory", consumed);
			return PFS_READ_NO_MEMORY;
		}
		else if ((code != Z_OK && code != Z_BUF_ERROR) || (in == 0 && out == 0))
		{
			/*
			 * Z_BUF_ERROR alone is no error. But if nothing moved, input is missing or the data is
			 * damaged.
			 */
			*inflation->error =
				pfs_error_at(consumed == length ? "gzip data ends early" : "gzip data is damaged",
							 consumed);
			return PFS_READ_MALFORMED;
		}
	}
	/* A length above the limit means that the extra byte was used. */
	if (result->length <= inflation->max_bytes)
		return PFS_READ_OK;
	*inflation->error = pfs_error_at("profile is too large", consumed);
	return PFS_READ_TOO_LARGE;
}

/* Returns the size that the trailer of the last member gives; SIZE_MAX if it is impossible. */
static size_t
told_bytes(const uint8_t *bytes, size_t length)
{
	const uint8_t *end = bytes + length;
	size_t told;

	if (length < MEMBER_BYTES)
		return SIZE_MAX;
	/* The trailer's last four bytes are the size modulo 2^32, little-endian. */
	told =
		(size_t) end[-4] | (size_t) end[-3] << 8 | (size_t) end[-2] << 16 | (size_t) end[-1] << 24;
	/* A size that deflate cannot reach is wrong, or belongs to several members. */
	return told > length * DEFLATE_MOST ? SIZE_MAX : told;
}

/*
 * Unpacks a small file of one member. libdeflate's state is allocated by malloc(), so nothing that
 * may raise an error is called before it is freed.
 */
static bool
unpack_at_once(const uint8_t *bytes, size_t length, size_t max_bytes, PfsAllocator allocator,
			   PfsBytes *result)
{
	size_t told = told_bytes(bytes, length);
	struct libdeflate_decompressor *decompressor;
	size_t consumed = 0;
	bool is_whole;

	/* A larger file is unpacked piece by piece, with pauses. */
	if (told > AT_ONCE_BYTES || told > max_bytes)
		return false;
	/*
	 * The allocation precedes libdeflate's, because it may raise an error. One byte more, because
	 * size 0 would free.
	 */
	result->data = allocator.realloc(allocator.context, NULL, told + 1);
	decompressor = result->data == NULL ? NULL : libdeflate_alloc_decompressor();
	/*
	 * A member that ends before the file does, or whose size is wrong, is left to zlib, which
	 * reports the error.
	 */
	is_whole = decompressor != NULL &&
			   libdeflate_gzip_decompress_ex(decompressor, bytes, length, result->data, told,
											 &consumed, NULL) == LIBDEFLATE_SUCCESS &&
			   consumed == length;
	libdeflate_free_decompressor(decompressor);
	if (is_whole)
		result->length = told;
	else if (result->data != NULL)
	{
		allocator.realloc(allocator.context, result->data, 0);
		result->data = NULL;
	}
	return is_whole;
}

PfsReadStatus
pfs_gunzip(const uint8_t *bytes, size_t length, size_t max_bytes, PfsAllocator allocator,
		   PfsPauseFn pause, PfsBytes *result, PfsReadError *error)
{
	Inflation inflation = {
		.stream = { .zalloc = zlib_alloc, .zfree = zlib_free, .opaque = &allocator },
		.bytes = bytes,
		.length = length,
		.max_bytes = max_bytes,
		.allocator = allocator,
		.pause = pause,
		.error = error,
	};
	PfsReadStatus status;

	*result = (PfsBytes){ NULL, 0 };
	/* 1. The fast way for small files; 2. otherwise zlib, with pauses and any number of members. */
	if (unpack_at_once(bytes, length, max_bytes, allocator, result))
		return PFS_READ_OK;
	if (inflateInit2(&inflation.stream, GZIP_WINDOW) != Z_OK)
	{
		*error = pfs_error_at("out of memory", 0);
		return PFS_READ_NO_MEMORY;
	}
	status = inflate_all(&inflation, result);
	inflateEnd(&inflation.stream);
	/* zlib's memory was freed above; the result is freed only here. */
	if (status != PFS_READ_OK && result->data != NULL)
	{
		allocator.realloc(allocator.context, result->data, 0);
		*result = (PfsBytes){ NULL, 0 };
	}
	return status;
}

PfsReadStatus
pfs_gzip(const uint8_t *bytes, size_t length, PfsAllocator allocator, PfsPauseFn pause,
		 PfsBytes *result)
{
	z_stream stream = { .zalloc = zlib_alloc, .zfree = zlib_free, .opaque = &allocator };
	size_t capacity;
	size_t consumed = 0;
	int code = Z_OK;

	*result = (PfsBytes){ NULL, 0 };
	if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return PFS_READ_NO_MEMORY;
	/* The bound suffices for the result, so the buffer never grows. */
	capacity = deflateBound(&stream, length);
	result->data = allocator.realloc(allocator.context, NULL, capacity);
	while (result->data != NULL && code == Z_OK)
	{
		size_t in = length - consumed;
		size_t out = capacity - result->length;

		pfs_pause(pause);
		stream.next_in = bytes + consumed;
		stream.avail_in = piece_of(in);
		stream.next_out = result->data + result->length;
		stream.avail_out = piece_of(out);
		in = stream.avail_in;
		out = stream.avail_out;
		/* Z_FINISH is passed with the last piece; zlib writes the trailer then. */
		code = deflate(&stream, consumed + in == length ? Z_FINISH : Z_NO_FLUSH);
		consumed += in - stream.avail_in;
		result->length += out - stream.avail_out;
	}
	deflateEnd(&stream);
	return result->data != NULL && code == Z_STREAM_END ? PFS_READ_OK : PFS_READ_NO_MEMORY;
}
