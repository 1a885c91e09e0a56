/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruby_check.h
 *		Computes checks of Ruby's objects, which differ for another object at the same address. They
 *		are hashes of words that do not change while the object exists.
 */
#ifndef PFS_RUBY_CHECK_H
#define PFS_RUBY_CHECK_H

#include "runtime_types.h"

/* Hashes an instruction sequence, by the address and the words of its body. */
static inline __u64
pfs_ruby_hash_of_iseq(__u64 body, const __u64 words[PFS_RUBY_BODY_WORDS])
{
	__u64 hash = pfs_hash_step(0, body);

	hash = pfs_hash_step(hash, words[PFS_RUBY_BODY_SIZE]);
	hash = pfs_hash_step(hash, words[PFS_RUBY_BODY_CODE]);
	hash = pfs_hash_step(hash, words[PFS_RUBY_BODY_PATH]);
	hash = pfs_hash_step(hash, words[PFS_RUBY_BODY_BASE]);
	hash = pfs_hash_step(hash, words[PFS_RUBY_BODY_LABEL]);
	return pfs_hash_step(hash, words[PFS_RUBY_BODY_FIRST]);
}

/* Adds an entry of a method to a hash, except flags that the garbage collector changes. */
static inline __u64
pfs_ruby_hash_of_method(__u64 hash, const __u64 words[PFS_RUBY_METHOD_WORDS])
{
	hash = pfs_hash_step(hash, words[1]);
	hash = pfs_hash_step(hash, words[2]);
	hash = pfs_hash_step(hash, words[3]);
	return pfs_hash_step(hash, words[4]);
}

/* Returns the hash as a check, which is never PFS_RUBY_NO_CHECK. */
static inline __u64
pfs_ruby_check(__u64 hash)
{
	return hash >> (64 - PFS_RUBY_CHECK_BITS) | 1;
}

#endif
