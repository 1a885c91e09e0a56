/*
 * row_buffer.h
 *		Rows of one table that a transaction has inserted and not yet written: arrays of values.
 *
 * Rows are only added and removed at the end, as subtransactions begin and abort. Each run of rows
 * records the command and the subtransaction that inserted it: the rows of an aborted
 * subtransaction are cut off, those of a committed one pass to its parent, and a scan sees the rows
 * of commands before its snapshot's.
 */
#ifndef PFS_ROW_BUFFER_H
#define PFS_ROW_BUFFER_H

#include "profstore.h"

#include "access/attnum.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"

#include "store/segment/value.h"

typedef struct PfsBufferColumn
{
	AttrNumber attnum;
	PfsValueKind kind;
	int64 *values;
	bool *nulls; /* allocated with the column's first null */
} PfsBufferColumn;

typedef struct PfsRun
{
	uint32 first_row;
	/* first row of the run's subtransaction among adjacent runs of that subtransaction */
	uint32 group_row;
	CommandId command_id;
	SubTransactionId subxact;
} PfsRun;

typedef struct PfsRowBuffer
{
	/* holds all arrays; the caller of pfs_row_buffer_init() owns the struct itself */
	MemoryContext context;
	uint32 row_count;
	uint32 row_capacity;
	uint32 column_count;
	PfsBufferColumn *columns;
	uint32 run_count;
	uint32 run_capacity;
	PfsRun *runs;
} PfsRowBuffer;

/*
 * Prepares an empty buffer with the table's live columns. Raises FEATURE_NOT_SUPPORTED if a type
 * cannot be stored.
 */
void pfs_row_buffer_init(PfsRowBuffer *buffer, Relation relation, MemoryContext parent);
void pfs_row_buffer_fini(PfsRowBuffer *buffer);
Size pfs_row_buffer_bytes(const PfsRowBuffer *buffer); /* approximate memory in use */

void pfs_row_buffer_append(PfsRowBuffer *buffer, TupleTableSlot **slots, uint32 count,
						   CommandId command_id, SubTransactionId subxact);

/*
 * Makes room for row_count rows in all, which the caller fills in. pfs_row_buffer_set_null() marks
 * a null in a row below row_capacity.
 */
void pfs_row_buffer_reserve(PfsRowBuffer *buffer, uint32 row_count);
void pfs_row_buffer_set_null(PfsRowBuffer *buffer, PfsBufferColumn *column, uint32 row);
void pfs_row_buffer_truncate(PfsRowBuffer *buffer, uint32 row_count);

/*
 * Returns the first row of a subtransaction, which must be the current one or the one that just
 * ended; row_count if the subtransaction has no row.
 */
uint32 pfs_row_buffer_first_row(const PfsRowBuffer *buffer, SubTransactionId subxact);
void pfs_row_buffer_reparent(PfsRowBuffer *buffer, SubTransactionId child, SubTransactionId parent);

/*
 * An image is a copy of a buffer in one piece, for a scan: in this backend's memory, or in shared
 * memory for parallel workers. It stores no pointers; the functions below compute them.
 */
typedef struct PfsRowImage
{
	Size bytes; /* bytes of the whole image, a multiple of MAXALIGN */
	uint32 row_count;
	uint32 column_count;
	uint32 run_count;
} PfsRowImage;

Size pfs_row_image_bytes(const PfsRowBuffer *buffer);
void pfs_row_image_make(const PfsRowBuffer *buffer, PfsRowImage *image);
const PfsRun *pfs_row_image_runs(const PfsRowImage *image);
/* Returns the position of an attribute, or -1 if the rows lack it. */
int pfs_row_image_find_column(const PfsRowImage *image, AttrNumber attnum);
const int64 *pfs_row_image_values(const PfsRowImage *image, int column);
const bool *pfs_row_image_nulls(const PfsRowImage *image, int column);

#endif
