/*
 * content_rows.h
 *		Functions and locations by content: known ones found, new ones stored, many in one call;
 *		internal to the room.
 *
 * Each distinct item is one probe of an index on a hash of its content. What is not found is
 * stored. Condemned rows are as good as gone.
 */
#ifndef PFS_CONTENT_ROWS_H
#define PFS_CONTENT_ROWS_H

#include "profstore.h"

#include "access/genam.h"
#include "executor/tuptable.h"

/* What is looked for; the first member of an item. */
typedef struct PfsContentItem
{
	uint64 hash; /* of all that an item says */
	int32 id;	 /* 0: not stored */
} PfsContentItem;

/* A table of such rows, its index <table>_content on the hash, and what items of it are. */
typedef struct PfsContentKind
{
	const char *table;
	Size item_bytes;
	bool (*is_same)(const PfsContentItem *a, const PfsContentItem *b);
	/* Id of the stored row that stands for the item; the scan is to be begun anew. 0: none. */
	int32 (*find)(IndexScanDesc scan, TupleTableSlot *slot, PfsContentItem *item, void *context);
	/* Raises an error where items must not be stored that were not found; may be NULL. */
	void (*check)(const void *items, uint32 count);
	/* The columns behind the id, none of them null; what they point to stays. */
	void (*fill)(Datum *values, const PfsContentItem *item);
	void *context; /* for find */
} PfsContentKind;

/*
 * Begins an interning function that is not made of SQL statements: as one would, it sees what the
 * running statement has stored so far. Makes the commit wait for the disk and pins the epoch, see
 * begin_interning.
 */
void pfs_interning_begin(void);

/* Ends it: the running statement sees what was stored. */
void pfs_interning_end(void);

/* The ids of items, in their order; the items are moved. Locks the table ROW EXCLUSIVE. */
void pfs_content_intern(const PfsContentKind *kind, void *items, uint32 count, int32 *ids);

#endif
