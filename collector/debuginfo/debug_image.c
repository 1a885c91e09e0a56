/*
 * debug_image.c
 *		A chain of streams, each of which reads from the one before: a file, its decompression by
 *		gzip or zstd, a tar in that, an entry of the tar, and so on.
 */
#include "debuginfo/debug_image.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cache_directory.h"
#include "base/regular_file.h"

#define BLOCK		512
#define BUFFER		((size_t) 64 * 1024)
#define PAX_MAX		((int64_t) 64 * 1024)
#define WINDOW_BITS 47 /* zlib: the largest window, with a header of gzip */
#define ZSTD_WINDOW 27 /* 128 MB, the largest window that zstd accepts by default */

typedef struct Image
{
	ImageFile on_file;
	void *context;
	/* all files are passed on, not only ELF files, but archives within the image are not opened */
	bool takes_all;
	int64_t file_bytes; /* limit of the size of a file */
	int64_t bytes;		/* number of bytes unpacked so far */
	ImageEnd end;		/* IMAGE_DONE while the walk continues */
	bool has_broken;	/* an archive within the image is damaged */
} Image;

/*
 * The bytes of a file; or of a part of another stream; or those that are unpacked from another
 * stream.
 */
typedef struct Stream
{
	Image *image;
	struct Stream *from;
	int fd;		  /* used if from is NULL */
	int64_t rest; /* a part: number of bytes that are left */
	bool is_part;
	z_stream gzip; /* used if gzip.state is not NULL */
	ZSTD_DCtx *zstd;
	uint8_t *packed; /* BUFFER bytes; NULL if the stream is not unpacked */
	size_t packed_at;
	size_t packed_end;
	bool is_over; /* the last member of the gzip file has ended */
	uint8_t peeked[BLOCK];
	size_t peeked_at;
	size_t peeked_end;
} Stream;

