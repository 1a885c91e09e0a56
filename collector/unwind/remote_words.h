/*
 * remote_words.h
 *		Reads numbers and addresses from bytes of a process's memory.
 */
#ifndef COLLECTOR_REMOTE_WORDS_H
#define COLLECTOR_REMOTE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bounds of user-space addresses, half-open. Memory outside of them is never read. */
#define REMOTE_LOWEST_ADDRESS  (UINT64_C(1) << 16)
#define REMOTE_HIGHEST_ADDRESS (UINT64_C(1) << 48)

static inline bool
remote_is_user_address(uint64_t address)
{
	return address >= REMOTE_LOWEST_ADDRESS && address < REMOTE_HIGHEST_ADDRESS;
}

/* Returns true if an object may begin at the address, which comes from the process. */
static inline bool
remote_is_object(uint64_t address)
{
	return remote_is_user_address(address) && (address & 7) == 0;
}

static inline uint64_t
remote_word_at(const void *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, (const uint8_t *) bytes + offset, sizeof(word));
	return word;
}

static inline uint32_t
remote_number_at(const void *bytes, size_t offset)
{
	uint32_t number;

	memcpy(&number, (const uint8_t *) bytes + offset, sizeof(number));
	return number;
}

#endif
