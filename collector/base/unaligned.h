/*
 * unaligned.h
 *		Reads numbers of this machine's byte order at any offset. The caller checks the bounds.
 */
#ifndef COLLECTOR_UNALIGNED_H
#define COLLECTOR_UNALIGNED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t
bytes_u16_at(const void *bytes, size_t offset)
{
	uint16_t number;

	memcpy(&number, (const uint8_t *) bytes + offset, sizeof(number));
	return number;
}

static inline uint32_t
bytes_u32_at(const void *bytes, size_t offset)
{
	uint32_t number;

	memcpy(&number, (const uint8_t *) bytes + offset, sizeof(number));
	return number;
}

static inline uint64_t
bytes_u64_at(const void *bytes, size_t offset)
{
	uint64_t number;

	memcpy(&number, (const uint8_t *) bytes + offset, sizeof(number));
	return number;
}

#endif
