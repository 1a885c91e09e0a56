/*
 * siphash.h
 *		SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash: a fast
 *		short-input PRF", 2012, and its 128-bit variant): without the key nobody can produce
 *		collisions.
 */
#ifndef PFS_SIPHASH_H
#define PFS_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define PFS_SIPHASH_KEY_BYTES 16
#define PFS_SIPHASH_BYTES	  16

void pfs_siphash(const uint8_t key[PFS_SIPHASH_KEY_BYTES], const void *bytes, size_t length,
				 uint8_t hash[PFS_SIPHASH_BYTES]);

#endif
