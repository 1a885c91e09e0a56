/*
 * bytes.h
 *		Output and input of bytes: a buffer that grows, for encoding, and a checked cursor, for
 *		decoding.
 *
 * Both remember a failure, so a caller may write or read several fields and check once. Numbers are
 * little-endian; varints are LEB128 (seven bits a byte, least significant first, at most ten
 * bytes).
 */
#ifndef PFS_BYTES_H
#define PFS_BYTES_H

#include "codec/segment.h"

static inline uint16_t
pfs_load16(const uint8_t *bytes)
{
	return (uint16_t) (bytes[0] | bytes[1] << 8);
}

static inline uint32_t
pfs_load32(const uint8_t *bytes)
{
	uint32_t value;

	__builtin_memcpy(&value, bytes, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value = __builtin_bswap32(value);
#endif
	return value;
}

static inline uint64_t
pfs_load64(const uint8_t *bytes)
{
	uint64_t value;

	__builtin_memcpy(&value, bytes, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value = __builtin_bswap64(value);
#endif
	return value;
}

static inline void
pfs_store16(uint8_t *bytes, uint16_t value)
{
	bytes[0] = (uint8_t) value;
	bytes[1] = (uint8_t) (value >> 8);
}

static inline void
pfs_store32(uint8_t *bytes, uint32_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value = __builtin_bswap32(value);
#endif
	__builtin_memcpy(bytes, &value, sizeof(value));
}

static inline void
pfs_store64(uint8_t *bytes, uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value = __builtin_bswap64(value);
#endif
	__builtin_memcpy(bytes, &value, sizeof(value));
}

/* Maps signed numbers near zero to small unsigned ones: 0, -1, 1, -2 … become 0, 1, 2, 3 … */
static inline uint64_t
pfs_zigzag(int64_t value)
{
	return ((uint64_t) value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t
pfs_unzigzag(uint64_t value)
{
	return (int64_t) ((value >> 1) ^ (0 - (value & 1)));
}

/* Returns the number of bits that the values 0 .. most need: 0 for 0, 64 for UINT64_MAX. */
static inline unsigned
pfs_bit_width(uint64_t most)
{
	return most == 0 ? 0 : 64 - (unsigned) __builtin_clzll(most);
}

/* Returns the largest number of width bits. */
static inline uint64_t
pfs_bit_mask(unsigned width)
{
	return width == 0 ? 0 : UINT64_MAX >> (64 - width);
}

typedef struct PfsBuffer
{
	PfsAllocator allocator;
	uint8_t *data; /* owned; NULL while capacity is 0 */
	size_t length; /* bytes written */
	size_t capacity;
	bool failed; /* the allocator has returned NULL; all later writes are dropped */
} PfsBuffer;

void pfs_buffer_init(PfsBuffer *buffer, PfsAllocator allocator);
void pfs_buffer_fini(PfsBuffer *buffer);

/*
 * Returns room for that many more bytes, valid until the next call; NULL if out of memory. The
 * length of the buffer does not change.
 */
uint8_t *pfs_buffer_reserve(PfsBuffer *buffer, size_t bytes);

/* Like pfs_buffer_reserve(), but adds the bytes to the length. The caller fills them in. */
uint8_t *pfs_buffer_extend(PfsBuffer *buffer, size_t bytes);

void pfs_buffer_put(PfsBuffer *buffer, const void *bytes, size_t length);
void pfs_buffer_put_byte(PfsBuffer *buffer, uint8_t value);
void pfs_buffer_put16(PfsBuffer *buffer, uint16_t value);
void pfs_buffer_put32(PfsBuffer *buffer, uint32_t value);
void pfs_buffer_put_varint(PfsBuffer *buffer, uint64_t value);

/* Returns the bytes, cut to their length, and leaves an empty buffer. The caller frees them. */
PfsBytes pfs_buffer_take(PfsBuffer *buffer);

typedef struct PfsCursor
{
	const uint8_t *data;
	size_t length;
	size_t
		offset;	 /* offset of the next byte; after a failure, of the byte that could not be read */
	bool failed; /* a read went past the end, or met a varint that no encoder writes */
} PfsCursor;

static inline PfsCursor
pfs_cursor(const uint8_t *data, size_t length)
{
	return (PfsCursor){ data, length, 0, false };
}

/* These functions return 0 (or NULL) once the cursor has failed, and never read past the end. */
const uint8_t *pfs_cursor_take(PfsCursor *cursor, size_t bytes);
uint8_t pfs_cursor_byte(PfsCursor *cursor);
uint16_t pfs_cursor_get16(PfsCursor *cursor);
uint32_t pfs_cursor_get32(PfsCursor *cursor);
uint64_t pfs_cursor_varint(PfsCursor *cursor);

#endif
