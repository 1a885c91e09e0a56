/*
 * storage.c
 *		Writes and reads the metapage, the only page of a table's main fork.
 */
#include "store/segment/storage.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "access/xlogutils.h"
#include "catalog/storage.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/attempt.h"
#include "base/relations.h"
#include "store/segment/value.h"

typedef struct PfsMetapage
{
	uint32 magic;
	uint32 version;
	int64 storage_id;
	uint32 missing_count;
	uint32 unused;
	PfsMissingValue missing[FLEXIBLE_ARRAY_MEMBER];
} PfsMetapage;

StaticAssertDecl(sizeof(PfsMetapage) == 24, "the metapage's layout is fixed");
StaticAssertDecl(sizeof(PfsMissingValue) == 16, "the metapage's layout is fixed");

#define METAPAGE_BYTES	   (BLCKSZ - SizeOfPageHeaderData)
#define MAX_MISSING_VALUES ((METAPAGE_BYTES - sizeof(PfsMetapage)) / sizeof(PfsMissingValue))

/*
 * Draws a new storage id. During pg_upgrade the id does not matter, because the old cluster's file
 * replaces this one, and the sequence may not exist yet.
 */
static int64
next_storage_id(void)
{
	if (IsBinaryUpgrade)
		return 0;
	return nextval_internal(pfs_relation_oid("storage_ids"), false);
}

/*
 * Fills in and logs the page of an exclusively locked buffer. At wal_level minimal, a file created
 * by this transaction needs no WAL: it is synced at commit.
 */
static void
write_metapage(Buffer buffer, int64 storage_id, const PfsMissingValue *missing,
			   uint32 missing_count)
{
	Page page = BufferGetPage(buffer);
	PfsMetapage *meta;

	/*
	 * The page must not stay in shared buffers without its WAL record, so an error from here on is
	 * a PANIC.
	 */
	START_CRIT_SECTION();
	PageInit(page, BLCKSZ, 0);
	meta = (PfsMetapage *) PageGetContents(page);
	meta->magic = PFS_STORAGE_MAGIC;
	meta->version = PFS_STORAGE_VERSION;
	meta->storage_id = storage_id;
	meta->missing_count = missing_count;
	if (missing_count > 0)
		memcpy(meta->missing, missing, sizeof(PfsMissingValue) * missing_count);
	/* A standard page: log_newpage_buffer() leaves out the hole after pd_lower. */
	((PageHeader) page)->pd_lower =
		(LocationIndex) ((char *) &meta->missing[missing_count] - (char *) page);
	MarkBufferDirty(buffer);
	if (XLogIsNeeded())
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
}

void
pfs_storage_create(const RelFileLocator *locator, char persistence)
{
	int64 storage_id = next_storage_id();
	Relation relation;
	Buffer buffer;

	pfs_create_storage(*locator, persistence);

	/* the relation's cache entry still names the old file, or no file */
	relation = CreateFakeRelcacheEntry(*locator);
	/* The file is new, so P_NEW is block 0, the metapage. */
	buffer = ReadBufferExtended(relation, MAIN_FORKNUM, P_NEW, RBM_ZERO_AND_LOCK, NULL);
	write_metapage(buffer, storage_id, NULL, 0);
	UnlockReleaseBuffer(buffer);
	FreeFakeRelcacheEntry(relation);
}

void
pfs_storage_take_over(Relation old_table, Relation new_table)
{
	TupleDesc desc = RelationGetDescr(old_table);
	PfsMissingValue missing[MAX_MISSING_VALUES] = { 0 };
	uint32 count = 0;
	Buffer buffer;

	for (AttrNumber attnum = 1; attnum <= desc->natts; attnum++)
	{
		int64 value;

		/*
		 * A rewrite clears attmissingval in the catalog, but the segments that are taken over still
		 * lack these columns.
		 */
		if (TupleDescAttr(desc, attnum - 1)->attisdropped ||
			!pfs_storage_missing_value(old_table, attnum, &value))
			continue;
		if (count == MAX_MISSING_VALUES)
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
							errmsg("table \"%s\" has more than %zu columns added with a default",
								   RelationGetRelationName(old_table), MAX_MISSING_VALUES),
							errhint("Rewrite it by ALTER TABLE SET ACCESS METHOD heap and back.")));
		missing[count].attnum = attnum;
		missing[count].value = value;
		count++;
	}

	buffer = ReadBuffer(new_table, 0);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	/* The new file gets the old id, so the directory rows of the old file belong to it. */
	write_metapage(buffer, pfs_storage_id(old_table), missing, count);
	UnlockReleaseBuffer(buffer);
}

void
pfs_storage_renew(Relation relation)
{
	int64 storage_id = next_storage_id();
	Buffer buffer = ReadBuffer(relation, 0);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	write_metapage(buffer, storage_id, NULL, 0);
	UnlockReleaseBuffer(buffer);
	/* drop the cached entry, which holds the old id */
	if (relation->rd_amcache != NULL)
		pfree(relation->rd_amcache);
	relation->rd_amcache = NULL;
}

/*
 * Returns a copy of the page's contents in the current context; all zeros if the page does not
 * exist.
 */
