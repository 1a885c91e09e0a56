/*
 * flame_table.h
 *		The rows of a flame graph, packed: numbers in an array, each text stored once.
 *
 * Rows take up to work_mem and then go to a temporary file; texts stay in memory. The table copies
 * all that it needs, so it stays valid if caches are emptied by other queries.
 */
#ifndef PFS_FLAME_TABLE_H
#define PFS_FLAME_TABLE_H

#include "profstore.h"

#include "tree/flame_rows.h"
#include "tree/frames/frame_source.h"

/* Columns of a row. Only a comparison has the last two. */
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

/*
 * Returns an empty table. All its memory is in CurrentMemoryContext. The caller must end it before
 * the transaction ends, because of its temporary file.
 */
PfsFlameTable *pfs_flame_table_begin(bool is_diff, bool has_sources);
void pfs_flame_table_end(PfsFlameTable *table);

/*
 * Adds a row, and copies its label and, if the table has sources, the file and line that sources
 * has for it.
 */
void pfs_flame_table_put(PfsFlameTable *table, PfsSourceTable *sources, const PfsFlameRow *row);

/*
 * Makes the next call of pfs_flame_table_next() return the first row. No row may be added
 * afterwards.
 */
void pfs_flame_table_rewind(PfsFlameTable *table);

/*
 * Returns the columns of the next row; its texts belong to the table. Returns false after the last
 * row.
 */
bool pfs_flame_table_next(PfsFlameTable *table, Datum *values, bool *nulls);

#endif
