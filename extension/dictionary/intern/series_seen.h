/*
 * series_seen.h
 *		When series have samples: first_seen and last_seen of profstore.series.
 *
 * What a transaction tells widens the rows as it commits, in one statement and in the order of ids.
 * So rows are locked for the moment of a commit only: nobody waits for a transaction that is left
 * open, nobody's range is lost, and no two wait for each other. Until then the transaction itself
 * sees the rows as they were. A prepared transaction keeps its locks until it is committed.
 */
#ifndef PFS_SERIES_SEEN_H
#define PFS_SERIES_SEEN_H

#include "profstore.h"

#include "datatype/timestamp.h"

/* Called once when the module is loaded, before the write buffer: it commits after that. */
void pfs_series_seen_init(void);

/*
 * The series has samples between these times. What a subtransaction tells goes with its abort.
 * Raises DATETIME_VALUE_OUT_OF_RANGE for times before 1970 or more than seven days from now; the
 * commit, under REPEATABLE READ, T_R_SERIALIZATION_FAILURE where another one came first.
 */
void pfs_series_seen(int32 series_id, TimestampTz first, TimestampTz last);

#endif
