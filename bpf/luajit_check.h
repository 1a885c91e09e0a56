/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * luajit_check.h
 *		Computes the check of a prototype of LuaJIT, which differs for another prototype at its
 *		address.
 */
#ifndef PFS_LUAJIT_CHECK_H
#define PFS_LUAJIT_CHECK_H

#include "runtime_types.h"

/*
 * Returns a hash of the words that do not change while the prototype exists; never
 * PFS_LUAJIT_NO_CHECK. chunk: words of the name of the chunk. Without them a prototype at the same
 * address may have the same words, with another name at the former name's address.
 */
static inline __u64
pfs_luajit_check(const __u64 words[PFS_LUAJIT_PROTO_WORDS],
				 const __u64 chunk[PFS_LUAJIT_STRING_WORDS])
{
	__u64 hash = pfs_hash_step(0, words[PFS_LUAJIT_PROTO_SIZE] >> 32);

	hash = pfs_hash_step(hash, words[PFS_LUAJIT_PROTO_CHUNK]);
	hash = pfs_hash_step(hash, words[PFS_LUAJIT_PROTO_LINES]);
	hash = pfs_hash_step(hash, words[PFS_LUAJIT_PROTO_TABLE]);
	hash = pfs_hash_step(hash, chunk[0] >> 32);
	hash = pfs_hash_step(hash, chunk[1]);
	return hash >> (64 - PFS_LUAJIT_CHECK_BITS) | 1;
}

#endif
