/*
 * compat.h
 *		All differences of PostgreSQL 14 to 18: no other file looks at PG_VERSION_NUM.
 */
#ifndef PFS_COMPAT_H
#define PFS_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM < 140000 || PG_VERSION_NUM >= 190000
#error "profstore supports PostgreSQL 14 to 18"
#endif

#if PG_VERSION_NUM < 160000
#define RelFileLocator				 RelFileNode
#define rd_locator					 rd_node
#define relNumber					 relNode
#define RelFileNumber				 Oid
#define relation_set_new_filelocator relation_set_new_filenode
#define PFS_UPDATE_INDEXES			 bool
#else
#define PFS_UPDATE_INDEXES TU_UpdateIndexes
#include "varatt.h"
#endif

#if PG_VERSION_NUM < 160000
#define pfs_relation_ownercheck(relation_id) pg_class_ownercheck(relation_id, GetUserId())
#else
#define pfs_relation_ownercheck(relation_id) \
	object_ownercheck(RelationRelationId, relation_id, GetUserId())
#endif

/* The local number of the current transaction. */
#if PG_VERSION_NUM < 170000
#define pfs_local_transaction() (MyProc->lxid)
#else
#define pfs_local_transaction() (MyProc->vxid.lxid)
#endif

/* True if this process holds exactly that lock. */
#if PG_VERSION_NUM < 170000
#define pfs_lock_held_by_me(tag, mode) LockHeldByMe(tag, mode)
#else
#define pfs_lock_held_by_me(tag, mode) LockHeldByMe(tag, mode, false)
#endif

#if PG_VERSION_NUM < 160000
#define pfs_proc_executable(function_id) pg_proc_aclcheck(function_id, GetUserId(), ACL_EXECUTE)
#else
#define pfs_proc_executable(function_id) \
	object_aclcheck(ProcedureRelationId, function_id, GetUserId(), ACL_EXECUTE)
#endif

/*
 * Before 15, publications have no schemas: a catalog without an OID, which no object is of, stands
 * for theirs.
 */
#if PG_VERSION_NUM >= 150000
#include "catalog/pg_publication_namespace.h"
#else
typedef struct FormData_pg_publication_namespace
{
	Oid pnnspid;
} * Form_pg_publication_namespace;

#define PublicationNamespaceRelationId		  InvalidOid
#define Anum_pg_publication_namespace_oid	  InvalidAttrNumber
#define Anum_pg_publication_namespace_pnpubid InvalidAttrNumber
#define GetSchemaPublications(schema)		  NIL
#endif

/* Returns the memory limit of hashing, from work_mem and hash_mem_multiplier. */
#if PG_VERSION_NUM >= 150000
#define pfs_hash_memory_bytes() get_hash_memory_limit()
#else
#define pfs_hash_memory_bytes() ((Size) get_hash_mem() * 1024)
#endif

/* Fields in the head of a numeric that is part of a serialised transition state. */
#if PG_VERSION_NUM >= 150000
#define PFS_SEND_NUMERIC_FIELD(buffer, field) pq_sendint32(buffer, (uint32) (field))
#else
#define PFS_SEND_NUMERIC_FIELD(buffer, field) pq_sendint16(buffer, (uint16) (field))
#endif

/*
 * Before 15, libraries request shared memory while they are loaded. Sets previous to the earlier
 * hook; if it is not NULL, request must call it first.
 */
#if PG_VERSION_NUM >= 150000
#define pfs_when_shared_memory_is_requested(request, previous) \
	((previous) = shmem_request_hook, shmem_request_hook = (request))
#else
typedef void (*shmem_request_hook_type)(void);
#define pfs_when_shared_memory_is_requested(request, previous) ((previous) = NULL, (request) ())
#endif

/* Early minor releases of 14 have no RelationGetSmgr(). */
#if PG_VERSION_NUM >= 150000
#define pfs_relation_smgr(relation) RelationGetSmgr(relation)
#else
#include "storage/smgr.h"
#include "utils/rel.h"

static inline SMgrRelation
pfs_relation_smgr(Relation relation)
{
	RelationOpenSmgr(relation);
	return relation->rd_smgr;
}
#endif