typedef struct TarHeader
{
	char name[100];
	char mode[24];
	char size[12];
	char time[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[8];
	char owner[80];
	char prefix[155];
	char pad[12];
} TarHeader;

_Static_assert(sizeof(TarHeader) == BLOCK, "a header of tar is a block");

static size_t stream_read(Stream *stream, uint8_t *bytes, size_t length);

static void
image_end(Image *image, ImageEnd end)
{
	if (image->end == IMAGE_DONE)
		image->end = end;
}

/* --- streams --- */

static size_t
read_file(Stream *stream, uint8_t *bytes, size_t length)
{
	ssize_t got;

	do
		got = read(stream->fd, bytes, length);
	while (got < 0 && errno == EINTR);
	return got > 0 ? (size_t) got : 0;
}

static size_t
read_part(Stream *stream, uint8_t *bytes, size_t length)
{
	size_t got;

	if ((int64_t) length > stream->rest)
		length = (size_t) stream->rest;
	got = length > 0 ? stream_read(stream->from, bytes, length) : 0;
	if (got == 0 && stream->rest > 0)
		image_end(stream->image, IMAGE_BROKEN);
	stream->rest -= (int64_t) got;
	return got;
}

/* Fills the buffer of packed bytes if it is empty. Returns false at their end. */
static bool
fill_packed(Stream *stream)
{
	if (stream->packed_at < stream->packed_end)
		return true;
	stream->packed_at = 0;
	stream->packed_end = stream_read(stream->from, stream->packed, BUFFER);
	return stream->packed_end > 0;
}

/* Unpacks gzip, which may consist of several members. */
static size_t
read_gzip(Stream *stream, uint8_t *bytes, size_t length)
{
	z_stream *gzip = &stream->gzip;

	gzip->next_out = bytes;
	gzip->avail_out = (uInt) length;
	while (gzip->avail_out == length)
	{
		int result;

		if (!fill_packed(stream))
		{
			if (!stream->is_over)
				image_end(stream->image, IMAGE_BROKEN);
			return 0;
		}
		if (stream->is_over && inflateReset(gzip) != Z_OK)
			break;
		gzip->next_in = stream->packed + stream->packed_at;
		gzip->avail_in = (uInt) (stream->packed_end - stream->packed_at);
		result = inflate(gzip, Z_NO_FLUSH);
		stream->packed_at = stream->packed_end - gzip->avail_in;
		stream->is_over = result == Z_STREAM_END;
		if (result != Z_OK && result != Z_STREAM_END)
		{
			image_end(stream->image, IMAGE_BROKEN);
			return 0;
		}
	}
	return length - gzip->avail_out;
}

static size_t
read_zstd(Stream *stream, uint8_t *bytes, size_t length)
{
	ZSTD_outBuffer out = { bytes, length, 0 };

	while (out.pos == 0)
	{
		ZSTD_inBuffer in;
		size_t result;

		if (!fill_packed(stream))
		{
			if (!stream->is_over)
				image_end(stream->image, IMAGE_BROKEN);
			return 0;
		}
		in = (ZSTD_inBuffer){ stream->packed, stream->packed_end, stream->packed_at };
		result = ZSTD_decompressStream(stream->zstd, &out, &in);
		stream->packed_at = in.pos;
		stream->is_over = result == 0;
		if (ZSTD_isError(result))
		{
			image_end(stream->image, IMAGE_BROKEN);
			return 0;
		}
	}
	return out.pos;
}

/* Returns the number of bytes read; 0 at the end, after an error, or if the image is too large. */
static size_t
stream_read(Stream *stream, uint8_t *bytes, size_t length)
{
	const size_t peeked = stream->peeked_end - stream->peeked_at;
	size_t got;

	if (stream->image->end != IMAGE_DONE)
		return 0;
	if (peeked > 0)
	{
		length = length < peeked ? length : peeked;
		memcpy(bytes, stream->peeked + stream->peeked_at, length);
		stream->peeked_at += length;
		return length;
	}
	if (stream->is_part)
		return read_part(stream, bytes, length);
	if (stream->from == NULL)
		return read_file(stream, bytes, length);
	got =
		stream->zstd != NULL ? read_zstd(stream, bytes, length) : read_gzip(stream, bytes, length);
	stream->image->bytes += (int64_t) got;
	if (stream->image->bytes <= IMAGE_BYTES)
		return got;
	image_end(stream->image, IMAGE_TOO_BIG);
	return 0;
}

/* Reads all available bytes, up to the length. */
static size_t
stream_read_all(Stream *stream, uint8_t *bytes, size_t length)
{
	size_t done = 0;
	size_t got;

	while (done < length && (got = stream_read(stream, bytes + done, length - done)) > 0)
		done += got;
	return done;
}

/* Reads the first bytes, which the next reads return again. */
static size_t
stream_peek(Stream *stream)
{
	const size_t length = stream_read_all(stream, stream->peeked, sizeof(stream->peeked));

	stream->peeked_at = 0;
	stream->peeked_end = length;
	return length;
}

static void
stream_skip(Stream *stream)
{
	uint8_t bytes[8192];

	while (stream_read(stream, bytes, sizeof(bytes)) > 0)
		;
}

/* Begins to unpack a stream. Returns false if memory is short. */
static bool
unpack_begin(Stream *stream, Stream *from, bool is_zstd)
{
	*stream = (Stream){ .image = from->image, .from = from, .fd = -1 };
	stream->packed = malloc(BUFFER);
	if (stream->packed == NULL)
		return false;
	if (!is_zstd)
		return inflateInit2(&stream->gzip, WINDOW_BITS) == Z_OK;
	stream->zstd = ZSTD_createDCtx();
	return stream->zstd != NULL &&
		   !ZSTD_isError(ZSTD_DCtx_setParameter(stream->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW));
}

static void
unpack_end(Stream *stream)
{
	(void) inflateEnd(&stream->gzip);
	ZSTD_freeDCtx(stream->zstd);
	free(stream->packed);
}

/* --- headers of tar --- */

/* Reads a number of octal digits, or of 64 bits in binary. Returns -1 if it has neither form. */
static int64_t
tar_number(const char *text, size_t length)
{
	const uint8_t *bytes = (const uint8_t *) text;
	uint64_t value = 0;
	size_t i = 0;

	if (bytes[0] == 0x80)
	{
		for (i = 1; i < length; i++)
		{
			if (value >> 55 != 0)
				return -1;
			value = value << 8 | bytes[i];
		}
		return (int64_t) value;
	}
	while (i < length && text[i] == ' ')
		i++;
	for (; i < length && text[i] >= '0' && text[i] <= '7'; i++)
		value = value << 3 | (uint64_t) (text[i] - '0');
	return i == length || text[i] == '\0' || text[i] == ' ' ? (int64_t) value : -1;
}

static bool
is_header(const TarHeader *header)
{
	const uint8_t *bytes = (const uint8_t *) header;
	const size_t at = offsetof(TarHeader, checksum);
	int64_t sum = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= at && i < at + sizeof(header->checksum) ? ' ' : bytes[i];
	return memcmp(header->magic, "ustar", 5) == 0 &&
		   tar_number(header->checksum, sizeof(header->checksum)) == sum;
}

/*
 * Copies a name, or the end of a name that is too long. If it is for printing, characters that
 * cannot be printed become question marks.
 */
static void
copy_name(char name[IMAGE_NAME_BYTES], const char *text, size_t length, bool is_printed)
{
	size_t out = 0;

	if (length >= IMAGE_NAME_BYTES)
	{
		text += length - (IMAGE_NAME_BYTES - 1);
		length = IMAGE_NAME_BYTES - 1;
	}
	for (; out < length && text[out] != '\0'; out++)
		name[out] = !is_printed || (text[out] >= ' ' && text[out] <= '~') ? text[out] : '?';
	name[out] = '\0';
}

/* Properties of an entry, from its own header and from the headers before it. */
typedef struct TarEntry
{
	char name[IMAGE_NAME_BYTES];
	int64_t bytes; /* -1: the size in the entry's own header counts */
} TarEntry;

/* Reads path and size from a pax header, which has lines "LENGTH KEY=VALUE". */
static void
take_pax(TarEntry *entry, const char *text, size_t length, bool is_printed)
{
	while (length > 0)
	{
		char *value;
		const size_t line = strtoul(text, &value, 10);
		const char *end = text + line;

		if (line == 0 || line > length || *value != ' ' || value >= end || end[-1] != '\n')
			return;
		value++;
		if (strncmp(value, "path=", 5) == 0)
			copy_name(entry->name, value + 5, (size_t) (end - 1 - (value + 5)), is_printed);
		else if (strncmp(value, "size=", 5) == 0)
			entry->bytes = strtoll(value + 5, NULL, 10);
		text = end;
		length -= line;
	}
}

/* Reads the content of a header that describes the next entry. */
static void
read_extension(Stream *content, char type, TarEntry *next)
{
	char *text = content->rest <= PAX_MAX ? calloc(1, (size_t) content->rest + 1) : NULL;
	size_t length;

	if (text == NULL)
		return;
	length = stream_read_all(content, (uint8_t *) text, (size_t) content->rest);
	if (type == 'x')
		take_pax(next, text, length, !content->image->takes_all);
	else
		copy_name(next->name, text, length, !content->image->takes_all);
	free(text);
}

/*
 * Copies the name of a header. POSIX stores the first part of a long name in prefix, where GNU tar
 * stores times.
 */
static void
copy_header_name(char name[IMAGE_NAME_BYTES], const TarHeader *header, bool is_printed)
{
	char text[sizeof(header->prefix) + 1 + sizeof(header->name) + 1];
	const int prefix = header->magic[5] == '\0' && header->prefix[0] != '\0'
						   ? (int) strnlen(header->prefix, sizeof(header->prefix))
						   : 0;

	snprintf(text, sizeof(text), "%.*s%s%.*s", prefix, header->prefix, prefix > 0 ? "/" : "",
			 (int) sizeof(header->name), header->name);
	copy_name(name, text, strlen(text), is_printed);
}

/* --- entries --- */

static bool walk(Stream *stream, int depth);

/* Tells that a file is not passed on: it is too large, or a hard link to an earlier file. */
static void
image_leave_out(Image *image, const char *name)
{
	if (!image->on_file(image->context, name, -1))
		image_end(image, IMAGE_STOPPED);
}

/* Copies a file, and passes it on if it is complete. */
static void
take_content(Stream *stream, const char *name)
{
	Image *image = stream->image;
	int fd = scratch_file_open();
	uint8_t bytes[8192];
	int64_t length = 0;
	bool is_good = fd >= 0;
	size_t got;

	while (is_good && (got = stream_read(stream, bytes, sizeof(bytes))) > 0)
	{
		length += (int64_t) got;
		is_good = length <= image->file_bytes && cache_file_write(fd, bytes, got) == 0;
	}
	if (fd < 0 || (!is_good && length <= image->file_bytes))
		image_end(image, IMAGE_NO_ROOM);
	else if (!is_good && image->takes_all)
		image_leave_out(image, name);
	else if (is_good && image->end == IMAGE_DONE && !image->on_file(image->context, name, fd))
		image_end(image, IMAGE_STOPPED);
	if (fd >= 0)
		close(fd);
}

/*
 * Handles the content of a regular file: an ELF file, or an archive unless it is nested too deep.
 */
static void
take_file(Stream *content, const char *name, int depth)
{
	const size_t length = stream_peek(content);

	if (content->image->takes_all)
		take_content(content, name);
	else if (length < SELFMAG)
		return;
	else if (memcmp(content->peeked, ELFMAG, SELFMAG) == 0)
		take_content(content, name);
	else if (depth < IMAGE_DEPTH)
	{
		const bool is_archive = walk(content, depth + 1);

		/*
		 * Continue with other files if only this one is damaged. If the whole image was cut off,
		 * the next read shows it.
		 */
		if (content->image->end == IMAGE_BROKEN)
		{
			content->image->end = IMAGE_DONE;
			content->image->has_broken |= is_archive;
		}
	}
}

/* Reads one entry. Returns false at the end of the archive. */
static bool
take_entry(Stream *stream, TarEntry *next, int depth)
{
	union
	{
		TarHeader header;
		uint8_t bytes[BLOCK];
	} block;
	Stream content;
	TarEntry entry = *next;
	const size_t got = stream_read_all(stream, block.bytes, BLOCK);

	/* an archive ends with blocks of zeros, which some writers omit */
	if (got == 0 || (got == BLOCK && block.bytes[0] == '\0'))
		return false;
	if (got < BLOCK || !is_header(&block.header))
	{
		image_end(stream->image, IMAGE_BROKEN);
		return false;
	}
	if (entry.bytes < 0)
		entry.bytes = tar_number(block.header.size, sizeof(block.header.size));
	if (entry.bytes < 0)
	{
		image_end(stream->image, IMAGE_BROKEN);
		return false;
	}
	if (entry.name[0] == '\0')
		copy_header_name(entry.name, &block.header, !stream->image->takes_all);
	content = (Stream){
		.image = stream->image, .from = stream, .fd = -1, .is_part = true, .rest = entry.bytes
	};
	*next = (TarEntry){ .bytes = -1 };
	if (block.header.type == 'x' || block.header.type == 'L')
		read_extension(&content, block.header.type, next);
	else if (block.header.type == '0' || block.header.type == '\0')
		take_file(&content, entry.name, depth);
	else if (block.header.type == '1' && stream->image->takes_all)
		image_leave_out(stream->image, entry.name);
	content.peeked_at = content.peeked_end;
	stream_skip(&content);
	content.rest = (BLOCK - entry.bytes % BLOCK) % BLOCK;
	stream_skip(&content);
	return stream->image->end == IMAGE_DONE;
}

/*
 * Reads an archive. Returns false if the stream is no archive; its first bytes are consumed then.
 */
static bool
walk(Stream *stream, int depth)
{
	static const uint8_t gzip[] = { 0x1f, 0x8b, 8 };
	static const uint8_t zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };
	const size_t length = stream->peeked_end;
	const bool is_zstd = length >= sizeof(zstd) && memcmp(stream->peeked, zstd, sizeof(zstd)) == 0;
	TarEntry next = { .bytes = -1 };
	TarHeader header;
	Stream plain;
	bool is_archive = false;

	if (is_zstd || (length >= sizeof(gzip) && memcmp(stream->peeked, gzip, sizeof(gzip)) == 0))
	{
		if (unpack_begin(&plain, stream, is_zstd))
		{
			/* only one level of compression, because no file in an image is compressed twice */
			(void) stream_peek(&plain);
			is_archive = memcmp(plain.peeked, gzip, sizeof(gzip)) != 0 &&
						 memcmp(plain.peeked, zstd, sizeof(zstd)) != 0 && walk(&plain, depth);
		}
		else
			image_end(stream->image, IMAGE_NO_ROOM);
		unpack_end(&plain);
		return is_archive;
	}
	if (length < BLOCK)
		return false;
	memcpy(&header, stream->peeked, sizeof(header));
	if (!is_header(&header))
		return false;
	while (take_entry(stream, &next, depth))
		;
	return true;
}

static ImageEnd
image_walk(Image *image, int fd)
{
	Stream stream = { .image = image, .fd = fd };
	bool is_archive;

	(void) stream_peek(&stream);
	is_archive = walk(&stream, 0);
	if (!is_archive && (image->end == IMAGE_DONE || image->end == IMAGE_BROKEN))
		return IMAGE_NONE;
	return image->end == IMAGE_DONE && image->has_broken ? IMAGE_BROKEN : image->end;
}

ImageEnd
debug_image_walk(int fd, ImageFile on_file, void *context)
{
	Image image = { .on_file = on_file, .context = context, .file_bytes = IMAGE_FILE_BYTES };

	return image_walk(&image, fd);
}

ImageEnd
debug_image_walk_files(int fd, int64_t file_bytes, ImageFile on_file, void *context)
{
	Image image = {
		.on_file = on_file, .context = context, .takes_all = true, .file_bytes = file_bytes
	};

	return image_walk(&image, fd);
}
