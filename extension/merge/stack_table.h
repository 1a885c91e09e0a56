/*
 * stack_table.h
 *		One sum per stack, from values in any order, within a part of work_mem, on disk beyond it.
 *
 * Averages of instant types come as a whole part and a fraction in units of 2^-PFS_FRACTION_BITS,
 * so that sums are the same in whatever order the parts come; they are rounded once, at the end,
 * halves away from 0.
 */
#ifndef PFS_STACK_TABLE_H
#define PFS_STACK_TABLE_H

#include "profstore.h"

#include "merge/stack_sums.h"

#define PFS_FRACTION_BITS 40

typedef struct PfsStackTable PfsStackTable;

/*
 * No sums yet; bytes is what they may take. max_fractions is how many fractions a stack may get; 0:
 * values are whole. Lives in CurrentMemoryContext.
 */
PfsStackTable *pfs_stack_table_begin(uint32 max_fractions, Size bytes);

/* Adds to one stack. A fraction is less than 1 and not more than -1. */
void pfs_stack_table_add(PfsStackTable *table, int64 stack_id, int128 value, int64 fraction);

/* Adds whole values; quick where rows of one stack are neighbours. */
void pfs_stack_table_add_rows(PfsStackTable *table, const int64 *stacks, const int64 *values,
							  uint32 row_count);

/* After the additions, if the table is not read at once: it keeps at most half of the memory. */
void pfs_stack_table_settle(PfsStackTable *table);

/*
 * Ends the additions. Returns how many stacks there are at most, or PFS_COUNT_UNKNOWN where they
 * were sorted.
 */
#define PFS_COUNT_UNKNOWN SIZE_MAX
Size pfs_stack_table_finish(PfsStackTable *table);

/*
 * The next stacks by id that do not sum to 0, so many as there is room for; less at the end alone.
 * Sums are exact, but for those that do not fit int8 (pfs_clip).
 */
uint32 pfs_stack_table_read(PfsStackTable *table, PfsStackSum *sums, uint32 room);

void pfs_stack_table_end(PfsStackTable *table);

#endif
