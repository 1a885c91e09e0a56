/*
 * pair_index.c
 *		Open addressing, at most half full.
 */
#include "formats/pair_index.h"

#include <string.h>

#include "formats/seeded_hash.h"

#define FIRST_SLOTS 64

void
pfs_pairs_init(PfsPairIndex *index, PfsBudget *budget)
{
	memset(index, 0, sizeof(*index));
	index->budget = budget;
	index->seed = pfs_hash_seed();
}

void
pfs_pairs_fini(PfsPairIndex *index)
{
	PfsAllocator allocator = index->budget->allocator;

	if (index->pairs != NULL)
		allocator.realloc(allocator.context, index->pairs, 0);
	if (index->slots != NULL)
		allocator.realloc(allocator.context, index->slots, 0);
	pfs_pairs_init(index, index->budget);
}

/* Returns the slot of a pair, or the free slot where it belongs. */
static uint32_t *
pair_index_find_slot(const PfsPairIndex *index, uint64_t pair)
{
	uint32_t mask = index->slot_count - 1;
	uint32_t at = (uint32_t) pfs_hash_number(index->seed, pair) & mask;

	while (index->slots[at] != 0 && index->pairs[index->slots[at] - 1] != pair)
		at = (at + 1) & mask;
	return &index->slots[at];
}

/* Doubles the table. */
static bool
pair_index_widen(PfsPairIndex *index)
{
	PfsBudget *budget = index->budget;
	uint32_t slot_count = index->slot_count == 0 ? FIRST_SLOTS : index->slot_count * 2;
	size_t added = (slot_count - index->slot_count) * sizeof(uint32_t);
	uint32_t *slots;

	if (added > budget->left)
	{
		budget->exhausted = true;
		return false;
	}
	slots = budget->allocator.realloc(budget->allocator.context, index->slots,
									  slot_count * sizeof(uint32_t));
	if (slots == NULL)
		return false;
	budget->left -= added;
	memset(slots, 0, slot_count * sizeof(uint32_t));
	index->slots = slots;
	index->slot_count = slot_count;
	for (uint32_t i = 0; i < index->count; i++)
		*pair_index_find_slot(index, index->pairs[i]) = i + 1;
	return true;
}

uint32_t
pfs_pair_number(PfsPairIndex *index, uint32_t first, uint32_t second)
{
	uint64_t pair = (uint64_t) first << 32 | second;
	uint32_t *slot;

	if (index->count >= index->slot_count / 2 && !pair_index_widen(index))
		return PFS_NONE;
	slot = pair_index_find_slot(index, pair);
	if (*slot != 0)
		return *slot - 1;
	if (!PFS_GROW(index->budget, index->pairs, index->count))
		return PFS_NONE;
	index->pairs[index->count] = pair;
	*slot = ++index->count;
	return index->count - 1;
}
