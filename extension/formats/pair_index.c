/*
 * pair_index.c
 *		A hash table of pairs, each one number of 64 bits.
 */
#include "formats/pair_index.h"
#include "formats/seeded_hash.h"

void
pfs_pairs_init(PfsPairIndex *index, PfsBudget *budget)
{
	*index = (PfsPairIndex){ .count = 0 };
	pfs_slots_init(&index->slots, budget);
}

void
pfs_pairs_fini(PfsPairIndex *index)
{
	PfsAllocator allocator = index->slots.budget->allocator;

	if (index->pairs != NULL)
		allocator.realloc(allocator.context, index->pairs, 0);
	pfs_slots_fini(&index->slots);
	pfs_pairs_init(index, index->slots.budget);
}

/* Returns the slot of a pair, or the free slot where it belongs. */
static uint32_t *
pair_index_find_slot(const PfsPairIndex *index, uint64_t pair)
{
	const PfsSlots *slots = &index->slots;
	uint32_t at = pfs_slots_first(slots, pfs_hash_number(slots->seed, pair));

	while (slots->slots[at] != 0 && index->pairs[slots->slots[at] - 1] != pair)
		at = pfs_slots_next(slots, at);
	return &slots->slots[at];
}

static bool
pair_index_widen(PfsPairIndex *index)
{
	if (!pfs_slots_widen(&index->slots))
		return false;
	for (uint32_t i = 0; i < index->count; i++)
		*pair_index_find_slot(index, index->pairs[i]) = i + 1;
	return true;
}

uint32_t
pfs_pair_number(PfsPairIndex *index, uint32_t first, uint32_t second)
{
	uint64_t pair = (uint64_t) first << 32 | second;
	uint32_t *slot;

	if (pfs_slots_are_full(&index->slots, index->count) && !pair_index_widen(index))
		return PFS_NONE;
	slot = pair_index_find_slot(index, pair);
	if (*slot != 0)
		return *slot - 1;
	if (!PFS_GROW(index->slots.budget, index->pairs, index->count))
		return PFS_NONE;
	index->pairs[index->count] = pair;
	*slot = ++index->count;
	return index->count - 1;
}
