/*
 * stack_reader.h
 *		Reads a table of sums, or two tables side by side, in ascending order of stack ids.
 */
#ifndef PFS_STACK_READER_H
#define PFS_STACK_READER_H

#include "profstore.h"

#include "merge/stack_table.h"

typedef struct PfsStackReader PfsStackReader;

/*
 * Values are multiplied by numerator / denominator, which is at least 1, and rounded, halves away
 * from 0.
 */
typedef struct PfsScale
{
	int64 numerator;
	int64 denominator; /* 0: there are no values */
} PfsScale;

#define PFS_NO_SCALE ((PfsScale){ 1, 1 })

/* Finishes a table, which then belongs to the reader. The reader lives in CurrentMemoryContext. */
PfsStackReader *pfs_stack_reader_begin(PfsStackTable *values, PfsScale scale);

/* Adds a table of bases beside the values. Call it before reading. */
void pfs_stack_reader_add_base(PfsStackReader *reader, PfsStackTable *bases, PfsScale scale);

/* Upper bound of the number of stacks; SIZE_MAX: unknown. */
Size pfs_stack_reader_count(const PfsStackReader *reader);

/*
 * Returns the next stacks whose sum is not 0 on at least one side, up to room of them; fewer only
 * at the end.
 */
uint32 pfs_stack_reader_next(PfsStackReader *reader, PfsStackSum *sums, uint32 room);

void pfs_stack_reader_end(PfsStackReader *reader);

#endif
