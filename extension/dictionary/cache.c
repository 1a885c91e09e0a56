/*
 * cache.c
 *		Lifecycle of the dictionary's caches: when they are dropped, and who may look.
 */
#include "profstore.h"

#include <limits.h>

#include "access/table.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/privileges.h"
#include "base/relations.h"
#include "dictionary/cache.h"
#include "dictionary/dictionary.h"
#include "dictionary/doubts.h"
#include "dictionary/series_classes.h"
#include "dictionary/shared_trees.h"

static int cache_size_mb = 256;

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

static Size
cache_size_bytes(void)
{
	return (Size) cache_size_mb * 1024 * 1024;
}

Size
pfs_cache_tree_bytes(void)
{
	return cache_size_bytes() - Min(pfs_names_bytes(), cache_size_bytes() / 2);
}

static void
forget_all(void)
{
	pfs_trees_forget();
	pfs_names_forget();
	pfs_intern_forget();
	if (cache_context != NULL)
		MemoryContextReset(cache_context);
}

void
pfs_dictionary_begin(void)
{
	Oid epoch_oid = pfs_relation_oid("epoch");
	PfsEpoch epoch;

	/* the caches are read behind the executor's back */
	pfs_require_all_rows(pfs_relation_oid("stack_chunks"), ACL_SELECT);
	pfs_require_all_rows(pfs_relation_oid("locations"), ACL_SELECT);
	pfs_require_all_rows(pfs_relation_oid("functions"), ACL_SELECT);
	pfs_require_all_rows(pfs_relation_oid("mappings"), ACL_SELECT);

	epoch = pfs_epoch_read(GetActiveSnapshot());
	if (epoch_oid != cached_for || epoch.ids != cached_epoch.ids ||
		epoch.removals != cached_epoch.removals)
		forget_all();
	else if (epoch.names != cached_epoch.names || pfs_names_are_doubtful() ||
			 pfs_names_bytes() > cache_size_bytes() / 2)
		pfs_names_forget();
	pfs_trees_begin();
	pfs_trees_evict();
	cached_for = epoch_oid;
	cached_epoch = epoch;
}

/*
 * An epoch that is rolled back comes again with other content when the next transaction counts it up: what was
 * cached under it must not pass for that.
 */
static void
abort_epoch(void)
{
	if (cached_epoch.own)
		cached_for = InvalidOid;
	cached_epoch.own = false;
}

static void
end_transaction(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
			cached_epoch.own = false;
			pfs_epoch_unpin();
			pfs_trees_commit();
			pfs_intern_commit();
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
		case XACT_EVENT_PREPARE: /* committed or not later, by whoever: read again then */
			abort_epoch();
			pfs_epoch_unpin();
			pfs_trees_abort();
			pfs_intern_abort();
			break;
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			break;
	}
}

static void
end_subtransaction(SubXactEvent event, SubTransactionId subid, SubTransactionId parent_subid,
				   void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		abort_epoch();
		pfs_epoch_unpin();
		pfs_trees_abort();
		pfs_intern_abort();
	}
}

void
pfs_dictionary_init(void)
{
	DefineCustomIntVariable(
		"profstore.dictionary_cache_size",
		"Sets how much of the stack dictionary a session keeps in memory.",
		"Beyond it, the partitions that were not used for the longest time go, and are read again when they are needed.",
		&cache_size_mb, 256, 16, INT_MAX, PGC_USERSET, GUC_UNIT_MB, NULL, NULL, NULL);
	RegisterXactCallback(end_transaction, NULL);
	RegisterSubXactCallback(end_subtransaction, NULL);
	pfs_doubts_init();
	pfs_shared_trees_init();
	pfs_series_classes_init();
}
