/*
 * exchange.h
 *		Settings of the room, how it counts times, and where it stops.
 */
#ifndef PFS_EXCHANGE_H
#define PFS_EXCHANGE_H

#include "profstore.h"

/* profstore.import_max_size, in kilobytes: largest profile that is imported, as it is when unpacked. */
extern int pfs_import_max_size_kb;

/* Called once when the module is loaded. */
void pfs_exchange_init(void);

/* The PfsPauseFn of a server process: checks for interrupts. */
void pfs_exchange_pause(void);

/* Times are nanoseconds since 1970 in files, microseconds since 2000 in tables. */
#define PFS_NS_PER_US 1000
#define PFS_EPOCH_DIFFERENCE_US \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * USECS_PER_SEC)

#endif