/*
 * Before 14.3, SPI_commit() leaves the session without a transaction. In later releases
 * SPI_start_transaction() does nothing.
 */
#if PG_VERSION_NUM >= 150000
#define pfs_spi_commit() SPI_commit()
#else
#define pfs_spi_commit() (SPI_commit(), SPI_start_transaction())
#endif

/* Before 15, all blocks of a generation context have one size. */
#if PG_VERSION_NUM >= 150000
#define pfs_generation_context(parent, name) \
	GenerationContextCreate(parent, name, ALLOCSET_DEFAULT_SIZES)
#else
#define pfs_generation_context(parent, name) \
	GenerationContextCreate(parent, name, SLAB_DEFAULT_BLOCK_SIZE)
#endif

/* Before 15, custom nodes were always asked to project. */
#if PG_VERSION_NUM < 150000
#define CUSTOMPATH_SUPPORT_PROJECTION 0
#endif

#if PG_VERSION_NUM < 150000
#include "utils/int8.h"
#define strtoi64(text, end, base) ((int64) strtoll(text, end, base))
#define strtou64(text, end, base) ((uint64) strtoull(text, end, base))

static inline int64
pg_strtoint64(const char *text)
{
	int64 number;

	(void) scanint8(text, false, &number);
	return number;
}
#endif

#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

#if PG_VERSION_NUM < 160000
#define pfs_local_backend(number) pgstat_fetch_stat_local_beentry(number)
#else
#define pfs_local_backend(number) pgstat_get_local_beentry_by_index(number)
#endif

#if PG_VERSION_NUM < 180000
#define pg_noreturn __attribute__((noreturn))
#endif

#if PG_VERSION_NUM < 150000
#define pfs_create_storage(locator, persistence) RelationCreateStorage(locator, persistence)
#else
#define pfs_create_storage(locator, persistence) RelationCreateStorage(locator, persistence, true)
#endif

/* Before 18, the caller that runs a query states whether it will run the query again. */
#if PG_VERSION_NUM < 180000
#define PFS_EXECUTE_ONCE_PARAMETER , bool execute_once
#define PFS_EXECUTE_ONCE		   , execute_once
#else
#define PFS_EXECUTE_ONCE_PARAMETER
#define PFS_EXECUTE_ONCE
#endif

#if PG_VERSION_NUM < 160000
#include "utils/queryjumble.h"
#else
#include "nodes/queryjumble.h"
#endif

/* Entries of a new row, stored already, in all indexes of its table. */
#if PG_VERSION_NUM < 160000
#define pfs_insert_index_entries(indexes, slot, estate) \
	ExecInsertIndexTuples(indexes, slot, estate, false, false, NULL, NIL)
#else
#define pfs_insert_index_entries(indexes, slot, estate) \
	ExecInsertIndexTuples(indexes, slot, estate, false, false, NULL, NIL, false)
#endif

/* A file for a table to be written anew, locked in access exclusive mode. */
#if PG_VERSION_NUM >= 150000
#define pfs_make_new_heap(table, persistence)                                                      \
	make_new_heap(RelationGetRelid(table), (table)->rd_rel->reltablespace, (table)->rd_rel->relam, \
				  persistence, AccessExclusiveLock)
#else
#define pfs_make_new_heap(table, persistence)                                           \
	make_new_heap(RelationGetRelid(table), (table)->rd_rel->reltablespace, persistence, \
				  AccessExclusiveLock)
#endif

/* The index of a primary key that is not deferrable. */
#if PG_VERSION_NUM < 180000
#define pfs_primary_key_index(table) RelationGetPrimaryKeyIndex(table)
#else
#define pfs_primary_key_index(table) RelationGetPrimaryKeyIndex(table, false)
#endif

/* How a parallel scan's shared state names its table. */
#if PG_VERSION_NUM < 180000
#define pfs_set_scanned_table(parallel, table) ((parallel)->phs_relid = RelationGetRelid(table))
#else
#define pfs_set_scanned_table(parallel, table) ((parallel)->phs_locator = (table)->rd_locator)
#endif

