/*
 * verify_keys.h
 *		The check of verify() for series and stacks of samples that are missing from the
 *		dictionary.
 */
#ifndef PFS_VERIFY_KEYS_H
#define PFS_VERIFY_KEYS_H

#include "profstore.h"

#include "utils/relcache.h"

#include "store/compact/verify_table.h"

/*
 * Returns the check for a table; NULL if the table does not hold samples. Begins the use of the
 * dictionary (pfs_dictionary_begin()). Lives in CurrentMemoryContext.
 */
const PfsKeyCheck *pfs_verify_keys(Relation relation);

#endif
