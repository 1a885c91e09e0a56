/*
 * seal.h
 *		Young functions and locations are packed.
 *
 * Rows that somebody is changing stay as they are, and so does all where the row of the epoch is
 * locked: nobody waits here. Who brings a better answer waits for the end of this transaction.
 */
#ifndef PFS_SEAL_H
#define PFS_SEAL_H

#include "profstore.h"

/*
 * Seals rows of both kinds, as far as it is worth while: at most 262,144 of each. Does
 * nothing where another transaction tends the dictionary. Returns how many were sealed.
 */
int64 pfs_names_seal(void);

/*
 * Rebuilds indexes of young rows that have grown larger than the table: what VACUUM finds empty in
 * them it keeps. Skips those whose locks are not to be had at once; locks are held until the
 * transaction ends.
 */
void pfs_names_shrink(void);

#endif
