/*
 * sample_columns.h
 *		The columns of samples, as bits and as positions.
 */
#ifndef PFS_SAMPLE_COLUMNS_H
#define PFS_SAMPLE_COLUMNS_H

/* Positions in arrays that have an element per column. */
enum
{
	PFS_COLUMN_TIME,
	PFS_COLUMN_SERIES,
	PFS_COLUMN_STACK,
	PFS_COLUMN_VALUE,
	PFS_COLUMN_COUNT
};

/* Bits that name the columns to read. */
typedef enum PfsSampleColumns
{
	PFS_SAMPLE_TIME = 1 << PFS_COLUMN_TIME,
	PFS_SAMPLE_SERIES = 1 << PFS_COLUMN_SERIES,
	PFS_SAMPLE_STACK = 1 << PFS_COLUMN_STACK,
	PFS_SAMPLE_VALUE = 1 << PFS_COLUMN_VALUE
} PfsSampleColumns;

#endif
