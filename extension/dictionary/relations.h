/*
 * relations.h
 *		Tables, indexes and sequences of schema profstore by name.
 */
#ifndef PFS_RELATIONS_H
#define PFS_RELATIONS_H

#include "profstore.h"

#include "storage/lockdefs.h"
#include "utils/relcache.h"

/* OID of a relation of the schema. Raises UNDEFINED_TABLE. */
Oid pfs_relation_oid(const char *name);

/* Opens a table of the schema; the caller closes it. Raises UNDEFINED_TABLE. */
Relation pfs_table_open(const char *name, LOCKMODE lock);

#endif
