/*
 * row_table.h
 *		Rows with different keys: those with equal keys are added up.
 *
 * The key of a row is its kind, device, name, correlation, stream, and whether it belongs to a
 * graph.
 */
#ifndef GPU_LIBRARY_ROW_TABLE_H
#define GPU_LIBRARY_ROW_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu_rows.h"

typedef struct RowTable
{
	struct pfs_gpu_row *rows;
	uint16_t *slots; /* position of a row plus one; 0: free */
	uint32_t capacity;
	uint32_t slot_count; /* a power of two, above the capacity */
	uint32_t count;
} RowTable;

void row_table_clear(RowTable *table);

/*
 * Adds a row to the row that has its key, or as a new row. Returns false if neither is possible,
 * because the table is full.
 */
bool row_table_add(RowTable *table, const struct pfs_gpu_row *row);

#endif
