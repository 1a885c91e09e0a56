/*
 * epoch.c
 *		Reads and pins the epoch.
 *
 * Pinning takes the lock first and reads the row afterwards. If a new epoch has been committed
 * before the lock, the reader sees the new epoch, and releases its lock. If the reader still sees
 * the old epoch, whoever increments it later finds the reader's lock. The latest committed row is
 * read, whatever snapshot the transaction uses, so this holds under every isolation level.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/relations.h"
#include "dictionary/cache/epoch.h"

PG_FUNCTION_INFO_V1(profstore_epoch);
PG_FUNCTION_INFO_V1(profstore_pin_epoch);

/* Columns of profstore.epoch. */
#define EPOCH_IDS	   2
#define EPOCH_NAMES	   3
#define EPOCH_REMOVALS 4

/*
 * The epoch that this transaction has pinned. It is kept so that the next pin need not lock and
 * read again.
 */
static bool is_pinned;
static int64 pinned_ids;

PfsEpoch
pfs_epoch_read(Snapshot snapshot)
{
	Relation table = pfs_table_open("epoch", AccessShareLock);
	TupleDesc descriptor = RelationGetDescr(table);
	SysScanDesc scan = systable_beginscan(table, InvalidOid, false, snapshot, 0, NULL);
	HeapTuple tuple = systable_getnext(scan);
	PfsEpoch epoch;
	bool is_null;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED), errmsg("table \"profstore.epoch\" is empty"),
				 errhint("Run INSERT INTO profstore.epoch DEFAULT VALUES.")));
	epoch.ids = DatumGetInt64(heap_getattr(tuple, EPOCH_IDS, descriptor, &is_null));
	epoch.names = DatumGetInt64(heap_getattr(tuple, EPOCH_NAMES, descriptor, &is_null));
	epoch.removals = DatumGetInt64(heap_getattr(tuple, EPOCH_REMOVALS, descriptor, &is_null));
	/* This transaction has incremented the epoch, and may still roll back. */
	epoch.own = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	systable_endscan(scan);
	table_close(table, NoLock);
	return epoch;
}

bool
pfs_epoch_lock_or_skip(void)
{
	Relation table = pfs_table_open("epoch", RowShareLock);
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	TableScanDesc scan = table_beginscan(table, snapshot, 0, NULL);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	TM_FailureData failure;
	ItemPointerData tid;
	bool is_locked = false;

	if (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		tid = slot->tts_tid;
		is_locked = table_tuple_lock(table, &tid, snapshot, slot, GetCurrentCommandId(true),
									 /*
									  * LockWaitSkip: upkeep must not wait for a writer, nor the
									  * writers behind it.
									  */
									 LockTupleNoKeyExclusive, LockWaitSkip, 0, &failure) == TM_Ok;
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(table, NoLock);
	return is_locked;
}

static int64
latest_ids(void)
{
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	int64 ids = pfs_epoch_read(snapshot).ids;

	UnregisterSnapshot(snapshot);
	return ids;
}

/* Pins an epoch; returns false if it is not the current one. */
static bool
epoch_pin(int64 ids)
{
	Oid table = pfs_relation_oid("epoch");

	/* A pin lasts until the transaction ends. */
	if (is_pinned && pinned_ids == ids)
		return true;
	/*
	 * The lock's object is the epoch itself, so that incrementing it can look for pins of one
	 * epoch.
	 */
	LockDatabaseObject(table, (Oid) ids, 0, RowShareLock);
	if (latest_ids() != ids)
	{
		UnlockDatabaseObject(table, (Oid) ids, 0, RowShareLock);
		return false;
	}
	is_pinned = true;
	pinned_ids = ids;
	return true;
}

void
pfs_epoch_pin(void)
{
	if (!epoch_pin(pfs_epoch_read(GetActiveSnapshot()).ids))
		ereport(ERROR,
				(errcode(IsolationUsesXactSnapshot() ? ERRCODE_T_R_SERIALIZATION_FAILURE
													 : ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a new epoch of the dictionary has begun"),
				 errdetail("The transaction's snapshot is older, so it does not show which "
						   "ids will be removed."),
				 errhint("Discard all cached ids and repeat the transaction.")));
}

void
pfs_epoch_unpin(void)
{
	is_pinned = false;
}

/*
 * Adds the timeline to an epoch. A promoted standby may lack the last commits of its primary and
 * would use their ids again, so writers must discard the ids they know.
 */
static int64
with_timeline(int64 ids)
{
	TimeLineID timeline;

	if (RecoveryInProgress())
		GetXLogReplayRecPtr(&timeline);
	else
		timeline = GetWALInsertionTimeLine();
	/* 16 bits are enough: two servers of one history rarely differ by 65,536 timelines. */
	return ids * 65536 + timeline % 65536;
}

/* epoch(): returns the stored epoch, with the timeline in its low bits */
PGDLLEXPORT Datum
profstore_epoch(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(with_timeline(pfs_epoch_read(GetActiveSnapshot()).ids));
}

/* pin_epoch(epoch): ids of that epoch stay valid until the transaction ends */
PGDLLEXPORT Datum
profstore_pin_epoch(PG_FUNCTION_ARGS)
{
	int64 epoch = PG_GETARG_INT64(0);
	int64 ids = epoch >> 16;

	/* The first test finds a promotion, the second a newer epoch. */
	if (with_timeline(ids) != epoch || !epoch_pin(ids))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("dictionary epoch " INT64_FORMAT " has expired", epoch),
						errdetail("The current epoch is " INT64_FORMAT
								  ". Ids that were interned earlier may have "
								  "been removed.",
								  with_timeline(latest_ids())),
						errhint("Discard all cached ids, intern again, and repeat the batch.")));
	PG_RETURN_VOID();
}
