/*
 * pair_index.h
 *		Distinct pairs of numbers, and their own numbers 0, 1, 2 ...; knows no server header.
 */
#ifndef PFS_PAIR_INDEX_H
#define PFS_PAIR_INDEX_H

#include "formats/profile.h"

typedef struct PfsPairIndex
{
	PfsBudget *budget;
	uint64_t *pairs; /* pairs[number] */
	uint64_t seed;
	uint32_t count;
	uint32_t *slots; /* a hash table of numbers + 1; 0 is free */
	uint32_t slot_count;
} PfsPairIndex;

void pfs_pairs_init(PfsPairIndex *index, PfsBudget *budget);
void pfs_pairs_fini(PfsPairIndex *index);

/* The number of a pair, the next one where it is new; PFS_NONE where memory or budget are out. */
uint32_t pfs_pair_number(PfsPairIndex *index, uint32_t first, uint32_t second);

#endif
