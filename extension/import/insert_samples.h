/*
 * insert_samples.h
 *		Inserts rows into profstore.samples through COPY.
 */
#ifndef PFS_INSERT_SAMPLES_H
#define PFS_INSERT_SAMPLES_H

#include "profstore.h"

#include "formats/profile_rows.h"

/*
 * Stores the rows as the current user; their partitions must exist. Raises INSUFFICIENT_PRIVILEGE
 * without the right to insert, and if row security applies to the table, because a policy would
 * have to check every row.
 */
void pfs_samples_insert(const PfsSampleRow *rows, uint32 count);

#endif
