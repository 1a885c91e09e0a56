/*
 * storage.h
 *		The main fork of a profstore table: one page that names the table's storage id.
 *
 *		OFFSET  SIZE  DESCRIPTION (block 0, after the page header)
 *		     0     4  magic
 *		     4     4  format version
 *		     8     8  storage id: the key of this file's rows in profstore.segments
 *		    16     4  number of missing values
 *		    20     4  0
 *		    24  16 n  missing values: value (8), attribute number (4), 0 (4)
 *
 * The page is written when the file is created, and again only by the transaction that created it.
 * Every new or emptied file (CREATE, TRUNCATE, a rewrite) draws a new id from
 * profstore.storage_ids, so a TRUNCATE that is rolled back finds its old rows again. Only VACUUM
 * FULL gives the old id to the new file, because old snapshots must still see old rows there. It
 * leaves segments as they are; core, however, treats it as a rewrite and forgets the values that
 * ADD COLUMN … DEFAULT gave to older rows, so the new page stores them.
 */
#ifndef PFS_STORAGE_H
#define PFS_STORAGE_H

#include "profstore.h"

#include "access/attnum.h"
#include "storage/smgr.h"
#include "utils/relcache.h"

#define PFS_STORAGE_MAGIC	0x50465331 /* "PFS1" in a dump of the page */
#define PFS_STORAGE_VERSION 1

/* The value of a column in all segments that lack it. */
typedef struct PfsMissingValue
{
	int64 value; /* the value as int64, see value.h */
	int32 attnum;
	int32 unused;
} PfsMissingValue;

/* Per-relation cache in rd_amcache. */
typedef struct PfsStorageCache
{
	RelFileNumber file; /* the file that the other fields describe */
	int64 storage_id;
	int64 counted_at_us; /* time at which the totals below were counted; 0: never */
	double segment_count;
	double row_count;
	double byte_count;
	uint32 missing_count;
	PfsMissingValue missing[FLEXIBLE_ARRAY_MEMBER];
} PfsStorageCache;

/* Creates the file and its page, with a new storage id. */
void pfs_storage_create(const RelFileLocator *locator, char persistence);

/*
 * Writes the id and the missing values of the old table into the new table's file, which this
 * transaction has created.
 */
void pfs_storage_take_over(Relation old_table, Relation new_table);

/*
 * Writes a new id into a file that the current subtransaction created. Rows stored under the old id
 * no longer belong to the table.
 */
void pfs_storage_renew(Relation relation);

/*
 * Returns the relation's id, which is read once per cache entry. Raises DATA_CORRUPTED if the page
 * is damaged.
 */
int64 pfs_storage_id(Relation relation);
PfsStorageCache *pfs_storage_cache(Relation relation);

/*
 * Find the value of a column in rows that were stored before the column was added. Return false if
 * it is null. pfs_desc_missing_value() looks only into the table's descriptor.
 */
bool pfs_desc_missing_value(TupleDesc desc, AttrNumber attnum, int64 *value);
bool pfs_storage_missing_value(Relation relation, AttrNumber attnum, int64 *value);

/*
 * Returns the storage id. If the page is damaged or missing, returns 0 with a WARNING, so that such
 * a table can be dropped.
 */
int64 pfs_storage_id_if_readable(Relation relation);

#endif
