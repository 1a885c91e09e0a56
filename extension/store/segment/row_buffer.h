/*
 * row_buffer.h
 *		Rows of one table that a transaction has inserted and not yet written: arrays of values.
 *
 * Rows only ever go on and off at the end, as subtransactions do. Runs of rows remember the command
 * and the subtransaction that inserted them: an aborted subtransaction's rows are cut off, a
 * committed one's become its parent's, and a scan sees the rows of commands before its snapshot's.
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
	bool *nulls; /* allocated with the first null */
} PfsBufferColumn;

typedef struct PfsRun
{
	uint32 first_row;
	uint32 group_row; /* first row of the unbroken runs of this run's subtransaction */
	CommandId command_id;
	SubTransactionId subxact;
} PfsRun;

typedef struct PfsRowBuffer
{
	MemoryContext context; /* holds all arrays; the buffer itself belongs to its creator */
	uint32 row_count;
	uint32 row_capacity;
	uint32 column_count;
	PfsBufferColumn *columns;
	uint32 run_count;
	uint32 run_capacity;
	PfsRun *runs;
} PfsRowBuffer;

/* Columns are the table's live ones; raises FEATURE_NOT_SUPPORTED where a type cannot be stored. */
void pfs_row_buffer_init(PfsRowBuffer *buffer, Relation relation, MemoryContext parent);
void pfs_row_buffer_fini(PfsRowBuffer *buffer);
Size pfs_row_buffer_bytes(const PfsRowBuffer *buffer); /* memory held, near enough */

void pfs_row_buffer_append(PfsRowBuffer *buffer, TupleTableSlot **slots, uint32 count,
						   CommandId command_id, SubTransactionId subxact);

/* Room for that many rows in all, which the caller fills; a null in a row below row_capacity. */
void pfs_row_buffer_reserve(PfsRowBuffer *buffer, uint32 row_count);
void pfs_row_buffer_set_null(PfsRowBuffer *buffer, PfsBufferColumn *column, uint32 row);
void pfs_row_buffer_truncate(PfsRowBuffer *buffer, uint32 row_count);

/*
 * First row of a subtransaction, which is the current one or just ended; row_count where it has
 * none.
 */
uint32 pfs_row_buffer_first_row(const PfsRowBuffer *buffer, SubTransactionId subxact);
void pfs_row_buffer_reparent(PfsRowBuffer *buffer, SubTransactionId child, SubTransactionId parent);

/*
 * An image is a copy in one piece, for a scan: of this backend in its own memory, or of parallel
 * workers in shared memory. Pointers into an image are computed, never stored.
 */
typedef struct PfsRowImage
{
	Size bytes; /* of the whole image, a multiple of MAXALIGN */
	uint32 row_count;
	uint32 column_count;
	uint32 run_count;
} PfsRowImage;

Size pfs_row_image_bytes(const PfsRowBuffer *buffer);
void pfs_row_image_make(const PfsRowBuffer *buffer, PfsRowImage *image);
const PfsRun *pfs_row_image_runs(const PfsRowImage *image);
/* Position of an attribute, -1 where the rows lack it. */
int pfs_row_image_find_column(const PfsRowImage *image, AttrNumber attnum);
const int64 *pfs_row_image_values(const PfsRowImage *image, int column);
const bool *pfs_row_image_nulls(const PfsRowImage *image, int column);

#endif
