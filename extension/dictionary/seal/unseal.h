/*
 * unseal.h
 *		Makes young rows of sealed ones, so that they can be changed, condemned or removed.
 */
#ifndef PFS_UNSEAL_H
#define PFS_UNSEAL_H

#include "profstore.h"

#include "dictionary/cache/name_rows.h"

/*
 * Moves those of some ids (ascending, distinct) that are sealed to the young rows, condemned or
 * not, by the latest snapshot. The caller must hold the lock on the row of the epoch. The running
 * statement sees the rows there afterwards. Returns how many were sealed.
 */
uint32 pfs_names_unseal(const PfsNameTable *names, const int32 *ids, uint32 count,
						bool are_condemned);

#endif
