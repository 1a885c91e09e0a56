/*
 * row_sorter.h
 *		Rows of numbers, sorted within a part of work_mem, on disk beyond it.
 */
#ifndef PFS_ROW_SORTER_H
#define PFS_ROW_SORTER_H

#include "profstore.h"

#define PFS_SORTER_MAX_COLUMNS 8

typedef struct PfsRowSorter PfsRowSorter;

/* So many bytes as a sorter's memory, which is never less than what a sort needs. */
int pfs_row_sorter_kb(Size bytes);

/*
 * Rows of so many columns, sorted by the first key_count of them, ascending; memory_kb is what it
 * may take.
 */
PfsRowSorter *pfs_row_sorter_begin(int column_count, int key_count, int memory_kb);

void pfs_row_sorter_put(PfsRowSorter *sorter, const int64 *values);

/* After the last row. */
void pfs_row_sorter_sort(PfsRowSorter *sorter);

/* The next row in order; false at the end. */
bool pfs_row_sorter_next(PfsRowSorter *sorter, int64 *values);

void pfs_row_sorter_end(PfsRowSorter *sorter);

#endif
