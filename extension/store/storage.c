/*
 * storage.c
 *		Making and reading the metapage.
 */
#include "store/storage.h"

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "access/xlogutils.h"
#include "catalog/namespace.h"
#include "catalog/storage.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

typedef struct PfsMetapage
{
	uint32 magic;
	uint32 version;
	int64 storage_id;
} PfsMetapage;

StaticAssertDecl(sizeof(PfsMetapage) == 16, "the metapage's layout is fixed");

Oid
pfs_extension_relation(const char *name, bool missing_ok)
{
	Oid schema = get_namespace_oid("profstore", true);
	Oid relation_id = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;

	if (!OidIsValid(relation_id) && !missing_ok)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation \"profstore.%s\" does not exist", name),
						errhint("Create the extension profstore in this database.")));
	return relation_id;
}

/*
 * Under pg_upgrade the id does not matter, as the old cluster's file replaces this one; the sequence may not
 * exist yet there.
 */
static int64
next_storage_id(void)
{
	if (IsBinaryUpgrade)
		return 0;
	return nextval_internal(pfs_extension_relation("storage_ids", false), false);
}

/* Fills in and logs the page of an exclusively locked buffer. A file made by this transaction needs no WAL
 * at wal_level minimal: it is synced at commit. */
static void
write_metapage(Buffer buffer, int64 storage_id)
{
	Page page = BufferGetPage(buffer);
	PfsMetapage *meta;

	START_CRIT_SECTION();
	PageInit(page, BLCKSZ, 0);
	meta = (PfsMetapage *) PageGetContents(page);
	meta->magic = PFS_STORAGE_MAGIC;
	meta->version = PFS_STORAGE_VERSION;
	meta->storage_id = storage_id;
	((PageHeader) page)->pd_lower = (LocationIndex) ((char *) (meta + 1) - (char *) page);
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

	/* the relation's own cache entry still names the old file, or none */
	relation = CreateFakeRelcacheEntry(*locator);
	buffer = ReadBufferExtended(relation, MAIN_FORKNUM, P_NEW, RBM_ZERO_AND_LOCK, NULL);
	write_metapage(buffer, storage_id);
	UnlockReleaseBuffer(buffer);
	FreeFakeRelcacheEntry(relation);
}

void
pfs_storage_set_id(Relation relation, int64 storage_id)
{
	Buffer buffer = ReadBuffer(relation, 0);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	write_metapage(buffer, storage_id);
	UnlockReleaseBuffer(buffer);
	pfs_storage_cache(relation)->storage_id = storage_id;
}

/* Fills in zeros where there is no page. */
static PfsMetapage
read_metapage(Relation relation)
{
	Buffer buffer;
	PfsMetapage meta = { 0 };

	if (RelationGetNumberOfBlocks(relation) > 0)
	{
		buffer = ReadBuffer(relation, 0);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		memcpy(&meta, PageGetContents(BufferGetPage(buffer)), sizeof(meta));
		UnlockReleaseBuffer(buffer);
	}
	return meta;
}

int64
pfs_storage_id_if_readable(Relation relation)
{
	PfsMetapage meta = { 0 };

	if (smgrexists(RelationGetSmgr(relation), MAIN_FORKNUM))
		meta = read_metapage(relation);
	if (meta.magic == PFS_STORAGE_MAGIC && meta.version == PFS_STORAGE_VERSION)
		return meta.storage_id;
	ereport(WARNING,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("the metapage of table \"%s\" is damaged", RelationGetRelationName(relation)),
			 errdetail("The table's rows in profstore.segments cannot be found and stay behind.")));
	return 0;
}

static int64
read_storage_id(Relation relation)
{
	PfsMetapage meta = read_metapage(relation);

	if (meta.magic != PFS_STORAGE_MAGIC)
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("the metapage of table \"%s\" is damaged",
							   RelationGetRelationName(relation)),
						errdetail("Expected magic %08X in block 0, found %08X.", PFS_STORAGE_MAGIC,
								  meta.magic),
						errhint("Restore the table's file from a backup.")));
	if (meta.version != PFS_STORAGE_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has storage format %u, this module reads format %u",
						RelationGetRelationName(relation), meta.version, PFS_STORAGE_VERSION),
				 errhint(
					 "Install the version of profstore that wrote the table, or a later one.")));
	return meta.storage_id;
}

PfsStorageCache *
pfs_storage_cache(Relation relation)
{
	PfsStorageCache *cache = relation->rd_amcache;
	int64 storage_id;

	if (cache != NULL && cache->file == relation->rd_locator.relNumber)
		return cache;

	storage_id = read_storage_id(relation);
	if (cache == NULL)
		cache = MemoryContextAllocZero(CacheMemoryContext, sizeof(PfsStorageCache));
	memset(cache, 0, sizeof(PfsStorageCache));
	cache->file = relation->rd_locator.relNumber;
	cache->storage_id = storage_id;
	relation->rd_amcache = cache;
	return cache;
}

int64
pfs_storage_id(Relation relation)
{
	return pfs_storage_cache(relation)->storage_id;
}
