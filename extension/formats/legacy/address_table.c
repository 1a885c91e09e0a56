/*
 * address_table.c
 *		Open addressing, at most half full.
 */
#include <string.h>

#include "formats/legacy/address_table.h"
#include "formats/seeded_hash.h"

#define FIRST_SLOTS 64

void
pfs_addresses_init(PfsAddressTable *table, PfsProfile *profile)
{
	*table = (PfsAddressTable){ .profile = profile, .seed = pfs_hash_seed() };
}

void
pfs_addresses_fini(PfsAddressTable *table)
{
	PfsAllocator allocator = table->profile->budget->allocator;

	if (table->slots != NULL)
		allocator.realloc(allocator.context, table->slots, 0);
	*table = (PfsAddressTable){ .profile = table->profile };
}

/* Returns the slot of an address, or the free slot where it belongs. */
static uint32_t *
address_table_find_slot(const PfsAddressTable *table, uint64_t address)
{
	uint32_t mask = table->slot_count - 1;
	uint32_t at = (uint32_t) pfs_hash_number(table->seed, address) & mask;

	while (table->slots[at] != 0 &&
		   table->profile->locations[table->slots[at] - 1].address != address)
		at = (at + 1) & mask;
	return &table->slots[at];
}

/* Doubles the table. */
static bool
address_table_widen(PfsAddressTable *table)
{
	PfsBudget *budget = table->profile->budget;
	uint32_t slot_count = table->slot_count == 0 ? FIRST_SLOTS : table->slot_count * 2;
	size_t added = (slot_count - table->slot_count) * sizeof(uint32_t);
	uint32_t *slots;

	if (added > budget->left)
	{
		budget->exhausted = true;
		return false;
	}
	slots = budget->allocator.realloc(budget->allocator.context, table->slots,
									  slot_count * sizeof(uint32_t));
	if (slots == NULL)
		return false;
	budget->left -= added;
	memset(slots, 0, slot_count * sizeof(uint32_t));
	table->slots = slots;
	table->slot_count = slot_count;
	for (uint32_t i = 0; i < table->profile->location_count; i++)
		*address_table_find_slot(table, table->profile->locations[i].address) = i + 1;
	return true;
}

uint32_t
pfs_address_location(PfsAddressTable *table, uint64_t address)
{
	PfsProfile *profile = table->profile;
	uint32_t *slot;

	if (profile->location_count >= table->slot_count / 2 && !address_table_widen(table))
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
	uint32_t *slot = table->slot_count == 0 ? NULL : address_table_find_slot(table, address);

	return slot == NULL || *slot == 0 ? PFS_NONE : *slot - 1;
}
