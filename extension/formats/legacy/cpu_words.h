/*
 * cpu_words.h
 *		Words of gperftools' profiles of CPU time, with the width and byte order of the machine
 *		that wrote them. Includes no server header.
 */
#ifndef PFS_CPU_WORDS_H
#define PFS_CPU_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct PfsCpuWords
{
	const uint8_t *bytes;
	size_t length;
	size_t at;
	size_t width; /* bytes of a word */
	bool is_big_endian;
	bool is_java;
	uint64_t period_us;
} PfsCpuWords;

/* Reads the header with the format that fits; false if none does. */
bool pfs_cpu_words_begin(PfsCpuWords *words, const uint8_t *bytes, size_t length);

/* Returns the next word; false if it is incomplete. */
bool pfs_cpu_word(PfsCpuWords *words, uint64_t *word);

static inline uint64_t
pfs_cpu_words_left(const PfsCpuWords *words)
{
	return (words->length - words->at) / words->width;
}

#endif
