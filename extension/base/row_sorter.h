/*
 * row_sorter.h
 *		Sorts rows of numbers, in a share of work_mem, and on disk beyond it.
 */
#ifndef PFS_ROW_SORTER_H
#define PFS_ROW_SORTER_H

#include "profstore.h"

#define PFS_SORTER_MAX_COLUMNS 8

typedef struct PfsRowSorter PfsRowSorter;

/*
 * Returns the work memory, in kilobytes, for a sorter of rows that take bytes in total; at least
 * the minimum of a sort.
 */
int pfs_row_sorter_kb(Size bytes);

/*
 * Begins a sort of rows with column_count columns by the first key_count ones, ascending, with
 * memory_kb of memory.
 */
PfsRowSorter *pfs_row_sorter_begin(int column_count, int key_count, int memory_kb);

void pfs_row_sorter_put(PfsRowSorter *sorter, const int64 *values);

/* Sorts the rows. Call it after the last one. */
void pfs_row_sorter_sort(PfsRowSorter *sorter);

/* Returns the next row in order; false at the end. */
bool pfs_row_sorter_next(PfsRowSorter *sorter, int64 *values);

void pfs_row_sorter_end(PfsRowSorter *sorter);

#endif
