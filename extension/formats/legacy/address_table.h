/*
 * address_table.h
 *		Addresses of stacks; each is a location of the profile. Includes no server header.
 */
#ifndef PFS_ADDRESS_TABLE_H
#define PFS_ADDRESS_TABLE_H

#include "formats/profile.h"
#include "formats/slots.h"

/* A location's address is the one in the process as long as the file is being read. */
typedef struct PfsAddressTable
{
	PfsProfile *profile;
	PfsSlots slots;
} PfsAddressTable;

void pfs_addresses_init(PfsAddressTable *table, PfsProfile *profile);
void pfs_addresses_fini(PfsAddressTable *table);

/* Returns the location of an address, which may be new; PFS_NONE if out of memory. */
uint32_t pfs_address_location(PfsAddressTable *table, uint64_t address);

/* Returns the location of a known address, otherwise PFS_NONE. */
uint32_t pfs_address_find(const PfsAddressTable *table, uint64_t address);

#endif
