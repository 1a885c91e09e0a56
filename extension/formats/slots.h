/*
 * slots.h
 *		The slots of a hash table over the items of an array: open addressing, at most half full;
 *		includes no server header.
 *
 * The user of the table has the items and compares them. A slot contains the number of an item + 1,
 * or 0 if it is free.
 */
#ifndef PFS_SLOTS_H
#define PFS_SLOTS_H

#include "formats/memory.h"

typedef struct PfsSlots
{
	PfsBudget *budget;
	uint64_t seed; /* seed of the hashes of items */
	uint32_t *slots;
	uint32_t count; /* 0, or a power of two */
} PfsSlots;

void pfs_slots_init(PfsSlots *slots, PfsBudget *budget);
void pfs_slots_fini(PfsSlots *slots);

/* Returns true if the slots must be widened before another item is added. */
static inline bool
pfs_slots_are_full(const PfsSlots *slots, uint32_t item_count)
{
	return item_count >= slots->count / 2;
}

/*
 * Doubles the slots and empties them: the caller enters all items again. Returns false if out of
 * memory or budget, with the slots unchanged.
 */
bool pfs_slots_widen(PfsSlots *slots);

/* Returns the slot at which the search for an item with this hash begins. */
static inline uint32_t
pfs_slots_first(const PfsSlots *slots, uint64_t hash)
{
	return (uint32_t) hash & (slots->count - 1);
}

/* Returns the slot to try next if slot at holds another item than the wanted one. */
static inline uint32_t
pfs_slots_next(const PfsSlots *slots, uint32_t at)
{
	return (at + 1) & (slots->count - 1);
}

#endif
