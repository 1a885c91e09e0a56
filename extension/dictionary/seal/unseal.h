/*
 * unseal.h
 *		Makes young rows of sealed ones, so that they can be changed, condemned or removed.
 */
#ifndef PFS_UNSEAL_H
#define PFS_UNSEAL_H

#include "profstore.h"

#include "dictionary/cache/name_rows.h"

/*
 * Moves sealed rows, condemned or not, to the table of young rows, by the latest snapshot. ids must
 * be ascending and distinct; ids that are not sealed are ignored. The caller must hold the lock on
 * the row of the epoch. The running statement sees the moved rows. Returns how many ids were
 * sealed.
 */
uint32 pfs_names_unseal(const PfsNameTable *names, const int32 *ids, uint32 count,
						bool are_condemned);

#endif
