/*
 * hash.h
 *		Hash of 64-bit keys for simplehash tables, whose lower bits must depend on all bits of
 *		the key.
 */
#ifndef PFS_HASH_H
#define PFS_HASH_H

#include "profstore.h"

/*
 * The multiplier is 2^64 divided by the golden ratio; the second round lets the upper bits affect
 * the lower ones.
 */
static inline uint32
pfs_hash64(uint64 key)
{
	key = (key ^ (key >> 32)) * UINT64CONST(0x9E3779B97F4A7C15);
	key = (key ^ (key >> 32)) * UINT64CONST(0x9E3779B97F4A7C15);
	return (uint32) (key >> 32);
}

#endif
