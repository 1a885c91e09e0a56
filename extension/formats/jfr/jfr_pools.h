/*
 * jfr_pools.h
 *		Constant pools of a chunk: positions of values by key. Includes no server header.
 */
#ifndef PFS_JFR_POOLS_H
#define PFS_JFR_POOLS_H

#include "formats/jfr/jfr_types.h"

typedef struct PfsJfrConstant
{
	uint64_t key;
	size_t offset; /* offset of the constant's value in the chunk */
	uint32_t class_index;
	uint32_t count;	  /* number of frames of a stack, once it is resolved */
	size_t first;	  /* first frame of a stack, or function of a method, once it is resolved */
	bool is_resolved; /* count and first are set */
} PfsJfrConstant;

typedef struct PfsJfrPools
{
	PfsJfrConstant *constants;
	uint32_t count;
} PfsJfrPools;

/* Lists the constants of all pools, from the position of the last pool on. */
PfsReadStatus pfs_jfr_pools_read(PfsJfrBytes *in, const PfsJfrTypes *types, PfsJfrPools *pools);
void pfs_jfr_pools_free(PfsJfrPools *pools, PfsBudget *budget);

/* Returns NULL if the pool does not contain the key. */
PfsJfrConstant *pfs_jfr_constant(const PfsJfrPools *pools, uint32_t class_index, uint64_t key);

#endif
