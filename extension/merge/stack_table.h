/*
 * stack_table.h
 *		One sum per stack, from values in any order, in a share of work_mem, and on disk beyond
 *		it.
 *
 * Averages of instant types are added as a whole part and a fraction in units of
 * 2^-PFS_FRACTION_BITS, so that sums do not depend on the order. They are rounded once, at the end,
 * halves away from 0.
 */
#ifndef PFS_STACK_TABLE_H
#define PFS_STACK_TABLE_H

#include "profstore.h"

#include "merge/stack_sums.h"

#define PFS_FRACTION_BITS 40

typedef struct PfsStackTable PfsStackTable;

/*
 * Makes an empty table that uses at most bytes, in CurrentMemoryContext. max_fractions is the
 * number of fractions that a stack may get; 0: values are whole.
 */
PfsStackTable *pfs_stack_table_begin(uint32 max_fractions, Size bytes);

/*
 * Adds a value and a fraction to one stack. -1 <= fraction < 1, in units of 2^-PFS_FRACTION_BITS.
 */
void pfs_stack_table_add(PfsStackTable *table, int64 stack_id, int128 value, int64 fraction);

/* Adds whole values. This is fast if rows of one stack are neighbours. */
void pfs_stack_table_add_rows(PfsStackTable *table, const int64 *stacks, const int64 *values,
							  uint32 row_count);

/*
 * Reduces a table that is not read at once to at most half of its memory. Call it after the last
 * addition.
 */
void pfs_stack_table_settle(PfsStackTable *table);

/*
 * Finishes the additions. Returns an upper bound of the number of stacks, or PFS_COUNT_UNKNOWN if
 * sums were sorted on disk.
 */
#define PFS_COUNT_UNKNOWN SIZE_MAX
Size pfs_stack_table_finish(PfsStackTable *table);

/*
 * Returns the next stacks by id whose sum is not 0, up to room of them; fewer only at the end. Sums
 * are exact, unless they do not fit int8 (pfs_clip()).
 */
uint32 pfs_stack_table_read(PfsStackTable *table, PfsStackSum *sums, uint32 room);

void pfs_stack_table_end(PfsStackTable *table);

#endif
