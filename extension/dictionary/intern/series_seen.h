/*
 * series_seen.h
 *		When series have samples: first_seen and last_seen of profstore.series.
 *
 * The ranges that a transaction records are applied at its commit, in one statement and in the
 * order of ids. So rows are locked only for the moment of a commit: nobody waits for a transaction
 * that is left open, no range is lost, and no two transactions wait for each other. Until its
 * commit the transaction itself sees the rows unchanged. A prepared transaction keeps its locks
 * until it is committed.
 */
#ifndef PFS_SERIES_SEEN_H
#define PFS_SERIES_SEEN_H

#include "profstore.h"

#include "datatype/timestamp.h"

/*
 * Called once when the module is loaded, before the write buffer, whose callback then runs first.
 */
void pfs_series_seen_init(void);

/*
 * Records that the series has samples between these times. Ranges of a subtransaction are dropped
 * with its abort. Raises DATETIME_VALUE_OUT_OF_RANGE for times before 1970 or more than seven days
 * from now. Under REPEATABLE READ the commit raises T_R_SERIALIZATION_FAILURE if another
 * transaction has changed the row first.
 */
void pfs_series_seen(int32 series_id, TimestampTz first, TimestampTz last);

#endif
