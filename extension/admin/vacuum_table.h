/*
 * vacuum_table.h
 *		VACUUM by a background worker.
 */
#ifndef PFS_VACUUM_TABLE_H
#define PFS_VACUUM_TABLE_H

#include "profstore.h"

/*
 * Vacuums a table and its TOAST relation in transactions of its own; the caller must be in no
 * transaction. A locked table is skipped. Makes the space that compaction has freed reusable at
 * once, whether or not autovacuum is on.
 */
void pfs_vacuum_table(Oid table_id);

#endif
