/*
 * verify_keys.h
 *		For verify(): series and stacks of samples that are not in the dictionary.
 */
#ifndef PFS_VERIFY_KEYS_H
#define PFS_VERIFY_KEYS_H

#include "profstore.h"

#include "utils/relcache.h"

#include "store/compact/verify_table.h"

/*
 * NULL for tables that do not hold samples. Begins the use of the dictionary; lives in
 * CurrentMemoryContext.
 */
const PfsKeyCheck *pfs_verify_keys(Relation relation);

#endif
