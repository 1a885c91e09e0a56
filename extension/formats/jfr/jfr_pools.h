/*
 * jfr_pools.h
 *		Constant pools of a chunk: where the value of a key is. Knows no server header.
 */
#ifndef PFS_JFR_POOLS_H
#define PFS_JFR_POOLS_H

#include "formats/jfr/jfr_types.h"

typedef struct PfsJfrConstant
{
	uint64_t key;
	size_t offset; /* of its value, in the chunk */
	uint32_t class_index;
	uint32_t count;	  /* of a stack that was read: its frames */
	size_t first;	  /* of a stack or method that was read: first frame, function */
	bool is_resolved; /* the two are set */
} PfsJfrConstant;

typedef struct PfsJfrPools
{
	PfsJfrConstant *constants;
	uint32_t count;
} PfsJfrPools;

/* Lists the constants of all pools, of which the last is at a place of the chunk. */
PfsReadStatus pfs_jfr_pools_read(PfsJfrBytes *in, const PfsJfrTypes *types, PfsJfrPools *pools);
void pfs_jfr_pools_free(PfsJfrPools *pools, PfsBudget *budget);

/* NULL where the pool does not have it. */
PfsJfrConstant *pfs_jfr_constant(const PfsJfrPools *pools, uint32_t class_index, uint64_t key);

#endif