static PfsMetapage *
read_metapage(Relation relation)
{
	PfsMetapage *meta = palloc0(METAPAGE_BYTES);
	Buffer buffer;

	/* A file without blocks is a damaged one: zeros fail the check of the magic number. */
	if (RelationGetNumberOfBlocks(relation) > 0)
	{
		buffer = ReadBuffer(relation, 0);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		memcpy(meta, PageGetContents(BufferGetPage(buffer)), METAPAGE_BYTES);
		UnlockReleaseBuffer(buffer);
	}
	return meta;
}

static bool
is_readable(const PfsMetapage *meta)
{
	/* The count is checked before missing[] is read. */
	return meta->magic == PFS_STORAGE_MAGIC && meta->version == PFS_STORAGE_VERSION &&
		   meta->missing_count <= MAX_MISSING_VALUES;
}

typedef struct IdRead
{
	Relation relation;
	int64 storage_id; /* 0: the page could not be read */
} IdRead;

static void
metapage_read_id(void *arg)
{
	IdRead *read = arg;
	PfsMetapage *meta = read_metapage(read->relation);

	if (is_readable(meta))
		read->storage_id = meta->storage_id;
	pfree(meta);
}

/*
 * RBM_ZERO_ON_ERROR would save the subtransaction, but it leaves a page of zeros in shared buffers,
 * which later readers would see instead of the error.
 */
int64
pfs_storage_id_if_readable(Relation relation)
{
	IdRead read = { relation, 0 };
	int64 storage_id;

	/*
	 * The read may raise an error for a bad checksum, which must not keep DROP TABLE from working.
	 */
	if (smgrexists(pfs_relation_smgr(relation), MAIN_FORKNUM))
		(void) pfs_attempt(metapage_read_id, &read, "a table's metapage was not read");
	storage_id = read.storage_id;
	if (storage_id == 0)
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the metapage of table \"%s\" is damaged",
						RelationGetRelationName(relation)),
				 errdetail("The table's rows in profstore.segments cannot be found and stay "
						   "behind.")));
	return storage_id;
}

static void
metapage_check(Relation relation, const PfsMetapage *meta)
{
	if (meta->magic == PFS_STORAGE_MAGIC && meta->version > PFS_STORAGE_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has storage format %u, this module reads format %u",
						RelationGetRelationName(relation), meta->version, PFS_STORAGE_VERSION),
				 errhint(
					 "Install the version of profstore that wrote the table, or a later one.")));
	if (!is_readable(meta))
		ereport(
			ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("the metapage of table \"%s\" is damaged", RelationGetRelationName(relation)),
			 errdetail("Expected magic %08X in block 0, found %08X, format %u, %u missing values.",
					   PFS_STORAGE_MAGIC, meta->magic, meta->version, meta->missing_count),
			 errhint("Restore the table's file from a backup.")));
}

PfsStorageCache *
pfs_storage_cache(Relation relation)
{
	PfsStorageCache *cache = relation->rd_amcache;
	PfsMetapage *meta;
	Size missing_bytes;

	/*
	 * A rewrite or TRUNCATE gives the table another file, with another metapage, while the relcache
	 * entry may stay.
	 */
	if (cache != NULL && cache->file == relation->rd_locator.relNumber)
		return cache;

	meta = read_metapage(relation);
	metapage_check(relation, meta);
	missing_bytes = sizeof(PfsMissingValue) * meta->missing_count;
	/*
	 * rd_amcache is freed with pfree() when the relcache entry is rebuilt, so it must be one chunk.
	 */
	cache = MemoryContextAllocZero(CacheMemoryContext, sizeof(PfsStorageCache) + missing_bytes);
	cache->file = relation->rd_locator.relNumber;
	cache->storage_id = meta->storage_id;
	cache->missing_count = meta->missing_count;
	memcpy(cache->missing, meta->missing, missing_bytes);
	pfree(meta);

	if (relation->rd_amcache != NULL)
		pfree(relation->rd_amcache);
	relation->rd_amcache = cache;
	return cache;
}

int64
pfs_storage_id(Relation relation)
{
	return pfs_storage_cache(relation)->storage_id;
}

bool
pfs_desc_missing_value(TupleDesc desc, AttrNumber attnum, int64 *value)
{
	bool is_null;
	Datum missing = getmissingattr(desc, attnum, &is_null);

	if (!is_null)
		*value =
			pfs_value_of_datum(pfs_value_kind(TupleDescAttr(desc, attnum - 1)->atttypid), missing);
	return !is_null;
}

bool
pfs_storage_missing_value(Relation relation, AttrNumber attnum, int64 *value)
{
	const PfsStorageCache *cache;

	if (pfs_desc_missing_value(RelationGetDescr(relation), attnum, value))
		return true;
	/* The catalog has no default: a rewrite may have moved it to the metapage. */
	cache = pfs_storage_cache(relation);
	for (uint32 i = 0; i < cache->missing_count; i++)
		if (cache->missing[i].attnum == attnum)
		{
			*value = cache->missing[i].value;
			return true;
		}
	return false;
}
