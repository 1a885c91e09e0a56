/*
 * seal.h
 *		Packs young functions and locations.
 *
 * Rows that another transaction is changing are left alone, and so are all rows while the row of
 * the epoch is locked: sealing never waits. A writer with a better answer waits for the end of the
 * sealing transaction.
 */
#ifndef PFS_SEAL_H
#define PFS_SEAL_H

#include "profstore.h"

/*
 * Seals rows of both kinds, at most 262,144 of each, if there are enough to be worthwhile. Does
 * nothing while another transaction maintains the dictionary. Returns how many were sealed.
 */
int64 pfs_names_seal(void);

/*
 * Rebuilds indexes of young rows that have grown larger than the table: VACUUM does not shrink
 * them. Skips those whose locks are not available at once; locks are held until the transaction
 * ends.
 */
void pfs_names_shrink(void);

#endif
