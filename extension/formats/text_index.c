/*
 * text_index.c
 *		Open addressing, at most half full.
 */
#include <string.h>

#include "formats/seeded_hash.h"
#include "formats/text_index.h"

#define FIRST_SLOTS 64

void
pfs_text_index_init(PfsTextIndex *index, PfsBudget *budget)
{
	memset(index, 0, sizeof(*index));
	index->budget = budget;
	index->seed = pfs_hash_seed();
}

void
pfs_text_index_fini(PfsTextIndex *index)
{
	PfsAllocator allocator = index->budget->allocator;

	if (index->texts != NULL)
		allocator.realloc(allocator.context, index->texts, 0);
	if (index->slots != NULL)
		allocator.realloc(allocator.context, index->slots, 0);
	pfs_text_index_init(index, index->budget);
}

/* Returns the slot of a text, or the free slot where it belongs. */
static uint32_t *
text_index_find_slot(const PfsTextIndex *index, PfsText text)
{
	uint32_t mask = index->slot_count - 1;

	for (uint32_t at = (uint32_t) pfs_hash_text(index->seed, text) & mask;; at = (at + 1) & mask)
	{
		uint32_t *slot = &index->slots[at];
		const PfsText *other;

		if (*slot == 0)
			return slot;
		other = &index->texts[*slot - 1];
		if (other->length == text.length && memcmp(other->data, text.data, text.length) == 0)
			return slot;
	}
}

/* Doubles the table. */
static bool
text_index_widen(PfsTextIndex *index)
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
		*text_index_find_slot(index, index->texts[i]) = i + 1;
	return true;
}

uint32_t
pfs_text_number(PfsTextIndex *index, PfsText text)
{
	uint32_t *slot;

	if (index->count >= index->slot_count / 2 && !text_index_widen(index))
		return PFS_NONE;
	slot = text_index_find_slot(index, text);
	if (*slot != 0)
		return *slot - 1;
	if (!PFS_GROW(index->budget, index->texts, index->count))
		return PFS_NONE;
	index->texts[index->count] = text;
	*slot = ++index->count;
	return index->count - 1;
}
