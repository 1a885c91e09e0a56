/*
 * flame_table.h
 *		The rows of a flame graph, packed: numbers side by side, each text once.
 *
 * Rows take up to work_mem, then go to a temporary file; texts are those of the names that are met.
 * Nothing in it belongs to a cache, so it outlives other queries.
 */
#ifndef PFS_FLAME_TABLE_H
#define PFS_FLAME_TABLE_H

#include "profstore.h"

#include "tree/flame_rows.h"
#include "tree/frame_source.h"

/* The columns of a row; a comparison has the last two. */
enum
{
	PFS_FLAME_ORD,
	PFS_FLAME_LEVEL,
	PFS_FLAME_VALUE,
	PFS_FLAME_SELF,
	PFS_FLAME_LABEL,
	PFS_FLAME_TRUNCATED,
	PFS_FLAME_FILE,
	PFS_FLAME_LINE,
	PFS_FLAME_MAPPING,
	PFS_FLAME_COUNT,
	PFS_FLAME_VALUE_RIGHT = PFS_FLAME_COUNT,
	PFS_FLAME_SELF_RIGHT,
	PFS_FLAME_DIFF_COUNT
};

typedef struct PfsFlameTable PfsFlameTable;

/* In CurrentMemoryContext, as all that it has; to be ended before the transaction. */
PfsFlameTable *pfs_flame_table_begin(bool is_diff, bool has_sources);
void pfs_flame_table_end(PfsFlameTable *table);

/* Adds a row. Its label and the sources, which are looked up where they are wanted, are copied. */
void pfs_flame_table_put(PfsFlameTable *table, PfsSourceTable *sources, const PfsFlameRow *row);

/* Goes to the first row, after the last was added. */
void pfs_flame_table_rewind(PfsFlameTable *table);

/* The columns of the next row, whose texts are the table's; false at the end. */
bool pfs_flame_table_next(PfsFlameTable *table, Datum *values, bool *nulls);

#endif
