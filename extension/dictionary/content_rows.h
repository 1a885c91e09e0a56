/*
 * content_rows.h
 *		Functions and locations by content: known ones found, new ones stored, many in one call;
 *		internal to the room.
 */
#ifndef PFS_CONTENT_ROWS_H
#define PFS_CONTENT_ROWS_H

#include "profstore.h"

#include "access/genam.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"

/*
 * Begins an interning function that is not made of SQL statements: as one would, it sees what the
 * running statement has stored so far. Makes the commit wait for the disk and pins the epoch, see
 * begin_interning.
 */
void pfs_interning_begin(void);

/* Ends it: the running statement sees what was stored. */
void pfs_interning_end(void);

/*
 * An index scan that is begun anew (index_rescan) for each row that is looked for, by the active
 * snapshot.
 */
typedef struct PfsContentProbe
{
	Relation table;
	Relation index;
	IndexScanDesc scan;
	TupleTableSlot *slot;
} PfsContentProbe;

/* Opens profstore.<table> and its index <table>_content. */
void pfs_content_probe_begin(PfsContentProbe *probe, const char *table, int key_count);
void pfs_content_probe_end(PfsContentProbe *probe);

/* Rows that go into a table together, and into its indexes. */
typedef struct PfsContentWriter PfsContentWriter;

PfsContentWriter *pfs_content_writer_begin(const char *table);

/*
 * An empty row with an id of its own in the first column, which the sequence of that name gives
 * out; the caller fills in the other columns, none of them null, before the next call. What they
 * point to must stay until the end.
 */
Datum *pfs_content_writer_add(PfsContentWriter *writer, int32 *id);
void pfs_content_writer_end(PfsContentWriter *writer);

#endif
