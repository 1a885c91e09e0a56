/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * php_frame.h
 *		Frames of PHP in the words of a record, and the check of a function.
 *
 * A frame has two words: the address of the function, and its line, a flag and the check. The line
 * is the sampled instruction's. The check is a hash over the function's content, because memory of
 * a freed function may soon hold another one.
 */
#ifndef PFS_PHP_FRAME_H
#define PFS_PHP_FRAME_H

#include "runtime_types.h"

/* Bits of the second word, from the lowest on. */
#define PFS_PHP_CHECK_BITS 36
/* the code of a file that other code includes */
#define PFS_PHP_NESTED	   (1ULL << PFS_PHP_CHECK_BITS)
#define PFS_PHP_LINE_SHIFT (PFS_PHP_CHECK_BITS + 1)
#define PFS_PHP_MOST_LINE  ((1U << 23) - 1)

#define PFS_PHP_NO_CHECK	   0ULL /* the function could not be read */
#define PFS_PHP_CHECK(payload) ((payload) & ((1ULL << PFS_PHP_CHECK_BITS) - 1))
#define PFS_PHP_LINE(payload)  ((__u32) ((payload) >> PFS_PHP_LINE_SHIFT) & PFS_PHP_MOST_LINE)

/* Indexes of words in a function (zend_function) that are equal in all versions. */
#define PFS_PHP_FUNCTION_TYPE	   0 /* in the lowest byte */
#define PFS_PHP_FUNCTION_NAME	   1
#define PFS_PHP_FUNCTION_CLASS	   2
#define PFS_PHP_FUNCTION_COUNTS	   4 /* numbers of arguments */
#define PFS_PHP_FUNCTION_ARGUMENTS 5

#define PFS_PHP_INTERNAL_WORDS 6  /* number of words that functions of all types have */
#define PFS_PHP_FUNCTION_WORDS 24 /* number of words that are read of a script's function */

enum pfs_php_type {
	PFS_PHP_INTERNAL = 1, /* written in C */
	PFS_PHP_USER = 2,	  /* a function, or the code of a file */
	PFS_PHP_EVAL = 4	  /* the code of an eval() */
};

#define PFS_PHP_STRING_HASH 8 /* offset in a zend_string, in bytes */

/* Returns the number of instructions of a script's function. */
static inline __u32
pfs_php_instructions(const struct pfs_php_layout *layout, const __u64 words[32])
{
	return (__u32) (words[layout->function_last >> 1 & 31] >> (layout->function_last & 1) * 32);
}

/*
 * Returns the check of a function, never PFS_PHP_NO_CHECK. words are the function's; internal
 * functions have PFS_PHP_INTERNAL_WORDS. The hashes are those of its name and of its file's name,
 * or 0.
 */
static inline __u64
pfs_php_check(const struct pfs_php_layout *layout, const __u64 words[32], __u64 name_hash,
			  __u64 file_hash)
{
	__u64 hash = pfs_hash_step(words[PFS_PHP_FUNCTION_NAME], words[PFS_PHP_FUNCTION_CLASS]);

	hash = pfs_hash_step(hash, words[PFS_PHP_FUNCTION_COUNTS]);
	hash = pfs_hash_step(hash, words[PFS_PHP_FUNCTION_ARGUMENTS]);
	if ((__u8) words[PFS_PHP_FUNCTION_TYPE] != PFS_PHP_INTERNAL)
	{
		hash = pfs_hash_step(hash, pfs_php_instructions(layout, words));
		hash = pfs_hash_step(hash, words[layout->function_opcodes & 31]);
		hash = pfs_hash_step(hash, words[layout->function_file & 31]);
		hash = pfs_hash_step(hash, words[layout->function_lines & 31]);
	}
	hash = pfs_hash_step(hash, name_hash);
	hash = pfs_hash_step(hash, file_hash);
	return hash >> (64 - PFS_PHP_CHECK_BITS) | 1;
}

#endif
