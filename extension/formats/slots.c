/*
 * slots.c
 *		Allocates slots within the budget of a reader.
 */
#include <string.h>

#include "formats/seeded_hash.h"
#include "formats/slots.h"

#define FIRST_SLOTS 64

void
pfs_slots_init(PfsSlots *slots, PfsBudget *budget)
{
	*slots = (PfsSlots){ .budget = budget, .seed = pfs_hash_seed() };
}

void
pfs_slots_fini(PfsSlots *slots)
{
	PfsAllocator allocator = slots->budget->allocator;

	if (slots->slots != NULL)
		allocator.realloc(allocator.context, slots->slots, 0);
	pfs_slots_init(slots, slots->budget);
}

bool
pfs_slots_widen(PfsSlots *slots)
{
	PfsBudget *budget = slots->budget;
	uint32_t count = slots->count == 0 ? FIRST_SLOTS : slots->count * 2;
	size_t added = (count - slots->count) * sizeof(uint32_t);
	uint32_t *widened;

	if (added > budget->left)
	{
		budget->exhausted = true;
		return false;
	}
	widened = budget->allocator.realloc(budget->allocator.context, slots->slots,
										count * sizeof(uint32_t));
	if (widened == NULL)
		return false;
	budget->left -= added;
	memset(widened, 0, count * sizeof(uint32_t));
	slots->slots = widened;
	slots->count = count;
	return true;
}
