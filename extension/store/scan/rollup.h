/*
 * rollup.h
 *		Roll-ups: sums by stack over many segments and all series of a class, in profstore.rollups.
 *
 * Segments have sums by (series, stack) within their bucket of time. If many buckets are read whole
 * and every series of a class is wanted, a roll-up gives the same result at the cost of its stacks
 * alone. A roll-up names the segments it was made from, the series it sums, the other series in
 * those segments, and the columns that were the table's key, because a renamed column may change
 * its role.
 *
 * A scan reads a roll-up instead of its segments if the snapshot sees every one of them, the time
 * filter keeps all of their rows, and of the series in those segments the scan wants exactly those
 * of the roll-up. It also reads a roll-up if, for each part of the stacks (a dictionary partition),
 * the scan wants all or none of the series that have stacks there; then it reads the sums of those
 * parts only. So roll-ups also serve the series of one service that has programs of its own.
 *
 * A roll-up may have pieces: sums by series and stack, each for some of the series. A scan that
 * wants a few series of a long time reads the pieces that have these.
 *
 * Whoever removes a segment (a merge, retention) deletes the roll-ups that name it in the same
 * transaction, so that they do not accumulate. No query relies on that, but verify does. Rows are
 * written under ShareUpdateExclusiveLock on the table, as by compaction.
 */
#ifndef PFS_ROLLUP_H
#define PFS_ROLLUP_H

#include "profstore.h"

#include "access/htup.h"
#include "nodes/pg_list.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "base/arrays.h"
#include "store/scan/block_filter.h"
#include "store/segment/row_order.h"

/*
 * Stacks whose ids agree from this bit on are a part: a dictionary partition. Numbers of parts and
 * series must fit in PFS_STACK_SERIES_BITS to be stored in stack_series.
 */
#define PFS_STACK_PART_BITS	  40
#define PFS_STACK_SERIES_BITS 32

typedef struct PfsRollup
{
	ItemPointerData address; /* address of the row, as it was read */
	int64 width;			 /* width of its bucket of time, in units of column time */
	int64 bucket;
	int32 class_id;
	int32 piece;	/* 0: the roll-up itself; otherwise the number of a piece of it */
	PfsRowKey key;	/* the columns by which it sums */
	int64 time_min; /* least time of the segments' rows */
	int64 time_max;
	int64 sample_count; /* rows of the segments, of all series */
	int32 stack_count;	/* 0: the roll-up has no sums, because they would not save time */
	/* the row as it was read; pfs_rollup_load() fills in the following fields from it */
	HeapTuple tuple;
	PfsNumbers segments;
	PfsNumbers series;
	PfsNumbers others;
	/*
	 * one number part << PFS_STACK_SERIES_BITS | series for each series with stacks in the part;
	 * empty if unknown
	 */
	PfsNumbers stack_series;
	/* first series of each piece; a piece has the series up to the next one's first */
	PfsNumbers pieces;
	/*
	 * header of a segment with the columns stack, row count, sums and, for pieces, series; see
	 * summary.h
	 */
	bytea *header;
	struct varlena *payload;
} PfsRollup;

/*
 * Sets the class of each of a table's series, given in ascending order; -1 for a series without a
 * class. The room dictionary/ sets this pointer, because the store knows nothing about series.
 * While it is NULL, there are no roll-ups.
 */
typedef void (*PfsClassifySeries)(Relation relation, const int64 *series, uint32 count,
								  int32 *classes);

extern PfsClassifySeries pfs_classify_series;

/*
 * Lists the roll-ups of a storage whose samples all lie within [low, high], the widest buckets
 * first. The list is of PfsRollup *, not loaded, in CurrentMemoryContext.
 */
List *pfs_rollups_list(int64 storage_id, Snapshot snapshot, int64 low, int64 high);
/* Reads the arrays and the header, unless they are loaded already. */
void pfs_rollup_load(PfsRollup *rollup);

/* Returns true if the roll-up sums by the columns that are now the table's key. */
bool pfs_rollup_fits(const PfsRollup *rollup, Relation relation);

/*
 * Returns true if a scan with these filters may read the roll-up, which fits and is loaded, instead
 * of the segments it names, provided that the snapshot sees them. parts->numbers is NULL if all
 * sums are wanted, otherwise lists the wanted parts of the stacks, in CurrentMemoryContext.
 */
bool pfs_rollup_suits(const PfsRollup *rollup, Relation relation, int filter_count,
					  const PfsBlockFilter *filters, PfsNumbers *parts);

/*
 * Call this for a roll-up that pfs_rollup_suits() has refused: returns true if the scan may read
 * pieces of it, and lists the numbers of the pieces that have wanted series, in
 * CurrentMemoryContext.
 */
bool pfs_rollup_pieces_suit(const PfsRollup *rollup, Relation relation, int filter_count,
							const PfsBlockFilter *filters, PfsNumbers *pieces);

/* Returns the series of a piece. */
PfsNumbers pfs_rollup_piece_series(const PfsRollup *rollup, int32 piece);

/*
 * Returns a piece of a roll-up, loaded, in CurrentMemoryContext; NULL if it does not exist, because
 * rows may be deleted.
 */
PfsRollup *pfs_rollup_get_piece(int64 storage_id, Snapshot snapshot, const PfsRollup *rollup,
								int32 piece);

/*
 * Keeps the addresses of roll-ups valid until the transaction ends. Call it before listing roll-ups
 * in order to delete them.
 */
void pfs_rollups_lock(void);

void pfs_rollup_insert(int64 storage_id, const PfsRollup *rollup);
/* Deletes the roll-ups of a bucket of time, of all classes, and their pieces. */
void pfs_rollups_delete_bucket(int64 storage_id, int64 width, int64 bucket);
void pfs_rollup_delete_pieces(int64 storage_id, const PfsRollup *rollup);
/* Deletes the roll-ups that name one of the segments, whose numbers ascend. */
void pfs_rollups_forget(int64 storage_id, Snapshot snapshot, PfsNumbers segments);
/*
 * Deletes all roll-ups of a storage, whichever transaction wrote them. The caller holds
 * AccessExclusiveLock on its table.
 */
void pfs_rollups_delete_all(int64 storage_id);

#endif
