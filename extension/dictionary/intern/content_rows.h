/*
 * content_rows.h
 *		Rows of the dictionary by content: known ones found, new ones stored, many in one call;
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

#include "dictionary/cache/name_rows.h"

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
	const PfsNameTable *names; /* in place of table: that of its young rows */
	const char *sequence;	   /* of its ids */
	Size item_bytes;
	bool (*is_same)(const PfsContentItem *a, const PfsContentItem *b);
	/* Looks among rows that are packed, and sets the ids of items that are found; may be NULL. */
	void (*find_sealed)(void *items, uint32 count, void *context);
	/* Id of the stored row that stands for the item; the scan is to be begun anew. 0: none. */
	int32 (*find)(IndexScanDesc scan, TupleTableSlot *slot, PfsContentItem *item, void *context);
	/* Raises an error where items must not be stored that were not found; may be NULL. */
	void (*check)(const void *items, uint32 count);
	/* The columns behind the id, not null so far; what they point to stays. */
	void (*fill)(Datum *values, bool *nulls, const PfsContentItem *item, void *context);
	void *context;
} PfsContentKind;

/*
 * Begins an interning function that is not made of SQL statements: as one would, it sees what the
 * running statement has stored so far. Makes the commit wait for the disk and pins the epoch, see
 * begin_interning.
 */
void pfs_interning_begin(void);

/* Ends it: the running statement sees what was stored. */
void pfs_interning_end(void);

/* Whether two texts hold the same bytes; the second function's first text is a stored one. */
bool pfs_texts_are_equal(Datum left, Datum right);
bool pfs_stored_text_is(Datum stored, Datum text);

/* The texts' hash, the last one first, as the functions content_hash() have it. */
uint64 pfs_texts_hash(const Datum *texts, int count, int64 seed);

/* The ids of items, in their order; the items are moved. Locks the table ROW EXCLUSIVE. */
void pfs_content_intern(const PfsContentKind *kind, void *items, uint32 count, int32 *ids);

#endif