/* Relation statistics after VACUUM, of a table without a visibility map and without indexes. */
#if PG_VERSION_NUM < 150000
#define pfs_update_relstats(rel, pages, rows, frozen_xid, min_multi) \
	vac_update_relstats(rel, pages, rows, 0, false, frozen_xid, min_multi, false)
#elif PG_VERSION_NUM < 180000
#define pfs_update_relstats(rel, pages, rows, frozen_xid, min_multi) \
	vac_update_relstats(rel, pages, rows, 0, false, frozen_xid, min_multi, NULL, NULL, false)
#else
#define pfs_update_relstats(rel, pages, rows, frozen_xid, min_multi) \
	vac_update_relstats(rel, pages, rows, 0, 0, false, frozen_xid, min_multi, NULL, NULL, false)
#endif

/* Before 16, vacuum() makes a context of its own below PortalContext. */
#if PG_VERSION_NUM < 160000
#define pfs_vacuum(tables, params, buffers, context) vacuum(tables, params, buffers, true)
#define PFS_VACUUM_OPTIONS							 (VACOPT_VACUUM | VACOPT_SKIP_LOCKED | VACOPT_PROCESS_TOAST)
#else
#define pfs_vacuum(tables, params, buffers, context) vacuum(tables, params, buffers, context, true)
#define PFS_VACUUM_OPTIONS                                                             \
	(VACOPT_VACUUM | VACOPT_SKIP_LOCKED | VACOPT_PROCESS_MAIN | VACOPT_PROCESS_TOAST | \
	 VACOPT_SKIP_DATABASE_STATS)
#endif

#if PG_VERSION_NUM < 180000
#define pfs_report_vacuum(relid, shared, rows, start_time) \
	pgstat_report_vacuum(relid, shared, rows, 0)
#else
#define pfs_report_vacuum(relid, shared, rows, start_time) \
	pgstat_report_vacuum(relid, shared, rows, 0, start_time)
#endif

/*
 * ANALYZE names physical blocks, from 17 on through a read stream that the access method must
 * drain.
 */
#if PG_VERSION_NUM < 170000
#define PFS_ANALYZE_BLOCK_PARAMS BlockNumber block, BufferAccessStrategy strategy
#define PFS_ANALYZE_TAKE_BLOCK() true
#else
#include "storage/bufmgr.h"
#include "storage/read_stream.h"
#define PFS_ANALYZE_BLOCK_PARAMS ReadStream *stream
#define PFS_ANALYZE_TAKE_BLOCK() pfs_read_stream_skip(stream)

static inline bool
pfs_read_stream_skip(ReadStream *stream)
{
	Buffer buffer = read_stream_next_buffer(stream, NULL);

	if (!BufferIsValid(buffer))
		return false;
	ReleaseBuffer(buffer);
	return true;
}
#endif

#if PG_VERSION_NUM >= 150000
#include "access/xlogrecovery.h"
#else
#include "access/xlog.h"
#define GetWALInsertionTimeLine()	  ThisTimeLineID
#define MarkGUCPrefixReserved(prefix) EmitWarningsOnPlaceholders(prefix)
#endif

/* The fourth argument of PostgreSQL 15 keeps the buffer of an invisible row. */
#if PG_VERSION_NUM >= 150000
#define pfs_heap_fetch(table, snapshot, tuple, buffer) \
	heap_fetch(table, snapshot, tuple, buffer, false)
#else
#define pfs_heap_fetch(table, snapshot, tuple, buffer) heap_fetch(table, snapshot, tuple, buffer)
#endif

#if PG_VERSION_NUM >= 170000
#define pfs_reindex_index(index_id, params) \
	reindex_index(NULL, index_id, false, RELPERSISTENCE_PERMANENT, params)
#else
#define pfs_reindex_index(index_id, params) \
	reindex_index(index_id, false, RELPERSISTENCE_PERMANENT, params)
#endif

/* The fourth argument of PostgreSQL 18 gathers counters for EXPLAIN. */
#if PG_VERSION_NUM >= 180000
#define pfs_index_beginscan(table, index, snapshot, key_count) \
	index_beginscan(table, index, snapshot, NULL, key_count, 0)
#else
#define pfs_index_beginscan(table, index, snapshot, key_count) \
	index_beginscan(table, index, snapshot, key_count, 0)
#endif

#endif
