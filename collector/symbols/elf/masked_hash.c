/*
 * masked_hash.c
 *		Masks distances, and hashes the rest 8 bytes at a time.
 */
#include "symbols/elf/masked_hash.h"

#include <string.h>

#define DISTANCE_BYTES 4

/* Returns the number of bytes before the distance of an instruction here; 0: there is none. */
static size_t
distance_offset(const uint8_t *code, size_t at, size_t size_bytes)
{
	uint8_t byte = code[at];

	if (byte == 0xe8 || byte == 0xe9) /* call, jmp */
		return 1;
	if (byte == 0x0f && size_bytes - at > DISTANCE_BYTES + 1 && (code[at + 1] & 0xf0) == 0x80)
		return 2;									/* jcc */
	return (byte & 0xc7) == 0x05 && at > 0 ? 1 : 0; /* a ModRM byte: relative to rip */
}

static size_t
mask_distances(const MaskedCode *place, uint8_t *code, size_t size_bytes)
{
	size_t masked_bytes = 0;

	for (size_t at = 0; at + 1 + DISTANCE_BYTES <= size_bytes; at++)
	{
		size_t offset = distance_offset(code, at, size_bytes);
		uint64_t target;
		int32_t distance;

		if (offset == 0)
			continue;
		memcpy(&distance, code + at + offset, DISTANCE_BYTES);
		target = place->start + at + offset + DISTANCE_BYTES + (uint64_t) (int64_t) distance;
		if (target < place->image_start || target >= place->image_end ||
			target - place->start < size_bytes)
			continue;
		memset(code + at + offset, 0, DISTANCE_BYTES);
		masked_bytes += DISTANCE_BYTES;
		at += offset + DISTANCE_BYTES - 1;
	}
	return masked_bytes;
}

uint64_t
masked_hash_add(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

uint64_t
masked_hash(const MaskedCode *place, uint8_t *code, size_t size_bytes, size_t *kept_bytes)
{
	uint64_t hash = size_bytes;

	*kept_bytes = size_bytes - mask_distances(place, code, size_bytes);
	for (size_t at = 0; at < size_bytes; at += sizeof(uint64_t))
	{
		size_t left = size_bytes - at;
		uint64_t word = 0;

		memcpy(&word, code + at, left < sizeof(word) ? left : sizeof(word));
		hash = masked_hash_add(hash, word);
	}
	return masked_hash_add(hash, size_bytes);
}
