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
 * The page is written when the file is made, and again only by the transaction that has made it.
 * Every new or emptied file (CREATE, TRUNCATE, a rewrite) draws a new id from
 * profstore.storage_ids, so a rolled back TRUNCATE finds its old rows again. Only VACUUM FULL hands
 * an id on to a new file, because there old snapshots must go on seeing old rows. It keeps segments
 * as they are, while core takes it for a rewrite and forgets the values that rows from before an
 * ADD COLUMN with a DEFAULT have; so the new page takes them over.
 */
#ifndef PFS_STORAGE_H
#define PFS_STORAGE_H

#include "profstore.h"

#include "access/attnum.h"
#include "storage/smgr.h"
#include "utils/relcache.h"

#define PFS_STORAGE_MAGIC	0x50465331 /* "PFS1", so that a dump of the page tells what it is */
#define PFS_STORAGE_VERSION 1

/* The value of a column in all segments that lack it. */
typedef struct PfsMissingValue
{
	int64 value; /* a value */
	int32 attnum;
	int32 unused;
} PfsMissingValue;

/* What a backend keeps with the relation's cache entry. */
typedef struct PfsStorageCache
{
	RelFileNumber file; /* the file that the rest describes */
	int64 storage_id;
	int64 counted_at_us; /* when the totals were counted, 0: never */
	double segment_count;
	double row_count;
	double byte_count;
	uint32 missing_count;
	PfsMissingValue missing[FLEXIBLE_ARRAY_MEMBER];
} PfsStorageCache;

/* Makes the file with its page under a new id. */
void pfs_storage_create(const RelFileLocator *locator, char persistence);

/* Lets a new file, made by this transaction, take over id and missing values of an old one. */
void pfs_storage_take_over(Relation old_table, Relation new_table);

/* Gives a file that the current subtransaction has made a new id, and so no rows. */
void pfs_storage_renew(Relation relation);

/* The relation's id, read once per cache entry. Raises DATA_CORRUPTED where the page is damaged. */
int64 pfs_storage_id(Relation relation);
PfsStorageCache *pfs_storage_cache(Relation relation);

/*
 * The value that rows from before the column have; false: null. The first looks into a description
 * of the table alone.
 */
bool pfs_desc_missing_value(TupleDesc desc, AttrNumber attnum, int64 *value);
bool pfs_storage_missing_value(Relation relation, AttrNumber attnum, int64 *value);

/* The id, or 0 with a WARNING where the page is damaged or gone: such a table can be dropped. */
int64 pfs_storage_id_if_readable(Relation relation);

#endif
