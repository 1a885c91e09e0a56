/*
 * address_table.c
 *		A hash table of the locations' addresses.
 */
#include "formats/legacy/address_table.h"
#include "formats/seeded_hash.h"

void
pfs_addresses_init(PfsAddressTable *table, PfsProfile *profile)
{
	table->profile = profile;
	pfs_slots_init(&table->slots, profile->budget);
}

void
pfs_addresses_fini(PfsAddressTable *table)
{
	pfs_slots_fini(&table->slots);
}

/* Returns the slot of an address, or the free slot where it belongs. */
static uint32_t *
address_table_find_slot(const PfsAddressTable *table, uint64_t address)
{
	const PfsSlots *slots = &table->slots;
	uint32_t at = pfs_slots_first(slots, pfs_hash_number(slots->seed, address));

	while (slots->slots[at] != 0 &&
		   table->profile->locations[slots->slots[at] - 1].address != address)
		at = pfs_slots_next(slots, at);
	return &slots->slots[at];
}

static bool
address_table_widen(PfsAddressTable *table)
{
	if (!pfs_slots_widen(&table->slots))
		return false;
	for (uint32_t i = 0; i < table->profile->location_count; i++)
		*address_table_find_slot(table, table->profile->locations[i].address) = i + 1;
	return true;
}

uint32_t
pfs_address_location(PfsAddressTable *table, uint64_t address)
{
	PfsProfile *profile = table->profile;
	uint32_t *slot;

	if (pfs_slots_are_full(&table->slots, profile->location_count) && !address_table_widen(table))
		return PFS_NONE;
	slot = address_table_find_slot(table, address);
	if (*slot != 0)
		return *slot - 1;
	if (!PFS_GROW(profile->budget, profile->locations, profile->location_count))
		return PFS_NONE;
	profile->locations[profile->location_count++] =
		(PfsProfileLocation){ .mapping = PFS_NONE, .address = address };
	*slot = profile->location_count;
	return profile->location_count - 1;
}

uint32_t
pfs_address_find(const PfsAddressTable *table, uint64_t address)
{
	uint32_t *slot = table->slots.count == 0 ? NULL : address_table_find_slot(table, address);

	return slot == NULL || *slot == 0 ? PFS_NONE : *slot - 1;
}
