/*
 * rollup.h
 *		Roll-ups: sums by stack over many segments and all series of a class, in profstore.rollups.
 *
 * Segments have sums by (series, stack) within their bucket of time. Where many such buckets are
 * read whole and every series of a class is wanted, a roll-up tells the same at the cost of the
 * stacks alone. It names the segments that it was made of, the series that it adds up, and the
 * other series in those segments. A scan takes it for these segments if its snapshot sees every one
 * of them, its time filter leaves all of their rows, and its series are just those of the roll-up
 * among those of the segments. Or they are all, or none, of those that have stacks in each part of
 * the stacks: then it takes the sums of some parts. So it is for the series of a service that has
 * programs of its own. Whoever takes a segment away (a merge, retention) deletes the
 * roll-ups that name it in the same transaction, so that they do not gather; no query rests on
 * that, but verify does. It names the columns that were the table's key, too: one that has been
 * renamed since may have another part.
 *
 * A roll-up may have pieces beside it, which have sums by series and stack, each of some series:
 * who wants a few series of a long time reads the pieces that have these.
 *
 * Rows are written under ShareUpdateExclusiveLock on the table, as by compaction.
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
 * Stacks whose ids agree from this bit on are a part: a dictionary partition. Parts and series that
 * are told have so many bits at most.
 */
#define PFS_STACK_PART_BITS	  40
#define PFS_STACK_SERIES_BITS 32

typedef struct PfsRollup
{
	ItemPointerData address; /* where it was read */
	int64 width;			 /* of its bucket of time */
	int64 bucket;
	int32 class_id;
	int32 piece;	/* 0: the roll-up itself; else its piece of that number */
	PfsRowKey key;	/* the columns by which it adds up */
	int64 time_min; /* of the segments' rows */
	int64 time_max;
	int64 sample_count; /* rows of the segments, of all series */
	int32 stack_count;	/* 0: there is none, since it would not pay */
	HeapTuple tuple;	/* as it was read; what follows is filled in by pfs_rollup_load */
	PfsNumbers segments;
	PfsNumbers series;
	PfsNumbers others;
	/* part of the stacks << PFS_STACK_SERIES_BITS | series that has some there; none: not told */
	PfsNumbers stack_series;
	PfsNumbers pieces; /* the first series of each; it has those up to the next one's */
	bytea *header;	   /* of columns stack, row count, sums, of pieces series, as in summary.h */
	struct varlena *payload;
} PfsRollup;

/*
 * Sets the class of each series of a table, which are ascending; -1: none. Set by the room that
 * knows series; NULL: there are no roll-ups.
 */
typedef void (*PfsClassifySeries)(Relation relation, const int64 *series, uint32 count,
								  int32 *classes);

extern PfsClassifySeries pfs_classify_series;

/*
 * The roll-ups of a storage whose samples all lie within [low, high], those of the widest buckets
 * first, in CurrentMemoryContext: PfsRollup *, not loaded.
 */
List *pfs_rollups_list(int64 storage_id, Snapshot snapshot, int64 low, int64 high);
/* Reads the arrays and the header, once. */
void pfs_rollup_load(PfsRollup *rollup);

/* Whether it adds up by the columns that are the table's key now. */
bool pfs_rollup_fits(const PfsRollup *rollup, Relation relation);

/*
 * Whether a scan that filters so may take it, which fits and is loaded, for the segments that it
 * names, if it sees them; of the sums those in some parts of the stacks, or where numbers is NULL,
 * all. In CurrentMemoryContext.
 */
bool pfs_rollup_suits(const PfsRollup *rollup, Relation relation, int filter_count,
					  const PfsBlockFilter *filters, PfsNumbers *parts);

/*
 * Whether such a scan, which the sums by stack do not suit, may take pieces; lists the numbers of
 * those that have series that it wants. In CurrentMemoryContext.
 */
bool pfs_rollup_pieces_suit(const PfsRollup *rollup, Relation relation, int filter_count,
							const PfsBlockFilter *filters, PfsNumbers *pieces);

/* The series of a piece. */
PfsNumbers pfs_rollup_piece_series(const PfsRollup *rollup, int32 piece);

/*
 * A piece of a roll-up, loaded, in CurrentMemoryContext; NULL where it is not there: rows may be
 * deleted.
 */
PfsRollup *pfs_rollup_get_piece(int64 storage_id, Snapshot snapshot, const PfsRollup *rollup,
								int32 piece);

/*
 * Keeps roll-ups where they are until the transaction ends; comes before the listing of such as are
 * to be deleted.
 */
void pfs_rollups_lock(void);

void pfs_rollup_insert(int64 storage_id, const PfsRollup *rollup);
/* With its pieces. Raises an error where another row stands at its address. */
void pfs_rollup_delete(int64 storage_id, const PfsRollup *rollup);
/* Those of a bucket of time, of all classes and with their pieces. */
void pfs_rollups_delete_bucket(int64 storage_id, int64 width, int64 bucket);
void pfs_rollup_delete_pieces(int64 storage_id, const PfsRollup *rollup);
/* Deletes those that name one of the segments; ascending numbers. */
void pfs_rollups_forget(int64 storage_id, Snapshot snapshot, PfsNumbers segments);
/*
 * Deletes all of a storage, whoever wrote them; the caller holds AccessExclusiveLock on its table.
 */
void pfs_rollups_delete_all(int64 storage_id);

#endif
