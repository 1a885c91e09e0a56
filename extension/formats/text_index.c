/*
 * text_index.c
 *		A hash table of texts.
 */
#include <string.h>

#include "formats/seeded_hash.h"
#include "formats/text_index.h"

void
pfs_text_index_init(PfsTextIndex *index, PfsBudget *budget)
{
	*index = (PfsTextIndex){ .count = 0 };
	pfs_slots_init(&index->slots, budget);
}

void
pfs_text_index_fini(PfsTextIndex *index)
{
	PfsAllocator allocator = index->slots.budget->allocator;

	if (index->texts != NULL)
		allocator.realloc(allocator.context, index->texts, 0);
	pfs_slots_fini(&index->slots);
	pfs_text_index_init(index, index->slots.budget);
}

/* Returns the slot of a text, or the free slot where it belongs. */
static uint32_t *
text_index_find_slot(const PfsTextIndex *index, PfsText text)
{
	const PfsSlots *slots = &index->slots;

	for (uint32_t at = pfs_slots_first(slots, pfs_hash_text(slots->seed, text));;
		 at = pfs_slots_next(slots, at))
	{
		uint32_t *slot = &slots->slots[at];
		const PfsText *other;

		if (*slot == 0)
			return slot;
		other = &index->texts[*slot - 1];
		if (other->length == text.length && memcmp(other->data, text.data, text.length) == 0)
			return slot;
	}
}

static bool
text_index_widen(PfsTextIndex *index)
{
	if (!pfs_slots_widen(&index->slots))
		return false;
	for (uint32_t i = 0; i < index->count; i++)
		*text_index_find_slot(index, index->texts[i]) = i + 1;
	return true;
}

uint32_t
pfs_text_number(PfsTextIndex *index, PfsText text)
{
	uint32_t *slot;

	if (pfs_slots_are_full(&index->slots, index->count) && !text_index_widen(index))
		return PFS_NONE;
	slot = text_index_find_slot(index, text);
	if (*slot != 0)
		return *slot - 1;
	if (!PFS_GROW(index->slots.budget, index->texts, index->count))
		return PFS_NONE;
	index->texts[index->count] = text;
	*slot = ++index->count;
	return index->count - 1;
}
