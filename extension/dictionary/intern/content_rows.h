/*
 * content_rows.h
 *		Interns rows of the dictionary by content, many in one call: finds stored ones, stores new
 *		ones; internal to the room.
 *
 * Each distinct item costs one probe of an index on a hash of its content. Items that are not found
 * are stored. Condemned rows count as not found.
 */
#ifndef PFS_CONTENT_ROWS_H
#define PFS_CONTENT_ROWS_H

#include "profstore.h"

#include "access/genam.h"
#include "executor/tuptable.h"

#include "dictionary/cache/name_rows.h"

/* Key and result of an item; must be its first member. */
typedef struct PfsContentItem
{
	uint64 hash; /* hash of the whole content */
	int32 id;	 /* 0: not stored */
} PfsContentItem;

/*
 * Description of a table whose rows are interned by content. The table has an index <table>_content
 * on the hash. The callbacks handle its items.
 */
typedef struct PfsContentKind
{
	const char *table;
	/* if not NULL, used instead of table: the kind whose young rows are searched */
	const PfsNameTable *names;
	const char *sequence; /* sequence of the ids */
	Size item_bytes;
	bool (*is_same)(const PfsContentItem *a, const PfsContentItem *b);
	/* Searches packed rows, and sets the ids of items that are found. May be NULL. */
	void (*find_sealed)(void *items, uint32 count, void *context);
	/* Returns true if a stored row, of which all columns are given, may stand for the item. */
	bool (*matches)(const Datum *values, const PfsContentItem *item, void *context);
	/*
	 * Returns the id of the stored row that stands for the item, 0 if there is none; the callback
	 * restarts the scan itself. If find is NULL, the least id of the matching rows is taken.
	 */
	int32 (*find)(IndexScanDesc scan, TupleTableSlot *slot, PfsContentItem *item, void *context);
	/* Raises an error if items that were not found must not be stored. May be NULL. */
	void (*check)(const void *items, uint32 count);
	/* Fills in the columns after the id; nulls[] is all false before. Values must stay valid. */
	void (*fill)(Datum *values, bool *nulls, const PfsContentItem *item, void *context);
	void *context;
} PfsContentKind;

/*
 * Begins an interning function that is written in C. It sees the rows that the running statement
 * has stored so far. Makes the commit wait for the disk and pins the epoch, as begin_interning()
 * does.
 */
void pfs_interning_begin(void);

/* Ends an interning function: the running statement sees the rows that it has stored. */
void pfs_interning_end(void);

/*
 * Return true if two texts have equal bytes. pfs_stored_text_is() takes a stored text first, which
 * may be compressed.
 */
bool pfs_texts_are_equal(Datum left, Datum right);
bool pfs_stored_text_is(Datum stored, Datum text);

/*
 * Returns a hash of the texts, computed like the SQL functions content_hash(). Each text is
 * combined with the hash of those before it, the first one with seed.
 */
uint64 pfs_texts_hash(const Datum *texts, int count, int64 seed);

/* Writes the ids of the items, in their order. Reorders items. Locks the table ROW EXCLUSIVE. */
void pfs_content_intern(const PfsContentKind *kind, void *items, uint32 count, int32 *ids);

#endif
