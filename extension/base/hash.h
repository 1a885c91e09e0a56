/*
 * hash.h
 *		Hash of 64-bit keys for simplehash tables, which want all bits of the key in the lower ones
 *		of the hash.
 */
#ifndef PFS_HASH_H
#define PFS_HASH_H

#include "profstore.h"

/*
 * The multiplier is 2^64 divided by the golden ratio; the second round lets the upper bits reach
 * the lower.
 */
static inline uint32
pfs_hash64(uint64 key)
{
	key = (key ^ (key >> 32)) * UINT64CONST(0x9E3779B97F4A7C15);
	key = (key ^ (key >> 32)) * UINT64CONST(0x9E3779B97F4A7C15);
	return (uint32) (key >> 32);
}

#endif
