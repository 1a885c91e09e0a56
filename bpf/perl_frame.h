/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * perl_frame.h
 *		Frames of Perl in the words of a record, and the check of a frame.
 *
 * A frame has four words: the address of the subroutine's name (a HEK), or one of PFS_PERL_*, which
 * stand for code that is no subroutine; the line and the check; the address of the file's name (in
 * Perl without threads a HEK, otherwise its characters); the package (a stash). Subroutines may be
 * freed a moment later, but names are shared and stay.
 */
#ifndef PFS_PERL_FRAME_H
#define PFS_PERL_FRAME_H

#include "runtime_types.h"

/* Values in place of the address of a name. */
enum pfs_perl_code {
	PFS_PERL_UNKNOWN = 0,  /* a subroutine that could not be read */
	PFS_PERL_MAIN = 8,	   /* the program itself */
	PFS_PERL_REQUIRE = 16, /* the code of a file: require, use, do */
	PFS_PERL_EVAL = 24,	   /* the code of a string */
	PFS_PERL_CODES		   /* names have higher addresses */
};

/* Bits of the second word, from the lowest on. */
#define PFS_PERL_CHECK_BITS		36
#define PFS_PERL_MOST_LINE		((1U << 24) - 1)
#define PFS_PERL_NO_CHECK		0ULL /* the name could not be read */
#define PFS_PERL_CHECK(payload) ((payload) & ((1ULL << PFS_PERL_CHECK_BITS) - 1))
#define PFS_PERL_LINE(payload)	((__u32) ((payload) >> PFS_PERL_CHECK_BITS) & PFS_PERL_MOST_LINE)

#define PFS_PERL_MORE		3 /* words after the first: line and check, file, stash */
#define PFS_PERL_MORE_FILE	1
#define PFS_PERL_MORE_STASH 2

/* words of the file's name, or of its HEK, that enter the check */
#define PFS_PERL_FILE_WORDS 2

/* Returns the part of checks that depends on the file: its name's address and first words. */
static inline __u64
pfs_perl_file_hash(__u64 file, const __u64 file_words[PFS_PERL_FILE_WORDS])
{
	return pfs_hash_step(pfs_hash_step(pfs_hash_step(0, file), file_words[0]), file_words[1]);
}

/*
 * Returns the check of a frame, never PFS_PERL_NO_CHECK. name is the first word of the HEK: its
 * hash and its length; 0 for PFS_PERL_*.
 */
static inline __u64
pfs_perl_check(__u64 name, __u64 stash, __u64 file_hash)
{
	return pfs_hash_step(pfs_hash_step(file_hash, name), stash) >> (64 - PFS_PERL_CHECK_BITS) | 1;
}

#endif
