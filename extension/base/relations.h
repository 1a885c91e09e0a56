/*
 * relations.h
 *		Finding, locking and opening relations.
 */
#ifndef PFS_RELATIONS_H
#define PFS_RELATIONS_H

#include "profstore.h"

#include "storage/lockdefs.h"
#include "utils/relcache.h"

/*
 * Returns the OID of a relation of the extension's schema. Raises UNDEFINED_TABLE if it does not
 * exist.
 */
Oid pfs_relation_oid(const char *name);

/*
 * Like pfs_relation_oid(), but returns InvalidOid if it does not exist, as in an older version of
 * the extension.
 */
Oid pfs_relation_find(const char *name);

/* Opens a table of the extension's schema, which the caller closes. Raises UNDEFINED_TABLE. */
Relation pfs_table_open(const char *name, LOCKMODE lock);

/*
 * Locks a relation until the transaction ends. If that would have to wait, returns false with a
 * NOTICE that "what" is skipped. what is NULL for the table itself; then there is no NOTICE if the
 * table was dropped.
 */
bool pfs_lock_or_skip(Oid relation_id, LOCKMODE lock, const char *what);

/*
 * Like pfs_lock_or_skip(), and opens the relation; also returns NULL if it was dropped. Closing it
 * keeps the lock.
 */
Relation pfs_open_or_skip(Oid relation_id, LOCKMODE lock);

/* Raises a NOTICE, code LOCK_NOT_AVAILABLE, which states the skipped object and the reason. */
void pfs_report_skipped(const char *what, const char *why);

#endif
