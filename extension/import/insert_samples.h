/*
 * insert_samples.h
 *		Rows into profstore.samples, the way of COPY.
 */
#ifndef PFS_INSERT_SAMPLES_H
#define PFS_INSERT_SAMPLES_H

#include "profstore.h"

#include "formats/profile_rows.h"

/*
 * Stores the rows as the current user, whose partitions must be there. Raises
 * INSUFFICIENT_PRIVILEGE without the right to insert, and where row security is in force on the
 * table: a policy would have to see every row.
 */
void pfs_samples_insert(const PfsSampleRow *rows, uint32 count);

#endif
