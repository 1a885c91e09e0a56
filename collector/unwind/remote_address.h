/*
 * remote_address.h
 *		Addresses that come from a process's memory.
 */
#ifndef COLLECTOR_REMOTE_ADDRESS_H
#define COLLECTOR_REMOTE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Bounds of user-space addresses, half-open. Memory outside of them is never read. */
#define REMOTE_LOWEST_ADDRESS  (UINT64_C(1) << 16)
#define REMOTE_HIGHEST_ADDRESS (UINT64_C(1) << 48)

static inline bool
remote_is_user_address(uint64_t address)
{
	return address >= REMOTE_LOWEST_ADDRESS && address < REMOTE_HIGHEST_ADDRESS;
}

/* Returns true if an object may begin at the address, which comes from the process. */
static inline bool
remote_is_object(uint64_t address)
{
	return remote_is_user_address(address) && (address & 7) == 0;
}

#endif
