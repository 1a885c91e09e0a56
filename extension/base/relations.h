/*
 * relations.h
 *		Finding, locking and opening relations.
 */
#ifndef PFS_RELATIONS_H
#define PFS_RELATIONS_H

#include "profstore.h"

#include "storage/lockdefs.h"
#include "utils/relcache.h"

/* The OID of a relation of the extension's schema. Raises UNDEFINED_TABLE where it is not there. */
Oid pfs_relation_oid(const char *name);

/* InvalidOid where it is not there, as in an older version of the extension. */
Oid pfs_relation_find(const char *name);

/* Opens a table of the extension's schema, which the caller closes. Raises UNDEFINED_TABLE. */
Relation pfs_table_open(const char *name, LOCKMODE lock);

/*
 * Locks a relation until the transaction ends, or returns false at once, with a NOTICE that what is
 * skipped. what is NULL where that is the table itself; nothing is said then of one that has gone.
 */
bool pfs_lock_or_skip(Oid relation_id, LOCKMODE lock, const char *what);

/* The same, and opens it; NULL where it has gone, too. Closing it leaves the lock. */
Relation pfs_open_or_skip(Oid relation_id, LOCKMODE lock);

/* The NOTICE, LOCK_NOT_AVAILABLE, that what is skipped, and why. */
void pfs_tell_skipped(const char *what, const char *why);

#endif
