/*
 * pair_index.h
 *		Distinct pairs of numbers, numbered 0, 1, 2 ...; includes no server header.
 */
#ifndef PFS_PAIR_INDEX_H
#define PFS_PAIR_INDEX_H

#include "formats/profile.h"
#include "formats/slots.h"

typedef struct PfsPairIndex
{
	PfsSlots slots;
	uint64_t *pairs; /* by number */
	uint32_t count;
} PfsPairIndex;

void pfs_pairs_init(PfsPairIndex *index, PfsBudget *budget);
void pfs_pairs_fini(PfsPairIndex *index);

/*
 * Returns the number of a pair, which gets the next one if it is new; PFS_NONE if out of memory or
 * budget.
 */
uint32_t pfs_pair_number(PfsPairIndex *index, uint32_t first, uint32_t second);

#endif
