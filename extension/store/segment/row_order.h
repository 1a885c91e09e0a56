/*
 * row_order.h
 *		The order of rows in a segment, and what the directory keeps of them.
 *
 * A table that has columns named series_id, stack_id and time, all of integer-like types, has its
 * rows sorted by (series_id, stack_id, time) before they are encoded: runs get long, differences
 * small. Any other table keeps the order of insertion. Whatever the order, the directory keeps the
 * range of "time" and of "series_id", where there.
 */
#ifndef PFS_ROW_ORDER_H
#define PFS_ROW_ORDER_H

#include "profstore.h"

#include "utils/relcache.h"

#include "codec/segment.h"
#include "store/segment/directory.h"
#include "store/segment/row_buffer.h"

/*
 * Attribute numbers; InvalidAttrNumber where the table has no such column, or not of a fitting
 * type.
 */
typedef struct PfsRowKey
{
	AttrNumber time;
	AttrNumber series;
	AttrNumber stack;
} PfsRowKey;

PfsRowKey pfs_row_key(Relation relation);

/* Rows to write: columns as the codec takes them, and what the directory keeps of them. */
typedef struct PfsRows
{
	const PfsColumn *columns;
	uint32 column_count;
	uint32 row_count;
	PfsRange time;
	PfsRange key;
} PfsRows;

/*
 * Puts rows first .. first+count-1 in order. The result lives in CurrentMemoryContext, or is the
 * buffer's own.
 */
void pfs_rows_order(const PfsRowBuffer *buffer, const PfsRowKey *key, uint32 first, uint32 count,
					PfsRows *rows);

#endif
