/*
 * server.h
 *		Server functions for reading and writing files: interrupts, and conversion of times.
 */
#ifndef PFS_SERVER_H
#define PFS_SERVER_H

#include "profstore.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

/* Times are nanoseconds since 1970 in files, and microseconds since 2000 in tables. */
#define PFS_NS_PER_US 1000
#define PFS_EPOCH_DIFFERENCE_US \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * USECS_PER_SEC)

/* The PfsPauseFn of a server process: checks for interrupts. */
static inline void
pfs_server_pause(void)
{
	CHECK_FOR_INTERRUPTS();
}

#endif
