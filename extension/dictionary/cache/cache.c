/*
 * cache.c
 *		Lifecycle of the dictionary's caches: when they are dropped, and which roles may read
 *		them.
 */
#include "profstore.h"

#include <limits.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/distributed.h"
#include "base/privileges.h"
#include "base/relations.h"
#include "dictionary/cache/cache.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/cache/name_rows.h"

static int cache_size_mb = 256;

static PfsCachePart *parts;
static MemoryContext cache_context;
static Oid cached_for; /* OID of profstore.epoch when the caches were filled */
static PfsEpoch cached_epoch;

MemoryContext
pfs_cache_context(void)
{
	if (cache_context == NULL)
		cache_context =
			AllocSetContextCreate(TopMemoryContext, "profstore dictionary", ALLOCSET_DEFAULT_SIZES);
	return cache_context;
}

const PfsEpoch *
pfs_cache_epoch(void)
{
	return &cached_epoch;
}

Oid
pfs_cache_made_for(void)
{
	return cached_for;
}

Size
pfs_cache_bytes(void)
{
	return (Size) cache_size_mb * 1024 * 1024;
}

void
pfs_cache_register(PfsCachePart *part)
{
	PfsCachePart **end = &parts;

	/* Parts are called in the order in which they have registered. */
	while (*end != NULL)
		end = &(*end)->next;
	*end = part;
}

static void
begin_parts(bool names_changed)
{
	for (const PfsCachePart *part = parts; part != NULL; part = part->next)
		if (part->begin != NULL)
			part->begin(names_changed);
}

static void
forget_parts(void)
{
	for (const PfsCachePart *part = parts; part != NULL; part = part->next)
		part->forget();
	if (cache_context != NULL)
		/* After the parts have dropped their pointers into it. */
		MemoryContextReset(cache_context);
}

static void
commit_parts(void)
{
	/* The transaction's own epoch is everybody's from here on. */
	cached_epoch.own = false;
	pfs_epoch_unpin();
	for (const PfsCachePart *part = parts; part != NULL; part = part->next)
		if (part->commit != NULL)
			part->commit();
}

/*
 * Drops the rows that a (sub)transaction may have cached. An epoch that is rolled back is used
 * again, with other content, by the next transaction that increments it, so rows cached under it
 * must not survive.
 */
static void
abort_parts(void)
{
	if (cached_epoch.own)
		/* The next call finds another OID than this one, and forgets all. */
		cached_for = InvalidOid;
	cached_epoch.own = false;
	pfs_epoch_unpin();
	for (const PfsCachePart *part = parts; part != NULL; part = part->next)
		if (part->abort != NULL)
			part->abort();
}

void
pfs_dictionary_require_local(void)
{
	static const char *const names[] = { "epoch",		   "dictionary_partitions", "stack_chunks",
										 "series",		   "profile_types",			"mappings",
										 "location_rows",  "location_chunks",		"function_rows",
										 "function_chunks" };

	pfs_require_local_tables(names, lengthof(names), "read names of");
}

void
pfs_dictionary_begin_unchecked(void)
{
	Oid epoch_oid = pfs_relation_oid("epoch");
	PfsEpoch epoch = pfs_epoch_read(GetActiveSnapshot());

	/* Ids of another epoch, or of an extension created again, may mean other rows. */
	if (epoch_oid != cached_for || epoch.ids != cached_epoch.ids ||
		epoch.removals != cached_epoch.removals)
		forget_parts();
	/* If only names have changed, trees stay. */
	begin_parts(epoch.names != cached_epoch.names);
	cached_for = epoch_oid;
	cached_epoch = epoch;
}

/* Tables and views of the dictionary that grant_read() grants to roles that read all series. */
static const char *const granted[] = { "stack_chunks", "locations", "functions", "mappings" };

void
pfs_dictionary_require_whole(void)
{
	for (uint32 i = 0; i < lengthof(granted); i++)
		pfs_require_all_rows(pfs_relation_oid(granted[i]), ACL_SELECT);
}

void
pfs_dictionary_begin(void)
{
	/*
	 * the caches are read without the executor, so check here the privileges that the executor
	 * would check
	 */
	for (uint32 i = 0; i < lengthof(granted); i++)
		pfs_require_rows_of_series(pfs_relation_oid(granted[i]));
	pfs_dictionary_require_local();
	pfs_refuse_row_security(pfs_relation_oid(pfs_young_table(&pfs_location_names)));
	pfs_refuse_row_security(pfs_relation_oid(pfs_young_table(&pfs_function_names)));
	pfs_dictionary_begin_unchecked();
}

bool
pfs_dictionary_version(PfsDictionaryVersion *version)
{
	*version = (PfsDictionaryVersion){ .ids = cached_epoch.ids,
									   .names = cached_epoch.names,
									   .removals = cached_epoch.removals };
	return OidIsValid(cached_for) && !cached_epoch.own;
}

/*
 * Passes the end of a transaction to the caches. PREPARE counts as an abort, because any session
 * may end the transaction later.
 */
static void
cache_end_transaction(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
			commit_parts();
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
		/*
		 * a prepared transaction may be committed later by any session, so its rows must be read
		 * again then
		 */
		case XACT_EVENT_PREPARE:
			abort_parts();
			break;
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			break;
	}
}

static void
cache_end_subtransaction(SubXactEvent event, SubTransactionId subid, SubTransactionId parent_subid,
						 void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		abort_parts();
}

void
pfs_cache_init(void)
{
	DefineCustomIntVariable(
		"profstore.dictionary_cache_size",
		"Sets how much of the stack dictionary a session keeps in memory.",
		"Above this size, the least recently used partitions are freed, and read again when they are needed.",
		&cache_size_mb, 256, 16, INT_MAX, PGC_USERSET, GUC_UNIT_MB, NULL, NULL, NULL);
	RegisterXactCallback(cache_end_transaction, NULL);
	RegisterSubXactCallback(cache_end_subtransaction, NULL);
}
