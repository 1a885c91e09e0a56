/*
 * row_order.h
 *		The order of rows in a segment, and the ranges that the directory stores of them.
 *
 * If a table has columns named series_id, stack_id and time, all of integer-like types, its rows
 * are sorted by (series_id, stack_id, time) before they are encoded, which makes runs long and
 * differences small. Any other table keeps the order of insertion. In both cases the directory
 * stores the range of "time" and of "series_id", if those columns exist.
 */
#ifndef PFS_ROW_ORDER_H
#define PFS_ROW_ORDER_H

#include "profstore.h"

#include "utils/relcache.h"

#include "codec/segment.h"
#include "store/segment/directory.h"
#include "store/segment/row_buffer.h"

/*
 * Attribute numbers of the key; InvalidAttrNumber if the table has no such column, or its type does
 * not fit.
 */
typedef struct PfsRowKey
{
	AttrNumber time;
	AttrNumber series;
	AttrNumber stack;
} PfsRowKey;

PfsRowKey pfs_row_key(Relation relation);

/* Rows to write: columns in the codec's form, and their ranges for the directory. */
typedef struct PfsRows
{
	const PfsColumn *columns;
	uint32 column_count;
	uint32 row_count;
	PfsRange time;
	PfsRange key;
} PfsRows;

/*
 * Puts rows first .. first + count - 1 in order. The result is allocated in CurrentMemoryContext,
 * or points into the buffer if the rows are in order already.
 */
void pfs_rows_order(const PfsRowBuffer *buffer, const PfsRowKey *key, uint32 first, uint32 count,
					PfsRows *rows);

#endif
